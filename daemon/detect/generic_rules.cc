// SPDX-License-Identifier: MIT
// Per line, the generic secrets are sorted into a vector that is walked like a trie from every byte
// of the other secrets.
#include "daemon/detect/generic_rules.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace keysieve::detect {
namespace {

// Several texts, each looked for anywhere inside others.
class Needles {
 public:
  void Add(std::string_view text) { sorted_.push_back(text); }
  void Seal() {
    std::sort(sorted_.begin(), sorted_.end());
    sorted_.erase(std::unique(sorted_.begin(), sorted_.end()), sorted_.end());
    found_.assign(sorted_.size(), 0);
  }
  void LookIn(std::string_view text) {
    for (size_t at = 0; at < text.size(); ++at) WalkFrom(text.substr(at));
  }
  bool Found(std::string_view text) const {
    const auto it = std::lower_bound(sorted_.begin(), sorted_.end(), text);
    return it != sorted_.end() && *it == text && found_[it - sorted_.begin()] != 0;
  }

 private:
  // Marks every needle that `text` begins with. [low, high) are those that share `depth` bytes.
  void WalkFrom(std::string_view text) {
    auto low = sorted_.begin();
    auto high = sorted_.end();
    for (size_t depth = 0; low != high; ++depth) {
      if (low->size() == depth) found_[low++ - sorted_.begin()] = 1;
      if (depth == text.size()) return;
      const unsigned char wanted = text[depth];
      const auto byte = [depth](std::string_view needle) {
        return static_cast<unsigned char>(needle[depth]);
      };
      low = std::partition_point(low, high, [&](auto needle) { return byte(needle) < wanted; });
      high = std::partition_point(low, high, [&](auto needle) { return byte(needle) == wanted; });
    }
  }

  std::vector<std::string_view> sorted_;
  std::vector<uint8_t> found_;
};

}  // namespace

void DropShadowedGenerics(std::span<const CompiledRule> rules, std::vector<Finding>* findings) {
  std::map<uint32_t, Needles> by_line;
  for (const Finding& finding : *findings) {
    if (rules[finding.rule].generic && !finding.secret.empty()) {
      by_line[finding.start_line].Add(finding.secret);
    }
  }
  if (by_line.empty()) return;
  for (auto& [line, needles] : by_line) needles.Seal();
  for (const Finding& finding : *findings) {
    const auto line = by_line.find(finding.start_line);
    if (line != by_line.end() && !rules[finding.rule].generic) line->second.LookIn(finding.secret);
  }
  std::vector<uint8_t> drop;
  drop.reserve(findings->size());
  for (const Finding& finding : *findings) {
    drop.push_back(rules[finding.rule].generic && !finding.secret.empty() &&
                   by_line.at(finding.start_line).Found(finding.secret));
  }
  // Only now may the strings move, which the needles look at.
  size_t next = 0;
  std::erase_if(*findings, [&](const Finding&) { return drop[next++] != 0; });
}

}  // namespace keysieve::detect
