// SPDX-License-Identifier: MIT
// With OR, commits and paths allow a blob, regexes and stopwords a finding. With AND, every kind of
// check that is given must hold, so a list with regexes or stopwords can only judge a finding.
#include "daemon/detect/allowlist.h"

#include <algorithm>
#include <cctype>

#include "daemon/detect/ascii.h"
#include "daemon/detect/rule_check.h"
#include "evidence/base/status.h"

namespace keysieve::detect {
namespace {

std::string Trim(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) {
    text.remove_prefix(1);
  }
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) {
    text.remove_suffix(1);
  }
  return std::string(text);
}

uint16_t Prefix(std::string_view text) {
  return static_cast<uint16_t>(static_cast<unsigned char>(text[0]) << 8 |
                               static_cast<unsigned char>(text[1]));
}

RegexTarget TargetOf(const AllowlistSpec& spec) {
  if (!spec.regex_target) return RegexTarget::kSecret;
  if (spec.regex_target->value == "match") return RegexTarget::kMatch;
  if (spec.regex_target->value == "line") return RegexTarget::kLine;
  return RegexTarget::kSecret;
}

}  // namespace

WordSet::WordSet(const std::vector<Text>& words) {
  for (const Text& word : words) {
    const std::string lower = LowerAscii(word.value);
    if (lower.size() == 1) single_ += lower;
    if (lower.size() >= 2) by_prefix_[Prefix(lower)].push_back(lower);
  }
}

bool WordSet::FoundIn(std::string_view text) const {
  if (empty()) return false;
  const std::string lower = LowerAscii(text);
  const std::string_view view = lower;
  if (!single_.empty() && view.find_first_of(single_) != std::string_view::npos) return true;
  for (size_t i = 0; i + 1 < view.size(); ++i) {
    const auto bucket = by_prefix_.find(Prefix(view.substr(i)));
    if (bucket == by_prefix_.end()) continue;
    for (const std::string& word : bucket->second) {
      if (view.compare(i, word.size(), word) == 0) return true;
    }
  }
  return false;
}

absl::StatusOr<Allowlist> Allowlist::Compile(const AllowlistSpec& spec,
                                             const std::string& subject) {
  Allowlist list;
  list.all_ = MatchesAll(spec);
  list.target_ = TargetOf(spec);
  for (const Text& commit : spec.commits) list.commits_.push_back(LowerAscii(Trim(commit.value)));
  std::sort(list.commits_.begin(), list.commits_.end());
  KS_ASSIGN_OR_RETURN(list.paths_,
                      RegexList::Compile(spec.paths, subject, spec.section + ".paths"));
  KS_ASSIGN_OR_RETURN(list.regexes_,
                      RegexList::Compile(spec.regexes, subject, spec.section + ".regexes"));
  for (const Text& word : spec.stopwords) {
    if (!word.value.empty()) continue;
    return RuleError(word.where, subject, spec.section + ".stopwords",
                     "an empty word would allow every secret; drop it");
  }
  list.stopwords_ = WordSet(spec.stopwords);
  return list;
}

bool Allowlist::CommitListed(std::string_view commit) const {
  if (commit.empty() || commits_.empty()) return false;
  return std::binary_search(commits_.begin(), commits_.end(), LowerAscii(commit));
}

bool Allowlist::PathListed(std::string_view path) const {
  return !path.empty() && paths_.AnyMatches(path);
}

bool Allowlist::AllowsBlob(std::string_view path, std::string_view commit) const {
  if (!all_) return CommitListed(commit) || PathListed(path);
  if (!regexes_.empty() || !stopwords_.empty()) return false;
  return (commits_.empty() || CommitListed(commit)) && (paths_.empty() || PathListed(path));
}

bool Allowlist::AllowsFinding(bool regex_matches, std::string_view secret, std::string_view path,
                              std::string_view commit) const {
  if (!all_) return regex_matches || stopwords_.FoundIn(secret);
  return (regexes_.empty() || regex_matches) && (commits_.empty() || CommitListed(commit)) &&
         (paths_.empty() || PathListed(path)) && (stopwords_.empty() || stopwords_.FoundIn(secret));
}

}  // namespace keysieve::detect
