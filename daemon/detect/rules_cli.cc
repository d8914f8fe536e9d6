// SPDX-License-Identifier: MIT
// Loads the set the way the daemon does and prints from it; nothing here decides anything.
#include "daemon/detect/rules_cli.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iomanip>
#include <map>
#include <memory>
#include <sstream>
#include <vector>

#include "daemon/detect/literal_search.h"
#include "daemon/detect/redact.h"
#include "daemon/detect/rule_check.h"
#include "daemon/detect/rule_merge.h"
#include "evidence/base/status.h"

namespace keysieve::detect {
namespace {

// Text for a terminal: other bytes than printable ones and line structure could steer it.
std::string Printable(std::string_view text) {
  std::string out;
  for (unsigned char c : text) {
    if (c >= 0x20 && c != 0x7f) {
      out += static_cast<char>(c);
    } else {
      char code[5];
      std::snprintf(code, sizeof code, "\\x%02x", c);
      out += code;
    }
  }
  return out;
}

std::string Joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

std::vector<std::string> Values(const std::vector<Text>& texts) {
  std::vector<std::string> values;
  for (const Text& text : texts) values.push_back(text.value);
  return values;
}

void PrintList(std::ostream& out, const char* name, const std::vector<Text>& values) {
  if (!values.empty()) out << "  " << name << ": " << Printable(Joined(Values(values))) << "\n";
}

void PrintAllowlist(std::ostream& out, const AllowlistSpec& list) {
  out << "allowlist (" << ToString(list.where) << "): " << (MatchesAll(list) ? "all of" : "any of")
      << "\n";
  PrintList(out, "commits", list.commits);
  PrintList(out, "paths", list.paths);
  if (!list.regexes.empty()) {
    const std::string target = list.regex_target ? list.regex_target->value : "";
    PrintList(out, ("regexes on the " + (target.empty() ? "secret" : target)).c_str(),
              list.regexes);
  }
  if (list.stopwords.size() > 20) {
    out << "  stopwords: " << list.stopwords.size() << "\n";
  } else {
    PrintList(out, "stopwords", list.stopwords);
  }
}

std::string Reach(std::optional<uint64_t> bytes) {
  return bytes ? Cat(*bytes, " bytes") : "any distance";
}

void PrintPlan(std::ostream& out, const RulePlan& plan) {
  out << "looks at a blob by: " << ToString(plan.route) << "\n";
  if (plan.route == Route::kPath) return;
  if (!plan.keywords.empty()) {
    out << "  only if it holds a keyword: " << Printable(Joined(plan.keywords)) << "\n";
  }
  if (plan.route == Route::kWholeBlob) {
    out << "  because " << Printable(plan.reason) << "\n";
    return;
  }
  std::vector<std::string> literals;
  for (const megakernel::Literal& literal : plan.literals) {
    literals.push_back(Cat("'", literal.bytes, literal.ignore_case ? "' (any case)" : "'"));
  }
  if (plan.route == Route::kRuns) {
    out << "  runs of one class, of " << plan.run_bytes << " bytes or more\n";
  } else {
    out << "  literals: " << Printable(Joined(literals))
        << "\n  expected in source text: " << plan.hits_per_mb << " a MB\n";
  }
  out << "  a match reaches back " << Reach(plan.before) << " and on " << Reach(plan.after)
      << "; it has " << plan.shortest << " to " << (plan.longest ? Cat(*plan.longest) : "any")
      << " bytes\n";
}

void PrintRule(std::ostream& out, const RuleSpec& rule, const RulePlan& plan) {
  out << Subject(rule) << " (" << ToString(rule.where) << ")\n";
  if (rule.description) out << "description: " << Printable(rule.description->value) << "\n";
  if (!rule.tags.empty()) out << "tags: " << Printable(Joined(Values(rule.tags))) << "\n";
  PrintPlan(out, plan);
  if (!rule.keywords.empty()) {
    out << "keywords: " << Printable(Joined(Values(rule.keywords))) << "\n";
  }
  if (rule.path) out << "path: " << Printable(rule.path->value) << "\n";
  if (rule.regex) out << "regex: " << Printable(rule.regex->value) << "\n";
  if (rule.regex) {
    out << "secret: ";
    if (rule.secret_group) {
      out << "group " << rule.secret_group->value << "\n";
    } else {
      out << "the first group that is not empty, else the match\n";
    }
  }
  if (rule.checksum) out << "checksum: " << Printable(rule.checksum->value) << "\n";
  if (rule.entropy) out << "entropy: more than " << rule.entropy->value << " bits a byte\n";
  if (rule.skip_report && rule.skip_report->value) out << "reported: only by rules that need it\n";
  for (const RequiredSpec& required : rule.required) {
    out << "requires: " << required.id.value;
    if (required.within_lines) out << " within " << required.within_lines->value << " lines";
    if (required.within_columns) out << " within " << required.within_columns->value << " columns";
    out << "\n";
  }
  for (const AllowlistSpec& list : rule.allowlists) PrintAllowlist(out, list);
}

absl::Status NoSuchRule(const RuleFile& set, const std::string& id) {
  std::vector<std::string> near;
  const std::string stem = id.substr(0, 4);
  for (const RuleSpec& rule : set.rules) {
    if (near.size() < 5 && rule.id.value.find(stem) != std::string::npos) {
      near.push_back(rule.id.value);
    }
  }
  return absl::NotFoundError(Cat("no rule '", Printable(id), "' in ", *set.name,
                                 near.empty() ? "; see `rules list`" : "; there are ",
                                 Joined(near)));
}

absl::StatusOr<std::string> ReadBlob(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string bytes;
  std::vector<char> buffer(1 << 16);
  while (in.read(buffer.data(), static_cast<std::streamsize>(buffer.size())) || in.gcount() > 0) {
    bytes.append(buffer.data(), static_cast<size_t>(in.gcount()));
    if (bytes.size() > kMaxTestFileBytes) {
      return absl::InvalidArgumentError(
          Cat("'", path, "' has more than ", kMaxTestFileBytes, " bytes; test a smaller file"));
    }
  }
  if (!in.eof()) {
    return absl::NotFoundError(Cat("cannot read '", path, "': ", std::strerror(errno)));
  }
  return bytes;
}

}  // namespace

absl::StatusOr<std::string> CheckRules(const std::string& rules_file, const RuleOptions& options) {
  KS_ASSIGN_OR_RETURN(const auto rules, RuleSet::LoadFile(rules_file, options));
  std::ostringstream out;
  for (const std::string& warning : rules->warnings()) {
    out << "warning: " << Printable(warning) << "\n";
  }
  std::map<std::string, std::vector<std::string>> by_route;
  for (size_t i = 0; i < rules->plans().size(); ++i) {
    by_route[ToString(rules->plans()[i].route)].push_back(rules->rules()[i].id);
  }
  out << rules_file << ": " << rules->rules().size() << " rules, " << rules->literals().size()
      << " literals, " << rules->warnings().size() << " warnings\n";
  for (const auto& [route, ids] : by_route) {
    out << "  by " << route << ": " << ids.size();
    // These cost the most: they run over every byte of every blob.
    if (route == ToString(Route::kWholeBlob)) out << " (" << Joined(ids) << ")";
    out << "\n";
  }
  out << "digest " << rules->digest() << "\n";
  return out.str();
}

absl::StatusOr<std::string> ListRules(const std::string& rules_file, const RuleOptions& options) {
  KS_ASSIGN_OR_RETURN(const auto rules, RuleSet::LoadFile(rules_file, options));
  size_t width = 0;
  for (const RuleInfo& rule : rules->rules()) width = std::max(width, rule.id.size());
  std::ostringstream out;
  for (size_t i = 0; i < rules->rules().size(); ++i) {
    const RuleInfo& rule = rules->rules()[i];
    out << std::left << std::setw(static_cast<int>(width)) << rule.id << "  " << std::setw(10)
        << ToString(rules->plans()[i].route) << "  ";
    if (!rule.tags.empty()) out << "[" << Printable(Joined(rule.tags)) << "] ";
    out << Printable(rule.description) << "\n";
  }
  return out.str();
}

absl::StatusOr<std::string> ExplainRule(const std::string& rules_file, const RuleOptions& options,
                                        const std::string& id) {
  KS_ASSIGN_OR_RETURN(const std::string text, ReadRuleFile(rules_file));
  std::vector<std::string> warnings;
  KS_ASSIGN_OR_RETURN(const RuleFile set, ReadRuleSet(text, rules_file, options, &warnings));
  KS_ASSIGN_OR_RETURN(const auto rules, RuleSet::LoadText(text, rules_file, options));
  for (size_t i = 0; i < set.rules.size() && i < rules->plans().size(); ++i) {
    if (set.rules[i].id.value != id) continue;
    std::ostringstream out;
    PrintRule(out, set.rules[i], rules->plans()[i]);
    return out.str();
  }
  return NoSuchRule(set, id);
}

absl::StatusOr<std::string> TestRules(const std::string& rules_file, const RuleOptions& options,
                                      const std::string& file) {
  KS_ASSIGN_OR_RETURN(const auto rules, RuleSet::LoadFile(rules_file, options));
  KS_ASSIGN_OR_RETURN(const std::string bytes, ReadBlob(file));
  if (rules->ExcludedByPath(file) != Exclusion::kNone) {
    return Cat(file, ": the path is on the rules' allowlist, nothing is scanned\n");
  }
  const auto hits = SearchLiterals(rules->literals(), bytes);
  ScanOutcome outcome =
      rules->ScanAll({file, bytes, {}}, hits, {.decode_depth = kDefaultDecodeDepth});
  RedactFindings(outcome.findings);
  std::ostringstream out;
  size_t suppressed = 0;
  for (const Finding& finding : outcome.findings) {
    out << file << ":" << finding.start_line << ":" << finding.start_column << ": "
        << rules->rules()[finding.rule].id << ": " << Printable(finding.match) << " ("
        << finding.fingerprint << ", entropy " << std::fixed << std::setprecision(2)
        << finding.entropy;
    if (!finding.decode_path.empty()) out << ", decoded from " << Joined(finding.decode_path);
    if (*TagOf(finding.checksum) != '\0') out << ", " << TagOf(finding.checksum);
    if (!finding.suppressed_by.empty()) {
      out << ", suppressed by " << finding.suppressed_by;
      ++suppressed;
    }
    out << ")\n";
  }
  for (const Uncovered& part : outcome.uncovered) {
    out << file << ": bytes " << part.start << " to " << part.end << ": " << part.detail << "\n";
  }
  out << file << ": " << bytes.size() << " bytes, " << hits.size() << " literal hits, "
      << outcome.findings.size() - suppressed << " findings, " << suppressed << " suppressed\n";
  return out.str();
}

}  // namespace keysieve::detect
