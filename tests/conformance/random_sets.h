// SPDX-License-Identifier: MIT
// Literal lists and texts drawn from a generator: the same seed gives the same ones everywhere.
#pragma once

#include <cctype>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "megakernel/literal.h"

namespace keysieve::test {

inline std::string RandomBytes(std::mt19937& random, size_t length, const std::string& alphabet) {
  std::string bytes;
  for (size_t i = 0; i < length; ++i) {
    bytes += alphabet.empty() ? static_cast<char>(random()) : alphabet[random() % alphabet.size()];
  }
  return bytes;
}

inline std::vector<megakernel::Literal> RandomLiterals(std::mt19937& random, size_t count,
                                                       const std::string& alphabet,
                                                       size_t longest) {
  std::vector<megakernel::Literal> literals(count);
  for (megakernel::Literal& literal : literals) {
    literal.bytes = RandomBytes(random, 1 + random() % longest, alphabet);
    literal.ignore_case = random() % 2;
    if (random() % 8 == 0) literal = literals[random() % count];  // a duplicate, or empty yet
    if (literal.bytes.empty()) literal.bytes = "k";
  }
  return literals;
}

inline std::string TextWith(std::mt19937& random, size_t length,
                            const std::vector<megakernel::Literal>& literals,
                            const std::string& alphabet) {
  std::string text;
  while (text.size() < length) {
    if (random() % 5 == 0) {
      std::string planted = literals[random() % literals.size()].bytes;
      if (random() % 3 == 0) {
        for (char& c : planted) c = static_cast<char>(std::toupper(static_cast<uint8_t>(c)));
      }
      text += planted;
    } else {
      text += RandomBytes(random, 1 + random() % 20, alphabet);
    }
  }
  text.resize(length);
  return text;
}

}  // namespace keysieve::test
