// SPDX-License-Identifier: MIT
// The expander behind template.h: a scan for known braces and a small generator of its own, since
// the standard library's distributions differ between implementations.
#include "tests/daemon/rules/template.h"

#include <charconv>
#include <utility>

namespace keysieve::rules_testing {
namespace {

constexpr std::string_view kLower = "abcdefghijklmnopqrstuvwxyz";
constexpr std::string_view kUpper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view kDigits = "0123456789";

// SplitMix64: one multiply-and-shift step a number.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    state_ += 0x9E3779B97F4A7C15u;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

 private:
  uint64_t state_;
};

std::string Join(std::initializer_list<std::string_view> parts) {
  std::string out;
  for (std::string_view part : parts) out += part;
  return out;
}

// The characters of a class; empty for an unknown name.
std::string Alphabet(std::string_view name) {
  if (name == "alnum") return Join({kUpper, kLower, kDigits});
  if (name == "alpha") return Join({kUpper, kLower});
  if (name == "lower") return std::string(kLower);
  if (name == "lownum") return Join({kLower, kDigits});
  if (name == "upnum") return Join({kUpper, kDigits});
  if (name == "digits") return std::string(kDigits);
  if (name == "hex") return Join({kDigits, "abcdef"});
  if (name == "b64") return Join({kUpper, kLower, kDigits, "+/"});
  if (name == "b64url") return Join({kUpper, kLower, kDigits, "-_"});
  if (name == "b32") return Join({kUpper, "234567"});
  if (name == "bech") return "023456789ACDEFGHJKLMNPQRSTUVWXYZ";
  return {};
}

void Shuffle(std::string* chars, Random* random) {
  for (size_t i = chars->size(); i > 1; --i)
    std::swap((*chars)[i - 1], (*chars)[random->Next() % i]);
}

std::string Draw(std::string alphabet, size_t count, Random* random) {
  std::string out;
  while (out.size() < count) {
    Shuffle(&alphabet, random);
    out += alphabet.substr(0, count - out.size());
  }
  return out;
}

std::string Uuid(Random* random) {
  std::string out;
  for (size_t length : {8, 4, 4, 4, 12}) {
    if (!out.empty()) out += '-';
    out += Draw(Alphabet("hex"), length, random);
  }
  return out;
}

std::optional<size_t> Count(std::string_view text) {
  size_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

enum class Brace { kLiteral, kDone, kBad };

// `body` is what stands between two braces. Literal when it has no template's shape (JSON has
// braces too).
Brace ExpandBrace(std::string_view body, Random* random, Expanded* out) {
  if (body == "|") return Brace::kDone;
  if (body == "<") {
    if (out->has_secret || out->secret_start != 0) return Brace::kBad;
    out->secret_start = out->text.size();
    out->secret_end = std::string::npos;
    return Brace::kDone;
  }
  if (body == ">") {
    if (out->secret_end != std::string::npos) return Brace::kBad;
    out->secret_end = out->text.size();
    out->has_secret = true;
    return Brace::kDone;
  }
  if (body == "uuid") {
    out->text += Uuid(random);
    return Brace::kDone;
  }
  const size_t colon = body.rfind(':');
  if (colon == std::string_view::npos) return Brace::kLiteral;
  const std::optional<size_t> count = Count(body.substr(colon + 1));
  if (!count) return Brace::kLiteral;
  const std::string_view name = body.substr(0, colon);
  if (name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789:") != std::string_view::npos &&
      name.substr(0, 5) != "fill:") {
    return Brace::kLiteral;
  }
  if (name.size() == 6 && name.substr(0, 5) == "fill:") {
    out->text.append(*count, name[5]);
    return Brace::kDone;
  }
  const std::string alphabet = Alphabet(name);
  if (alphabet.empty()) return Brace::kBad;
  out->text += Draw(alphabet, *count, random);
  return Brace::kDone;
}

}  // namespace

uint64_t Seed(std::string_view name, size_t index) {
  uint64_t hash = 0xCBF29CE484222325u;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return hash + index * 0x9E3779B97F4A7C15u;
}

std::optional<Expanded> Expand(std::string_view pattern, uint64_t seed, std::string* error) {
  Random random(seed);
  Expanded out;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const size_t close = pattern[i] == '{' ? pattern.find('}', i) : std::string_view::npos;
    if (close == std::string_view::npos) {
      out.text += pattern[i];
      continue;
    }
    const std::string_view body = pattern.substr(i + 1, close - i - 1);
    const Brace kind = ExpandBrace(body, &random, &out);
    if (kind == Brace::kBad) {
      *error = "template brace {" + std::string(body) + "} names no class or is out of order";
      return std::nullopt;
    }
    if (kind == Brace::kLiteral) {
      out.text += pattern[i];
    } else {
      i = close;
    }
  }
  if (out.secret_end == std::string::npos) {
    *error = "template opens a secret with {<} and never closes it";
    return std::nullopt;
  }
  return out;
}

}  // namespace keysieve::rules_testing
