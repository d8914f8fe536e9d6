// SPDX-License-Identifier: MIT
// The rules a rule file must keep. Every message names the file, the line, the rule and the field,
// and what to write instead.
#include "daemon/detect/rule_check.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <unordered_map>
#include <unordered_set>

#include "evidence/base/status.h"

namespace keysieve::detect {
namespace {

bool IsBlank(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isspace(c); });
}

bool HasControl(const std::string& text) {
  return std::any_of(text.begin(), text.end(),
                     [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

std::string Upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

absl::Status CheckAllowlist(const AllowlistSpec& spec, const std::string& subject) {
  if (spec.commits.empty() && spec.paths.empty() && spec.regexes.empty() &&
      spec.stopwords.empty()) {
    return RuleError(spec.where, subject, spec.section,
                     "checks nothing; give it commits, paths, regexes or stopwords");
  }
  if (spec.condition) {
    const std::string value = Upper(spec.condition->value);
    if (value != "" && value != "AND" && value != "&&" && value != "OR" && value != "||") {
      return RuleError(spec.condition->where, subject, spec.section + ".condition",
                       Cat("'", spec.condition->value, "' is unknown; write \"AND\" or \"OR\""));
    }
  }
  if (spec.regex_target) {
    const std::string& value = spec.regex_target->value;
    if (value != "" && value != "secret" && value != "match" && value != "line") {
      return RuleError(spec.regex_target->where, subject, spec.section + ".regexTarget",
                       Cat("'", value, "' is unknown; write \"secret\", \"match\" or \"line\""));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckAllowlists(const std::vector<AllowlistSpec>& lists, bool old_form,
                             const std::string& subject, const std::string& section) {
  if (old_form && lists.size() > 1) {
    return RuleError(lists.front().where, subject, "allowlist",
                     Cat("[", section, "] is the older form and cannot stand beside [[", section,
                         "s]]; move it there"));
  }
  for (const AllowlistSpec& list : lists) KS_RETURN_IF_ERROR(CheckAllowlist(list, subject));
  return absl::OkStatus();
}

absl::Status CheckId(const RuleSpec& rule, size_t number) {
  const std::string& id = rule.id.value;
  if (IsBlank(id)) {
    return RuleError(rule.where, Cat("rule #", number, " (no id)"), "id",
                     "missing or empty; give every [[rules]] an id");
  }
  if (id.size() > kMaxRuleIdBytes || HasControl(id)) {
    return RuleError(rule.id.where, Cat("rule #", number), "id",
                     Cat("must be at most ", kMaxRuleIdBytes,
                         " bytes with no control characters; shorten or retype it"));
  }
  return absl::OkStatus();
}

absl::Status CheckRule(const RuleSpec& rule, size_t number) {
  KS_RETURN_IF_ERROR(CheckId(rule, number));
  KS_RETURN_IF_ERROR(
      CheckAllowlists(rule.allowlists, rule.old_allowlist, Subject(rule), "rules.allowlist"));
  for (const RequiredSpec& required : rule.required) {
    if (IsBlank(required.id.value)) {
      return RuleError(required.where, Subject(rule), "required.id",
                       "missing or empty; name the rule that must also be found");
    }
  }
  return absl::OkStatus();
}

// Warns where a file wants more than we emulate; the number may carry a 'v'.
absl::Status CheckMinVersion(const Text& text, std::vector<std::string>* warnings) {
  int major = 0;
  int minor = 0;
  int patch = 0;
  const char* digits = text.value.c_str();
  if (*digits == 'v') ++digits;
  if (text.value.size() > 64 || std::sscanf(digits, "%9d.%9d.%9d", &major, &minor, &patch) < 1) {
    return RuleError(text.where, "", "minVersion",
                     "is no version; write it as \"v8.25.0\" or leave it out");
  }
  if (std::pair(major, minor) > std::pair(kEmulatedMajor, kEmulatedMinor)) {
    warnings->push_back(
        RuleWarning(text.where, "", "minVersion",
                    Cat("asks for gitleaks ", text.value, "; this program reads the format of ",
                        kEmulatedMajor, ".", kEmulatedMinor, ", newer fields are ignored")));
  }
  return absl::OkStatus();
}

absl::Status CheckExtend(const ExtendSpec& extend, std::vector<std::string>* warnings) {
  const bool has_path = extend.path && !extend.path->value.empty();
  if (has_path && extend.use_default && extend.use_default->value) {
    return RuleError(extend.where, "", "extend",
                     "has both path and useDefault; keep one, or let that file use the default");
  }
  if (extend.url && !extend.url->value.empty()) {
    warnings->push_back(RuleWarning(extend.url->where, "", "extend.url",
                                    "is not fetched; download the file and name it in path"));
  }
  return absl::OkStatus();
}

void DropRepeatedIds(RuleFile* file, std::vector<std::string>* warnings) {
  std::unordered_map<std::string, size_t> last;
  for (size_t i = 0; i < file->rules.size(); ++i) last[file->rules[i].id.value] = i;
  std::vector<RuleSpec> kept;
  kept.reserve(last.size());
  for (size_t i = 0; i < file->rules.size(); ++i) {
    RuleSpec& rule = file->rules[i];
    const size_t winner = last[rule.id.value];
    if (winner == i) {
      kept.push_back(std::move(rule));
      continue;
    }
    warnings->push_back(RuleWarning(rule.where, Subject(rule), "id",
                                    Cat("is given again at line ", file->rules[winner].where.line,
                                        ", which replaces this rule; rename one")));
  }
  file->rules = std::move(kept);
}

}  // namespace

bool MatchesAll(const AllowlistSpec& spec) {
  if (!spec.condition) return false;
  const std::string value = Upper(spec.condition->value);
  return value == "AND" || value == "&&";
}

absl::Status CheckFile(RuleFile* file, std::vector<std::string>* warnings) {
  if (file->rules.size() > kMaxRules) {
    return RuleError({file->name, 0}, "", "rules",
                     Cat("has ", file->rules.size(), " rules, more than ", kMaxRules,
                         "; drop those you do not need"));
  }
  if (file->min_version && !file->min_version->value.empty()) {
    KS_RETURN_IF_ERROR(CheckMinVersion(*file->min_version, warnings));
  }
  if (file->extend) KS_RETURN_IF_ERROR(CheckExtend(*file->extend, warnings));
  for (size_t i = 0; i < file->rules.size(); ++i) {
    KS_RETURN_IF_ERROR(CheckRule(file->rules[i], i + 1));
  }
  KS_RETURN_IF_ERROR(CheckAllowlists(file->allowlists, file->old_allowlist, "", "allowlist"));
  DropRepeatedIds(file, warnings);
  return absl::OkStatus();
}

absl::Status CheckMerged(const RuleFile& set, std::vector<std::string>* warnings) {
  std::unordered_set<std::string> ids;
  for (const RuleSpec& rule : set.rules) ids.insert(rule.id.value);
  for (const RuleSpec& rule : set.rules) {
    if (!rule.regex && !rule.path) {
      return RuleError(rule.where, Subject(rule), "regex",
                       "missing, and so is path: the rule can match nothing; write one of them");
    }
    for (const RequiredSpec& required : rule.required) {
      if (ids.count(required.id.value) != 0) continue;
      return RuleError(
          required.id.where, Subject(rule), "required.id",
          Cat("there is no rule '", required.id.value, "'; define it, or drop the requirement"));
    }
    if (rule.entropy && rule.entropy->value > 8) {
      warnings->push_back(RuleWarning(rule.entropy->where, Subject(rule), "entropy",
                                      Cat(rule.entropy->value,
                                          " is more than a byte can hold (8): "
                                          "the rule will never fire")));
    }
  }
  return absl::OkStatus();
}

}  // namespace keysieve::detect
