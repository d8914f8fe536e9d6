// SPDX-License-Identifier: MIT
// A Markov chain of second order over byte classes, times a second one over letter case.
#include "daemon/detect/regex/profile.h"

#include <algorithm>
#include <cmath>

#include "daemon/detect/regex/profile.inc"

namespace keysieve::detect::regex {
namespace {

constexpr double kLevelsPerBit = 2;
constexpr int kTopLevel = 62;
constexpr char kFirstLevel = '@';  // '@' to '~', the backslash among them; no '?' or quote

constexpr int kDigit = 26;
constexpr int kQuote = 33;
constexpr int kSpace = 34;
constexpr int kOtherWhite = 35;
constexpr int kOtherPunctuation = 36;
constexpr int kOtherByte = 37;

int Index3(int classes, int a, int b, int c) { return (a * classes + b) * classes + c; }

}  // namespace

int ByteClass(uint8_t byte) {
  static constexpr std::string_view kOwnClass = "_-./:=";
  const uint8_t lower = byte | 0x20;
  if (lower >= 'a' && lower <= 'z') return lower - 'a';
  if (byte >= '0' && byte <= '9') return kDigit;
  const size_t own = kOwnClass.find(static_cast<char>(byte));
  if (own != std::string_view::npos) return kDigit + 1 + static_cast<int>(own);
  if (byte == '"' || byte == '\'' || byte == '`') return kQuote;
  if (byte == ' ') return kSpace;
  if (byte == '\t' || byte == '\n' || byte == '\r') return kOtherWhite;
  return byte > ' ' && byte < 0x7F ? kOtherPunctuation : kOtherByte;
}

int CaseClass(uint8_t byte) {
  if (byte >= 'A' && byte <= 'Z') return 0;
  return byte >= 'a' && byte <= 'z' ? 1 : 2;
}

char EncodeRate(double rate) {
  const double level = kTopLevel + kLevelsPerBit * std::log2(std::max(rate, 1e-30));
  return static_cast<char>(kFirstLevel + std::lround(std::clamp<double>(level, 0, kTopLevel)));
}

double DecodeRate(char level) {
  return std::exp2((level - kFirstLevel - kTopLevel) / kLevelsPerBit);
}

Profile Profile::Default() { return Profile(kTrigramLevels, kCaseLevels, kByteLevels); }

Profile::Profile(std::string_view trigrams, std::string_view cases, std::string_view bytes)
    : bigram_(kByteClasses * kByteClasses) {
  std::array<float, kTopLevel + 1> rate_of;
  for (int i = 0; i <= kTopLevel; ++i) {
    rate_of[i] = static_cast<float>(DecodeRate(static_cast<char>(kFirstLevel + i)));
  }
  trigram_.reserve(trigrams.size());
  for (const char level : trigrams) trigram_.push_back(rate_of[level - kFirstLevel]);
  for (size_t i = 0; i < trigram_.size(); ++i) {
    bigram_[i / kByteClasses] += trigram_[i];
    unigram_[i / (kByteClasses * kByteClasses)] += trigram_[i];
  }
  for (size_t i = 0; i < case_.size(); ++i) case_[i] = static_cast<float>(DecodeRate(cases[i]));
  std::array<double, kByteClasses> total{};
  for (int c = 0; c < 256; ++c) total[ByteClass(c)] += DecodeRate(bytes[c]);
  for (int c = 0; c < 256; ++c) {
    share_[c] =
        static_cast<float>(CaseClass(c) == 2 ? DecodeRate(bytes[c]) / total[ByteClass(c)] : 1.0);
  }
}

double Profile::HitsPerMb(const megakernel::Literal& literal) const {
  double rate = ClassRate(literal.bytes) * (literal.ignore_case ? 1 : CaseShare(literal.bytes));
  for (const uint8_t byte : literal.bytes) rate *= share_[byte];
  return std::max(rate * 1e6, 1e-9);
}

double Profile::ClassRate(std::string_view bytes) const {
  auto at = [&](size_t i) { return ByteClass(static_cast<uint8_t>(bytes[i])); };
  if (bytes.size() == 1) return unigram_[at(0)];
  double rate = bigram_[at(0) * kByteClasses + at(1)];
  for (size_t i = 2; i < bytes.size(); ++i) {
    rate *= trigram_[Index3(kByteClasses, at(i - 2), at(i - 1), at(i))] /
            bigram_[at(i - 2) * kByteClasses + at(i - 1)];
  }
  return rate;
}

// The share of these bytes among all their spellings in other case.
double Profile::CaseShare(std::string_view bytes) const {
  double share = 1;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const int own = CaseClass(static_cast<uint8_t>(bytes[i]));
    if (own == 2) continue;
    double same = 0, letters = 0;
    for (int a = 0; a < kCaseClasses; ++a) {
      if (i >= 2 && a != CaseClass(static_cast<uint8_t>(bytes[i - 2]))) continue;
      for (int b = 0; b < kCaseClasses; ++b) {
        if (i >= 1 && b != CaseClass(static_cast<uint8_t>(bytes[i - 1]))) continue;
        same += case_[Index3(kCaseClasses, a, b, own)];
        letters += case_[Index3(kCaseClasses, a, b, 0)] + case_[Index3(kCaseClasses, a, b, 1)];
      }
    }
    share *= same / letters;
  }
  return share;
}

}  // namespace keysieve::detect::regex
