// SPDX-License-Identifier: MIT
// Text that looks like source code, made from a seed: words of a small vocabulary, identifiers,
// numbers, strings and indentation. The same seed gives the same bytes everywhere.
#pragma once

#include <cstdint>
#include <random>
#include <string>

namespace keysieve::test {

inline std::string SourceText(size_t bytes, uint32_t seed) {
  static constexpr const char* kWords[] = {
      "return", "const",  "static", "import", "public", "config",  "token",   "value", "index",
      "buffer", "length", "secret", "client", "server", "request", "api_key", "error", "string",
      "if",     "for",    "else",   "def",    "class",  "self",    "int",     "null",  "new"};
  static constexpr const char* kMarks[] = {" = ", "(", ")", ", ", ";\n", ".", " { ", " }\n",
                                           " + ", "[", "]", ": ", "->",  "_", "\"",  "\n    "};
  std::mt19937 random(seed);
  std::string text;
  text.reserve(bytes + 32);
  while (text.size() < bytes) {
    const uint32_t kind = random() % 16;
    if (kind < 9) {
      text += kWords[random() % std::size(kWords)];
    } else if (kind < 12) {
      for (uint32_t i = 3 + random() % 9; i > 0; --i)
        text += static_cast<char>('a' + random() % 26);
    } else if (kind < 14) {
      text += std::to_string(random() % 100000);
    } else {
      text += "// ";
    }
    text += kMarks[random() % std::size(kMarks)];
  }
  text.resize(bytes);
  return text;
}

}  // namespace keysieve::test
