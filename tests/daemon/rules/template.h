// SPDX-License-Identifier: MIT
// Templates of test texts: tokens are described, not written, so that no scanner takes the examples
// for leaks. Expanding is deterministic: the same seed gives the same text on every machine.
//
//   Expanded e = Expand("token = \"{<}gh{|}p_{alnum:36}{>}\"", Seed("github-pat", 0)).value();
//   e.text.substr(e.secret_start, e.secret_end - e.secret_start);  // ghp_ and 36 characters
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace keysieve::rules_testing {

struct Expanded {
  std::string text;
  bool has_secret = false;  // the template marked one with {<} and {>}
  size_t secret_start = 0;  // bytes into `text`, half open
  size_t secret_end = 0;

  std::string secret() const { return text.substr(secret_start, secret_end - secret_start); }
};

// A seed for the `index`-th template of `name`.
uint64_t Seed(std::string_view name, size_t index);

// Expands {class:count}, {fill:c:count}, {uuid}, {|}, {<} and {>}; every other byte stands for
// itself. Runs of a class use each of its characters before any repeats, so their entropy is the
// highest their length allows. Nothing if a brace names a class that does not exist or a marker is
// out of order; `error` then says which.
std::optional<Expanded> Expand(std::string_view pattern, uint64_t seed, std::string* error);

}  // namespace keysieve::rules_testing
