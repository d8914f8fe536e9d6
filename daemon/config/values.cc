// SPDX-License-Identifier: MIT
// Sizes, addresses and near misses; see values.h.
#include "daemon/config/values.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <vector>

#include "evidence/base/status.h"

namespace keysieve::config {
namespace {

constexpr size_t kMaxSocketPath = 107;  // sockaddr_un, less the terminating zero

absl::Status BadSize(std::string_view text) {
  return absl::InvalidArgumentError(
      Cat("\"", text, "\" is no size; write bytes or a number with KiB, MiB or GiB"));
}

absl::Status BadAddress(std::string_view text, std::string_view why) {
  return absl::InvalidArgumentError(
      Cat("\"", text, "\" is no address: ", why, "; write unix:/path or host:port"));
}

absl::StatusOr<Address> ParseUnix(std::string_view text, std::string_view path) {
  if (path.empty() || path[0] != '/') return BadAddress(text, "a socket path must be absolute");
  if (path.size() > kMaxSocketPath) {
    return BadAddress(
        text, Cat("the path has ", path.size(), " bytes, ", kMaxSocketPath, " is the limit"));
  }
  return Address{.path = std::string(path)};
}

size_t Distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row[b.size()];
}

}  // namespace

absl::StatusOr<uint64_t> ParseSize(std::string_view text) {
  uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc()) return BadSize(text);
  std::string_view unit(rest, static_cast<size_t>(end - rest));
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  int shift = 0;
  if (unit.empty() || unit == "B") {
    shift = 0;
  } else if (unit == "KiB") {
    shift = 10;
  } else if (unit == "MiB") {
    shift = 20;
  } else if (unit == "GiB") {
    shift = 30;
  } else {
    return BadSize(text);
  }
  if (number > (std::numeric_limits<uint64_t>::max() >> shift)) return BadSize(text);
  return number << shift;
}

std::string FormatSize(uint64_t bytes) {
  constexpr struct {
    int shift;
    const char* name;
  } kUnits[] = {{30, " GiB"}, {20, " MiB"}, {10, " KiB"}};
  for (const auto& unit : kUnits) {
    if (bytes >= (uint64_t{1} << unit.shift) && bytes % (uint64_t{1} << unit.shift) == 0) {
      return Cat(bytes >> unit.shift, unit.name);
    }
  }
  return Cat(bytes, " bytes");
}

std::string Address::ToString() const {
  if (is_unix()) return "unix:" + path;
  const bool v6 = host.find(':') != std::string::npos;
  return v6 ? Cat("[", host, "]:", port) : Cat(host, ":", port);
}

absl::StatusOr<Address> ParseAddress(std::string_view text) {
  constexpr std::string_view kUnix = "unix:";
  if (text.substr(0, kUnix.size()) == kUnix) return ParseUnix(text, text.substr(kUnix.size()));
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return BadAddress(text, "it has no port");
  std::string_view host = text.substr(0, colon);
  const std::string_view port_text = text.substr(colon + 1);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return BadAddress(text, "an IPv6 host stands in brackets");
  }
  if (host.empty()) return BadAddress(text, "it has no host");
  uint32_t port = 0;
  const char* end = port_text.data() + port_text.size();
  const auto [rest, error] = std::from_chars(port_text.data(), end, port);
  if (error != std::errc() || rest != end || port > 65535) {
    return BadAddress(text, "the port is not a number from 0 to 65535");
  }
  return Address{.host = std::string(host), .port = static_cast<uint16_t>(port)};
}

std::optional<std::string> Nearest(std::string_view word, std::span<const std::string> candidates) {
  const std::string* best = nullptr;
  size_t best_distance = std::max<size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const size_t distance = Distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = &candidate;
    }
  }
  if (best == nullptr) return std::nullopt;
  return *best;
}

}  // namespace keysieve::config
