// SPDX-License-Identifier: MIT
// Before RE2 sees a pattern, one pass over it bounds its nesting, finds out whether it speaks of
// characters outside ASCII, and spells Go's (?<name>...) as RE2 wants it.
#include "daemon/detect/regex.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "evidence/base/status.h"

namespace keysieve::detect {
namespace {

constexpr size_t kMaxErrorBytes = 200;  // of RE2's message, which may repeat the pattern

// Walks a pattern once. Anything malformed is left for RE2 to complain about.
class PatternScan {
 public:
  explicit PatternScan(const std::string& pattern) : in_(pattern) { Run(); }

  const std::string& translated() const { return out_; }
  bool beyond_ascii() const { return beyond_ascii_; }
  int nesting() const { return deepest_; }

 private:
  bool At(std::string_view text) const { return in_.compare(i_, text.size(), text) == 0; }
  void Copy(size_t bytes) {
    out_.append(in_, i_, bytes);
    i_ += bytes;
  }

  void Run() {
    for (unsigned char c : in_) beyond_ascii_ |= c >= 0x80;
    while (i_ < in_.size()) {
      if (in_[i_] == '\\') {
        Escape();
      } else if (in_[i_] == '[') {
        Class();
      } else if (At("(?<") && !At("(?<=") && !At("(?<!")) {
        deepest_ = std::max(deepest_, ++depth_);
        i_ += 3;
        out_ += "(?P<";
      } else {
        if (in_[i_] == '(') deepest_ = std::max(deepest_, ++depth_);
        if (in_[i_] == ')') --depth_;
        Copy(1);
      }
    }
  }

  // Copies one escape, the backslash included.
  void Escape() {
    if (At("\\Q")) {
      const size_t end = in_.find("\\E", i_);
      Copy(end == std::string::npos ? in_.size() - i_ : end + 2 - i_);
      return;
    }
    const char kind = i_ + 1 < in_.size() ? in_[i_ + 1] : '\0';
    if (kind == 'p' || kind == 'P') beyond_ascii_ = true;
    if (kind == 'x') beyond_ascii_ |= HexValue(i_ + 2) >= 0x80;
    if (kind >= '0' && kind <= '3') beyond_ascii_ |= OctalValue(i_ + 1) >= 0x80;
    Copy(std::min<size_t>(2, in_.size() - i_));
  }

  unsigned long HexValue(size_t at) const {
    const bool braced = at < in_.size() && in_[at] == '{';
    const std::string digits = braced ? in_.substr(at + 1, in_.find('}', at) - at - 1)
                                      : in_.substr(std::min(at, in_.size()), 2);
    return std::strtoul(digits.c_str(), nullptr, 16);
  }
  unsigned long OctalValue(size_t at) const {
    return std::strtoul(in_.substr(at, 3).c_str(), nullptr, 8);
  }

  // Copies a bracket expression. A ']' right after the opening stands for itself.
  void Class() {
    Copy(1);
    if (i_ < in_.size() && in_[i_] == '^') Copy(1);
    if (i_ < in_.size() && in_[i_] == ']') Copy(1);
    while (i_ < in_.size() && in_[i_] != ']') {
      if (in_[i_] == '\\') {
        Escape();
      } else if (At("[:")) {
        const size_t end = in_.find(":]", i_ + 2);
        Copy(end == std::string::npos ? 1 : end + 2 - i_);
      } else {
        Copy(1);
      }
    }
    if (i_ < in_.size()) Copy(1);
  }

  const std::string& in_;
  std::string out_;
  size_t i_ = 0;
  int depth_ = 0;
  int deepest_ = 0;
  bool beyond_ascii_ = false;
};

re2::RE2::Options OptionsFor(bool utf8) {
  re2::RE2::Options options(re2::RE2::Quiet);
  options.set_encoding(utf8 ? re2::RE2::Options::EncodingUTF8 : re2::RE2::Options::EncodingLatin1);
  options.set_max_mem(kMaxRegexMemory);
  return options;
}

}  // namespace

absl::StatusOr<Regex> Regex::Compile(const std::string& pattern) {
  if (pattern.size() > kMaxRegexBytes) {
    return absl::InvalidArgumentError(Cat("has ", pattern.size(), " bytes, more than ",
                                          kMaxRegexBytes, "; split it into several rules"));
  }
  const PatternScan scan(pattern);
  if (scan.nesting() > kMaxRegexNesting) {
    return absl::InvalidArgumentError(Cat("nests groups ", scan.nesting(), " deep, more than ",
                                          kMaxRegexNesting, "; flatten it"));
  }
  Regex regex;
  regex.utf8_ = scan.beyond_ascii();
  regex.re_ = std::make_unique<re2::RE2>(scan.translated(), OptionsFor(regex.utf8_));
  if (!regex.re_->ok()) {
    const bool large = regex.re_->error_code() == re2::RE2::ErrorPatternTooLarge;
    return absl::InvalidArgumentError(
        Cat("does not compile: ", regex.re_->error().substr(0, kMaxErrorBytes),
            large ? Cat(" (over ", kMaxRegexMemory >> 20, " MiB); use smaller repeat counts")
                  : "; write it in RE2's syntax"));
  }
  return regex;
}

bool Regex::Matches(std::string_view text) const {
  return re_->Match({text.data(), text.size()}, 0, text.size(), re2::RE2::UNANCHORED, nullptr, 0);
}

absl::StatusOr<RegexList> RegexList::Compile(const std::vector<Text>& patterns,
                                             const std::string& subject, const std::string& field) {
  RegexList list;
  std::string joined;
  for (const Text& pattern : patterns) {
    auto regex = Regex::Compile(pattern.value);
    if (!regex.ok()) return RuleError(pattern.where, subject, field, Message(regex.status()));
    const bool apart = regex->utf8();  // keeps the others in bytes
    if (apart || pattern.value.find("\\Q") != std::string::npos) {
      list.all_.push_back(*std::move(regex));
      continue;
    }
    joined += Cat(joined.empty() ? "" : "|", "(?:", pattern.value, ")");
  }
  if (joined.empty()) return list;
  auto regex = Regex::Compile(joined);
  if (regex.ok()) {
    list.all_.push_back(*std::move(regex));
    return list;
  }
  list.all_.clear();  // together they are too large
  for (const Text& pattern : patterns) {
    KS_ASSIGN_OR_RETURN(Regex one, Regex::Compile(pattern.value));
    list.all_.push_back(std::move(one));
  }
  return list;
}

int64_t RegexList::instructions() const {
  int64_t sum = 0;
  for (const Regex& regex : all_) sum += regex.instructions();
  return sum;
}

bool RegexList::AnyMatches(std::string_view text) const {
  for (const Regex& regex : all_) {
    if (regex.Matches(text)) return true;
  }
  return false;
}

}  // namespace keysieve::detect
