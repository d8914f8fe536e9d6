// SPDX-License-Identifier: MIT
// Tokens are short and few, so each sum is computed bit by bit.
#include "daemon/detect/checksum.h"

#include <array>
#include <string>

#include "daemon/detect/ascii.h"

namespace keysieve::detect {
namespace {

constexpr size_t kBase62Digits = 6;

uint32_t Crc32(std::string_view text) {
  uint32_t crc = 0xFFFFFFFF;
  for (unsigned char byte : text) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (0xEDB88320 & (0 - (crc & 1)));
  }
  return ~crc;
}

// Six digits, most significant first.
std::string Base62(uint32_t value) {
  constexpr std::string_view kDigits =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  std::string text(kBase62Digits, '0');
  for (size_t i = kBase62Digits; i-- > 0; value /= 62) text[i] = kDigits[value % 62];
  return text;
}

ChecksumResult Verdict(bool valid) {
  return valid ? ChecksumResult::kValid : ChecksumResult::kInvalid;
}

ChecksumResult CheckCrc32Base62(std::string_view token) {
  const size_t prefix = token.find('_');
  if (prefix == std::string_view::npos || token.size() - prefix - 1 <= kBase62Digits) {
    return ChecksumResult::kUnchecked;
  }
  token.remove_prefix(prefix + 1);
  const std::string_view text = token.substr(0, token.size() - kBase62Digits);
  return Verdict(Base62(Crc32(text)) == token.substr(text.size()));
}

uint32_t Bech32Step(uint32_t sum, uint32_t value) {
  constexpr std::array<uint32_t, 5> kGenerator = {0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd,
                                                  0x2a1462b3};
  const uint32_t top = sum >> 25;
  sum = (sum & 0x1ffffff) << 5 ^ value;
  for (int i = 0; i < 5; ++i) sum ^= (top >> i & 1) != 0 ? kGenerator[i] : 0;
  return sum;
}

ChecksumResult CheckBech32(std::string_view token) {
  constexpr std::string_view kCharacters = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
  const std::string lower = LowerAscii(token);
  const size_t separator = lower.rfind('1');
  if (separator == std::string::npos || separator == 0 || lower.size() - separator - 1 < 6) {
    return ChecksumResult::kUnchecked;
  }
  uint32_t sum = 1;
  for (size_t i = 0; i < separator; ++i) sum = Bech32Step(sum, static_cast<uint8_t>(lower[i]) >> 5);
  sum = Bech32Step(sum, 0);
  for (size_t i = 0; i < separator; ++i) sum = Bech32Step(sum, lower[i] & 31);
  for (char c : std::string_view(lower).substr(separator + 1)) {
    const size_t value = kCharacters.find(c);
    if (value == std::string_view::npos) return ChecksumResult::kInvalid;
    sum = Bech32Step(sum, static_cast<uint32_t>(value));
  }
  return Verdict(sum == 1);
}

}  // namespace

std::optional<Checksum> ChecksumOfName(std::string_view name) {
  if (name == "crc32-base62") return Checksum::kCrc32Base62;
  if (name == "bech32") return Checksum::kBech32;
  return std::nullopt;
}

ChecksumResult CheckToken(Checksum checksum, std::string_view token) {
  switch (checksum) {
    case Checksum::kNone:
      return ChecksumResult::kUnchecked;
    case Checksum::kCrc32Base62:
      return CheckCrc32Base62(token);
    case Checksum::kBech32:
      return CheckBech32(token);
  }
  return ChecksumResult::kUnchecked;
}

const char* TagOf(ChecksumResult result) {
  switch (result) {
    case ChecksumResult::kUnchecked:
      return "";
    case ChecksumResult::kValid:
      return "checksum:valid";
    case ChecksumResult::kInvalid:
      return "checksum:invalid";
  }
  return "";
}

}  // namespace keysieve::detect
