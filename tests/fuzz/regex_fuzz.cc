// SPDX-License-Identifier: MIT
// The first line is a regex, the rest a text: what a rule finds by its literals and windows is what
// RE2 finds in the whole text.
#include <re2/re2.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/detect/literal_search.h"
#include "daemon/detect/rule_set.h"
#include "tests/fuzz/fuzz.h"

namespace {

// As a TOML basic string; nothing if the pattern is not ASCII.
std::string Quoted(std::string_view pattern) {
  std::string out = "\"";
  for (unsigned char c : pattern) {
    if (c >= 0x80) return "";
    char code[8];
    std::snprintf(code, sizeof code, "\\u%04x", c);
    out += code;
  }
  return out + "\"";
}

using Range = std::pair<uint64_t, uint64_t>;

// Line feeds at a match's ends are no part of it, and empty matches do not count.
std::vector<Range> Oracle(const std::string& pattern, std::string_view text) {
  re2::RE2::Options options(re2::RE2::Latin1);
  options.set_log_errors(false);
  const re2::RE2 re2(pattern, options);
  KS_MUST(re2.ok());
  std::vector<Range> found;
  const re2::StringPiece whole(text.data(), text.size());
  re2::StringPiece match;
  for (size_t at = 0;
       at <= text.size() && re2.Match(whole, at, text.size(), re2::RE2::UNANCHORED, &match, 1);) {
    uint64_t start = match.data() - text.data();
    uint64_t end = start + match.size();
    at = start == end ? end + 1 : end;
    while (end > start && text[end - 1] == '\n') --end;
    while (start < end && text[start] == '\n') ++start;
    if (start < end) found.emplace_back(start, end);
  }
  return found;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 2048) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string pattern(input.substr(0, std::min(input.find('\n'), size)));
  const std::string_view text = input.substr(std::min(pattern.size() + 1, size));
  const std::string quoted = Quoted(pattern);
  if (quoted.size() <= 2 || pattern.find("\\x{") != std::string::npos ||
      pattern.find("\\p") != std::string::npos || pattern.find("\\P") != std::string::npos) {
    return 0;  // such rules may see characters instead of bytes
  }
  const std::string toml = "[[rules]]\nid = \"r\"\nregex = " + quoted + "\n";
  const auto rules = keysieve::detect::RuleSet::LoadText(toml, "fuzz.toml", {});
  if (!rules.ok()) return 0;
  for (const std::string& warning : (*rules)->warnings()) {
    if (warning.find("characters outside ASCII") != std::string::npos) return 0;
  }
  std::string re2_pattern = pattern;
  for (size_t at = 0; (at = re2_pattern.find("(?<", at)) != std::string::npos; at += 4) {
    re2_pattern.insert(at + 2, "P");
  }
  const auto hits = keysieve::detect::SearchLiterals((*rules)->literals(), text);
  std::vector<Range> found;
  for (const auto& finding : (*rules)->Scan({"a.txt", text, ""}, hits)) {
    if (finding.suppressed_by.empty()) found.emplace_back(finding.match_start, finding.match_end);
  }
  if (text.find(":allow") == std::string_view::npos) KS_MUST(found == Oracle(re2_pattern, text));
  return 0;
}
