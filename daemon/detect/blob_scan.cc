// SPDX-License-Identifier: MIT
// The order of the checks is free, since each only takes findings away; cheap ones come first and
// those that need a line last.
#include "daemon/detect/blob_scan.h"

#include <algorithm>
#include <cstdlib>
#include <tuple>
#include <utility>

#include "daemon/detect/entropy.h"
#include "daemon/detect/generic_rules.h"
#include "daemon/detect/suppress/allow_mark.h"

namespace keysieve::detect {
namespace {

// A rule's regex may take the line end before or after a secret; that is no part of it.
ByteRange WithoutLineEnds(std::string_view text, ByteRange match) {
  while (match.end > match.start && text[match.end - 1] == '\n') --match.end;
  while (match.start < match.end && text[match.start] == '\n') ++match.start;
  return match;
}

// The findings of a required rule, sorted so that those near a place are found without asking all.
class Neighbours {
 public:
  Neighbours(const RequiredRule& required, std::vector<Finding> others)
      : required_(required), others_(std::move(others)) {
    std::sort(others_.begin(), others_.end(),
              [&](const Finding& a, const Finding& b) { return Key(a) < Key(b); });
  }

  bool Near(const Finding& primary) const {
    if (!required_.within_lines && !required_.within_columns) return !others_.empty();
    const int64_t reach =
        required_.within_lines ? *required_.within_lines : *required_.within_columns;
    auto other = std::partition_point(others_.begin(), others_.end(), [&](const Finding& finding) {
      return Key(primary) - Key(finding) > reach;
    });
    for (; other != others_.end() && Key(*other) - Key(primary) <= reach; ++other) {
      if (!required_.within_columns) return true;
      const int64_t apart = static_cast<int64_t>(primary.start_column) - other->start_column;
      if (std::abs(apart) <= *required_.within_columns) return true;
    }
    return false;
  }

 private:
  int64_t Key(const Finding& finding) const {
    return required_.within_lines ? finding.start_line : finding.start_column;
  }

  const RequiredRule& required_;
  std::vector<Finding> others_;
};

}  // namespace

std::vector<Finding> BlobScan::Run() {
  std::vector<Finding> findings;
  if (AllowsBlob(rules_.allowlists)) return findings;
  const std::vector<uint8_t> wanted = rules_.gate.Candidates(hits_);
  for (uint32_t rule = 0; rule < wanted.size(); ++rule) {
    if (wanted[rule] != 0 && !rules_.rules[rule].skip_report) ReportRule(rule, &findings);
  }
  DropShadowedGenerics(rules_.rules, &findings);
  std::sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
    return std::tie(a.match_start, a.match_end, a.rule) <
           std::tie(b.match_start, b.match_end, b.rule);
  });
  for (Finding& finding : findings) {
    // A rule on paths has no secret; the path is what it found.
    const std::string_view what = finding.secret.empty() ? blob_.path : finding.secret;
    finding.fingerprint = rules_.fingerprinter.Of(rules_.rules[finding.rule].id, what);
  }
  return findings;
}

bool BlobScan::AllowsBlob(std::span<const Allowlist> lists) const {
  return std::any_of(lists.begin(), lists.end(), [&](const Allowlist& list) {
    return list.AllowsBlob(blob_.path, blob_.commit);
  });
}

void BlobScan::ReportRule(uint32_t rule, std::vector<Finding>* findings) {
  std::vector<Finding> found = FindingsOf(rule);
  KeepWithRequired(rules_.rules[rule], &found);
  findings->insert(findings->end(), std::make_move_iterator(found.begin()),
                   std::make_move_iterator(found.end()));
}

std::vector<Finding> BlobScan::FindingsOf(uint32_t position) {
  const CompiledRule& rule = rules_.rules[position];
  std::vector<Finding> findings;
  if (rule.path != nullptr && !rule.path->Matches(blob_.path)) return findings;
  if (AllowsBlob(rule.allowlists)) return findings;
  if (rule.regex == nullptr) {
    findings.push_back(PathFinding(position));
    return findings;
  }
  rule.matcher->FindAll(blob_.bytes, hits_, &starts_, &matches_);
  if (matches_.empty()) return findings;
  verdicts_ = {};
  verdicts_.regexes.resize(rules_.allowlists.size() + rule.allowlists.size());
  for (const ByteRange& match : matches_) {
    if (auto finding = Judge(position, match)) findings.push_back(*std::move(finding));
  }
  return findings;
}

Finding BlobScan::PathFinding(uint32_t rule) const {
  Finding finding;
  finding.rule = rule;
  finding.match = "file detected: " + std::string(blob_.path);
  return finding;
}

