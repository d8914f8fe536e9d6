// SPDX-License-Identifier: MIT
// How often a literal turns up in ordinary source text, estimated from a frozen profile: trigrams
// over 38 byte classes (letters without case, digits as one), how upper and lower case follow each
// other, and each byte's share of its class. Frozen, so that the same rules always give the same
// literals. An estimate only ranks literals: no result depends on it.
//
//   const Profile profile = Profile::Default();
//   profile.HitsPerMb({.bytes = "AKIA"});  // about 1
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "megakernel/literal.h"

namespace keysieve::detect::regex {

inline constexpr int kByteClasses = 38;
inline constexpr int kCaseClasses = 3;  // upper case, lower case, no letter

// a-z and A-Z are 0-25.
int ByteClass(uint8_t byte);
int CaseClass(uint8_t byte);

// Rates are kept as powers of two in half steps, one printable character each.
char EncodeRate(double rate);  // of 2^-31 to 1; outside it the nearest
double DecodeRate(char level);

class Profile {
 public:
  // The profile in profile.inc. Decoding takes well under a millisecond; make one per compilation.
  static Profile Default();
  // The same from other data, of kByteClasses^3, kCaseClasses^3 and 256 levels.
  Profile(std::string_view trigrams, std::string_view cases, std::string_view bytes);

  // Expected occurrences in a million bytes, never 0. The literal is not empty.
  double HitsPerMb(const megakernel::Literal& literal) const;

 private:
  double ClassRate(const std::string_view bytes) const;
  double CaseShare(const std::string_view bytes) const;

  std::vector<float> trigram_;  // [first][second][third]
  std::vector<float> bigram_;
  std::array<float, kByteClasses> unigram_{};
  std::array<float, kCaseClasses * kCaseClasses * kCaseClasses> case_{};
  std::array<float, 256> share_{};  // of a byte in its class; 1 for letters
};

}  // namespace keysieve::detect::regex
