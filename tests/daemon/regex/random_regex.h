// SPDX-License-Identifier: MIT
// Seeded random patterns and texts. The texts use the patterns' small alphabet and sometimes a
// stretch made to match, so that matches, near misses and neighbouring matches are all common.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "daemon/detect/regex/ast.h"

namespace keysieve::detect::regex {

struct RandomOptions {
  int max_depth = 4;
  bool syntax_zoo = true;  // flags, escapes, POSIX classes, \Q..\E, bytes above 0x7F
};

class RandomRegex {
 public:
  explicit RandomRegex(uint64_t seed, RandomOptions options = {})
      : engine_(seed), options_(options) {}

  // A pattern of RE2's syntax; now and then one that RE2 refuses (a nested count too large).
  std::string Pattern() { return Alternation(options_.max_depth); }

  // Up to `max_bytes` of the alphabet, with samples of `ast`'s language strewn in.
  std::string Text(const Ast& ast, size_t max_bytes);

  // A number in [0, n).
  uint64_t Below(uint64_t n) { return engine_() % n; }

 private:
  std::string Alternation(int depth);
  std::string Sequence(int depth);
  std::string Atom(int depth);
  std::string Zoo(int depth);
  std::string Class();
  std::string Operator();
  std::string Word();
  char Byte();
  void Sample(const Ast& ast, uint32_t node, std::string* out);

  std::mt19937_64 engine_;
  RandomOptions options_;
};

}  // namespace keysieve::detect::regex