std::optional<Finding> BlobScan::Judge(uint32_t position, ByteRange match) {
  const CompiledRule& rule = rules_.rules[position];
  match = WithoutLineEnds(blob_.bytes, match);
  if (match.start == match.end) return std::nullopt;
  const ByteRange secret = SecretOf(rule, match);
  const double entropy = ShannonEntropy(Bytes(secret));
  if (rule.entropy != 0 && entropy <= rule.entropy) return std::nullopt;
  Finding finding;
  finding.rule = position;
  finding.match_start = match.start;
  finding.match_end = match.end;
  finding.secret_start = secret.start;
  finding.secret_end = secret.end;
  finding.match = Bytes(match);
  finding.secret = Bytes(secret);
  finding.entropy = entropy;
  if (Allowed(rule, finding)) return std::nullopt;
  if (inline_allow_) finding.suppressed_by = AllowMark(finding);
  Locate(&finding);
  return finding;
}

// gitleaks asks the regex again about the match alone, and takes the groups of that. Where it then
// finds nothing (the match needed what stood round it) the groups of the match in its place count.
ByteRange BlobScan::SecretOf(const CompiledRule& rule, ByteRange match) const {
  const int groups = rule.regex->groups();
  if (groups == 0) return match;
  std::vector<re2::StringPiece> parts((rule.secret_group > 0 ? rule.secret_group : groups) + 1);
  const re2::RE2& re2 = rule.regex->re2();
  const re2::StringPiece alone(blob_.bytes.data() + match.start, match.end - match.start);
  const int wanted = static_cast<int>(parts.size());
  if (!re2.Match(alone, 0, alone.size(), re2::RE2::UNANCHORED, parts.data(), wanted)) {
    const re2::StringPiece whole(blob_.bytes.data(), blob_.bytes.size());
    if (!re2.Match(whole, match.start, whole.size(), re2::RE2::ANCHOR_START, parts.data(),
                   wanted)) {
      return match;
    }
  }
  for (int i = std::max(1, rule.secret_group); i < wanted; ++i) {
    if (parts[i].empty()) continue;
    const uint64_t start = parts[i].data() - blob_.bytes.data();
    const ByteRange group = WithoutLineEnds(blob_.bytes, {start, start + parts[i].size()});
    if (group.start < group.end) return group;
  }
  return match;
}

bool BlobScan::Allowed(const CompiledRule& rule, const Finding& finding) {
  const size_t global = rules_.allowlists.size();
  const auto any = [&](bool line) {
    for (size_t i = 0; i < global + rule.allowlists.size(); ++i) {
      const Allowlist& list = i < global ? rules_.allowlists[i] : rule.allowlists[i - global];
      if ((list.target() == RegexTarget::kLine) != line) continue;
      if (list.AllowsFinding(RegexMatches(list, i, finding), finding.secret, blob_.path,
                             blob_.commit)) {
        return true;
      }
    }
    return false;
  };
  return any(false) || any(true);
}

bool BlobScan::RegexMatches(const Allowlist& list, size_t position, const Finding& finding) {
  if (!list.has_regexes()) return false;
  if (list.target() == RegexTarget::kSecret) return list.RegexMatches(finding.secret);
  if (list.target() == RegexTarget::kMatch) return list.RegexMatches(finding.match);
  LineVerdicts& verdicts = VerdictsOf(finding);
  std::optional<bool>& known = verdicts.regexes[position];
  if (!known) known = list.RegexMatches(verdicts.lines);
  return *known;
}

std::string_view BlobScan::AllowMark(const Finding& finding) {
  LineVerdicts& verdicts = VerdictsOf(finding);
  if (!verdicts.mark) verdicts.mark = suppress::AllowMarkOn(verdicts.lines);
  return *verdicts.mark;
}

BlobScan::LineVerdicts& BlobScan::VerdictsOf(const Finding& finding) {
  const std::string_view lines = lines_.LinesOf(finding.match_start, finding.match_end);
  if (lines.data() != verdicts_.lines.data() || lines.size() != verdicts_.lines.size()) {
    verdicts_.lines = lines;
    verdicts_.mark.reset();
    std::fill(verdicts_.regexes.begin(), verdicts_.regexes.end(), std::nullopt);
  }
  return verdicts_;
}

void BlobScan::Locate(Finding* finding) {
  const uint64_t last = finding->match_end - 1;  // matches are never empty
  finding->start_line = lines_.LineOf(finding->match_start);
  finding->start_column = lines_.ColumnOf(finding->match_start);
  finding->end_line = lines_.LineOf(last);
  finding->end_column = lines_.ColumnOf(last);
}

void BlobScan::KeepWithRequired(const CompiledRule& rule, std::vector<Finding>* findings) {
  for (const RequiredRule& required : rule.required) {
    if (findings->empty()) return;
    std::vector<Finding> others = FindingsOf(required.rule);
    std::erase_if(others, [](const Finding& other) { return !other.suppressed_by.empty(); });
    const Neighbours neighbours(required, std::move(others));
    std::erase_if(*findings, [&](const Finding& finding) { return !neighbours.Near(finding); });
  }
}

}  // namespace keysieve::detect
