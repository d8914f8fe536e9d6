// SPDX-License-Identifier: MIT
// Each kind has a search of its own that leaps (memchr for its rare byte, every sixteenth byte for
// runs); the leftmost of the four wins, and a search is asked again only once its answer has been
// passed.
#include "daemon/detect/decode/encodings.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace keysieve::detect::decode {
namespace {

constexpr uint8_t kHexDigit = 1;
constexpr uint8_t kBase64Character = 2;

constexpr std::array<uint8_t, 256> MakeClasses() {
  std::array<uint8_t, 256> classes{};
  for (int c = 0; c < 256; ++c) {
    const bool digit = c >= '0' && c <= '9';
    const bool upper = c >= 'A' && c <= 'Z';
    const bool lower = c >= 'a' && c <= 'z';
    if (digit || (c >= 'A' && c <= 'F') || (c >= 'a' && c <= 'f')) classes[c] |= kHexDigit;
    if (digit || upper || lower || c == '_' || c == '/' || c == '+' || c == '-') {
      classes[c] |= kBase64Character;
    }
  }
  return classes;
}

constexpr std::array<uint8_t, 256> kClasses = MakeClasses();

bool Is(uint8_t what, char c) { return (kClasses[static_cast<uint8_t>(c)] & what) != 0; }

bool AllHex(std::string_view text, uint64_t at, uint64_t count) {
  if (at + count > text.size()) return false;
  for (uint64_t i = at; i < at + count; ++i) {
    if (!Is(kHexDigit, text[i])) return false;
  }
  return true;
}

// The byte's next place at or after `at`, or the text's size.
uint64_t Find(std::string_view text, char byte, uint64_t at) {
  return std::min<uint64_t>(text.find(byte, at), text.size());
}

bool PercentAt(std::string_view text, uint64_t at) {
  return text[at] == '%' && AllHex(text, at + 1, 2);
}

// The length of one \uXXXX, or \\uXXXX as in text that was quoted twice; 0 if there is none.
uint64_t EscapeAt(std::string_view text, uint64_t at) {
  if (at >= text.size() || text[at] != '\\') return 0;
  uint64_t u = at + 1;
  if (u < text.size() && text[u] == '\\') ++u;
  if (u >= text.size() || (text[u] | 0x20) != 'u' || !AllHex(text, u + 1, 4)) return 0;
  return u + 5 - at;
}

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r'; }

// U+XXXX, followed by white space or nothing.
bool CodePointAt(std::string_view text, uint64_t at) {
  return at + 6 <= text.size() && text[at] == 'U' && text[at + 1] == '+' &&
         AllHex(text, at + 2, 4) && (at + 6 == text.size() || IsSpace(text[at + 6]));
}

bool Touch(const Stretch& a, const Stretch& b) { return a.start <= b.end && b.start <= a.end; }

}  // namespace

const char* ToString(Encoding encoding) {
  switch (encoding) {
    case Encoding::kPercent:
      return "percent";
    case Encoding::kUnicode:
      return "unicode";
    case Encoding::kHex:
      return "hex";
    case Encoding::kBase64:
      return "base64";
  }
  return "no encoding";
}

void StretchFinder::FindPercent() {
  percent_ = {text_.size(), text_.size() + 1, Encoding::kPercent};
  for (uint64_t at = Find(text_, '%', at_); at < text_.size(); at = Find(text_, '%', at + 1)) {
    if (!PercentAt(text_, at)) continue;
    percent_.start = at;
    uint64_t last = Find(text_, '\n', at) - 1;
    while (text_[last] != '%' || !PercentAt(text_, last)) --last;
    percent_.end = last + 3;
    return;
  }
}

void StretchFinder::FindEscape() {
  escape_ = {text_.size(), text_.size() + 1, Encoding::kUnicode};
  for (uint64_t at = Find(text_, '\\', at_); at < text_.size(); at = Find(text_, '\\', at + 1)) {
    uint64_t length = EscapeAt(text_, at);
    if (length == 0) continue;
    escape_.start = escape_.end = at;
    for (; length != 0; length = EscapeAt(text_, escape_.end)) escape_.end += length;
    return;
  }
}

void StretchFinder::FindCodePoint() {
  code_point_ = {text_.size(), text_.size() + 1, Encoding::kUnicode};
  for (uint64_t plus = Find(text_, '+', at_ + 1); plus < text_.size();
       plus = Find(text_, '+', plus + 1)) {
    uint64_t at = plus - 1;
    if (!CodePointAt(text_, at)) continue;
    code_point_.start = at;
    while (CodePointAt(text_, at)) {
      code_point_.end = at + 6;  // the white space after the last one stays
      at += 7;
    }
    return;
  }
}

// Any sixteen bytes in a row hold a byte whose place is a multiple of sixteen from where we begin,
// so one look in sixteen bytes is enough until it hits.
void StretchFinder::FindRun() {
  run_ = {text_.size(), text_.size() + 1, Encoding::kBase64};
  uint64_t low = at_;
  for (uint64_t probe = low + kMinBase64Characters - 1; probe < text_.size();
       probe = low + kMinBase64Characters - 1) {
    uint64_t first = probe + 1;
    while (first > low && Is(kBase64Character, text_[first - 1])) --first;
    if (first != low) {
      low = first;
      continue;
    }
    uint64_t end = low;
    if (AllHex(text_, low, kMinHexDigits)) {
      while (end < text_.size() && Is(kHexDigit, text_[end])) ++end;
      run_ = {low, end, Encoding::kHex};
      return;
    }
    while (end < text_.size() && Is(kBase64Character, text_[end])) ++end;
    for (int pad = 0; pad < 2 && end < text_.size() && text_[end] == '='; ++pad) ++end;
    run_ = {low, end, Encoding::kBase64};
    return;
  }
}

bool StretchFinder::NextMatch(Stretch* stretch) {
  const auto stale = [this](const Stretch& s) { return s.end == 0 || s.start < at_; };
  if (stale(percent_)) FindPercent();
  if (stale(escape_)) FindEscape();
  if (stale(code_point_)) FindCodePoint();
  if (stale(run_)) FindRun();
  const Stretch* best = &percent_;
  for (const Stretch* other : {&escape_, &code_point_, &run_}) {
    if (other->start < best->start) best = other;
  }
  if (best->start >= text_.size()) return false;
  *stretch = *best;
  at_ = stretch->end;
  return true;
}

bool StretchFinder::Next(Stretch* stretch) {
  for (;;) {
    if (!has_ahead_ && !NextMatch(&ahead_)) return false;
    const Stretch here = ahead_;
    has_ahead_ = NextMatch(&ahead_);
    const bool waits = (has_last_ && Touch(last_, here) && last_.encoding < here.encoding) ||
                       (has_ahead_ && Touch(here, ahead_) && ahead_.encoding < here.encoding);
    last_ = here;
    has_last_ = true;
    if (!waits) {
      *stretch = here;
      return true;
    }
    if (!has_ahead_) return false;
  }
}

}  // namespace keysieve::detect::decode
