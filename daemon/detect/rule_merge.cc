// SPDX-License-Identifier: MIT
// Merging rule files. The extended file's rules come first, in its order, with overrides in their
// places; the extending file's own rules follow in theirs. So a rule's position depends on the
// files alone, never on a hash order.
#include "daemon/detect/rule_merge.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <unordered_map>
#include <unordered_set>

#include "daemon/detect/rule_check.h"
#include "evidence/base/status.h"

namespace keysieve::detect {
namespace {

using Index = std::unordered_map<std::string, size_t>;

template <typename T>
void Append(std::vector<T>* to, std::vector<T>&& from) {
  to->insert(to->end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

template <typename T>
void Replace(std::optional<T>* to, std::optional<T>&& from) {
  if (from) *to = std::move(from);
}

// gitleaks reads an empty string, and a zero, as "not given".
template <typename T>
void DropIfZero(std::optional<Located<T>>* field) {
  if (*field && (*field)->value == T{}) field->reset();
}

void Normalize(RuleFile* file) {
  for (RuleSpec& rule : file->rules) {
    DropIfZero(&rule.description);
    DropIfZero(&rule.regex);
    DropIfZero(&rule.path);
    DropIfZero(&rule.secret_group);
    DropIfZero(&rule.entropy);
  }
}

void Override(RuleSpec* base, RuleSpec&& rule) {
  Replace(&base->description, std::move(rule.description));
  Replace(&base->regex, std::move(rule.regex));
  Replace(&base->path, std::move(rule.path));
  Replace(&base->secret_group, std::move(rule.secret_group));
  Replace(&base->entropy, std::move(rule.entropy));
  Replace(&base->checksum, std::move(rule.checksum));
  Replace(&base->skip_report, std::move(rule.skip_report));
  Append(&base->tags, std::move(rule.tags));
  Append(&base->keywords, std::move(rule.keywords));
  Append(&base->allowlists, std::move(rule.allowlists));
  Append(&base->required, std::move(rule.required));
}

// Lays `over` on `base`.
RuleFile Merge(RuleFile base, RuleFile over, std::vector<std::string>* warnings) {
  std::unordered_set<std::string> disabled;
  Index index;
  for (size_t i = 0; i < base.rules.size(); ++i) index.emplace(base.rules[i].id.value, i);
  for (const Text& id : over.extend->disabled_rules) {
    disabled.insert(id.value);
    if (index.count(id.value) == 0) {
      warnings->push_back(RuleWarning(
          id.where, "rule " + id.value, "extend.disabledRules",
          Cat("the extended file ", *base.name, " has no such rule; nothing is disabled")));
    }
  }
  std::erase_if(base.rules,
                [&](const RuleSpec& rule) { return disabled.count(rule.id.value) != 0; });
  index.clear();
  for (size_t i = 0; i < base.rules.size(); ++i) index.emplace(base.rules[i].id.value, i);
  for (RuleSpec& rule : over.rules) {
    const auto found = index.find(rule.id.value);
    if (found != index.end()) {
      Override(&base.rules[found->second], std::move(rule));
    } else if (!rule.regex && !rule.path) {
      // An override of a rule we do not have. Files written for gitleaks' own default rules come
      // this way, and are no less useful for the rest they say.
      warnings->push_back(RuleWarning(
          rule.where, Subject(rule), "id",
          Cat("overrides a rule that the extended file ", *base.name, " does not have; ignored")));
    } else {
      base.rules.push_back(std::move(rule));
    }
  }
  over.rules = std::move(base.rules);
  Append(&over.allowlists, std::move(base.allowlists));
  return over;
}

constexpr char kAddOnly[] =
    "this daemon lets callers add rules, not weaken its own (policy.rules = \"extend\"); ";

// Does the file leave the set it lies over as it is?
absl::Status CheckOnlyAdds(const RuleFile& file, const RuleFile& base) {
  std::unordered_set<std::string> own;
  for (const RuleSpec& rule : base.rules) own.insert(rule.id.value);
  if (file.extend && !file.extend->disabled_rules.empty()) {
    const Text& id = file.extend->disabled_rules.front();
    return RuleError(id.where, "rule " + id.value, "extend.disabledRules",
                     Cat(kAddOnly, "drop the list"));
  }
  std::unordered_set<std::string> added;
  for (const RuleSpec& rule : file.rules) {
    if (own.count(rule.id.value) != 0) {
      return RuleError(rule.where, Subject(rule), "id",
                       Cat(kAddOnly, "there is a rule of that id: choose another"));
    }
    added.insert(rule.id.value);
  }
  for (const AllowlistSpec& list : file.allowlists) {
    const bool for_added = !list.target_rules.empty() &&
                           std::all_of(list.target_rules.begin(), list.target_rules.end(),
                                       [&](const Text& id) { return added.count(id.value) != 0; });
    if (for_added) continue;
    return RuleError(list.where, "", list.section,
                     Cat(kAddOnly, "name rules of this file in targetRules"));
  }
  return absl::OkStatus();
}

class Loader {
 public:
  Loader(const RuleOptions& options, std::vector<std::string>* warnings)
      : options_(options), warnings_(warnings) {}

  absl::StatusOr<RuleFile> Load(std::string_view toml, const std::string& name, int depth) {
    KS_ASSIGN_OR_RETURN(RuleFile file, ParseRuleFile(toml, name, warnings_));
    KS_RETURN_IF_ERROR(CheckFile(&file, warnings_));
    Normalize(&file);
    if (depth == 0 && !options_.must_extend.empty()) return LoadOverOwn(std::move(file));
    if (!file.extend) return file;
    const bool use_default = file.extend->use_default && file.extend->use_default->value;
    const bool has_path = file.extend->path && !file.extend->path->value.empty();
    if (!use_default && !has_path) return file;
    if (depth >= kMaxExtendDepth) {
      warnings_->push_back(
          RuleWarning(file.extend->where, "", "extend",
                      Cat("is ignored here: files are followed ", kMaxExtendDepth, " deep")));
      return file;
    }
    KS_ASSIGN_OR_RETURN(RuleFile base, use_default ? LoadDefault(*file.extend, depth)
                                                   : LoadPath(*file.extend->path, depth));
    return Merge(std::move(base), std::move(file), warnings_);
  }

 private:
  // Rules of a caller that may add to the daemon's own set and do nothing else to it.
  absl::StatusOr<RuleFile> LoadOverOwn(RuleFile file) {
    if (file.extend && file.extend->path && !file.extend->path->value.empty()) {
      return LoadPath(*file.extend->path, 0).status();
    }
    KS_ASSIGN_OR_RETURN(const std::string text, ReadRuleFile(options_.must_extend));
    RuleOptions own = options_;
    own.must_extend.clear();
    own.may_extend_files = true;
    KS_ASSIGN_OR_RETURN(RuleFile base, Loader(own, warnings_).Load(text, options_.must_extend, 0));
    KS_RETURN_IF_ERROR(CheckOnlyAdds(file, base));
    if (!file.extend) file.extend.emplace();
    return Merge(std::move(base), std::move(file), warnings_);
  }

  absl::StatusOr<RuleFile> LoadDefault(const ExtendSpec& extend, int depth) {
    const Where& where = extend.use_default->where;
    if (options_.default_rules.empty()) {
      return RuleError(where, "", "extend.useDefault",
                       "no default rules are configured; name a file in extend.path instead");
    }
    auto text = ReadRuleFile(options_.default_rules);
    if (!text.ok()) return RuleError(where, "", "extend.useDefault", Message(text.status()));
    return Load(*text, options_.default_rules, depth + 1);
  }

  absl::StatusOr<RuleFile> LoadPath(const Text& path, int depth) {
    if (!options_.may_extend_files) {
      return RuleError(path.where, "", "extend.path",
                       "rules that come over the wire may not name files here; use useDefault, or "
                       "send the rules whole");
    }
    auto text = ReadRuleFile(path.value);
    if (!text.ok()) return RuleError(path.where, "", "extend.path", Message(text.status()));
    return Load(*text, path.value, depth + 1);
  }

  const RuleOptions& options_;
  std::vector<std::string>* warnings_;
};

// Moves global allowlists with targetRules into the rules they name.
absl::Status SpreadTargets(RuleFile* set, std::vector<std::string>* warnings) {
  Index index;
  for (size_t i = 0; i < set->rules.size(); ++i) index.emplace(set->rules[i].id.value, i);
  std::vector<AllowlistSpec> global;
  for (AllowlistSpec& list : set->allowlists) {
    if (list.target_rules.empty()) {
      global.push_back(std::move(list));
      continue;
    }
    for (const Text& target : list.target_rules) {
      const auto found = index.find(target.value);
      if (found != index.end()) {
        set->rules[found->second].allowlists.push_back(list);
        continue;
      }
      const std::string field = list.section + ".targetRules";
      // A file that extends another may name rules which only gitleaks' own default has.
      if (!set->extend && list.where.file == set->name) {
        return RuleError(target.where, "rule " + target.value, field,
                         "there is no such rule; correct the name or drop it");
      }
      warnings->push_back(
          RuleWarning(target.where, "rule " + target.value, field, "no such rule; ignored"));
    }
  }
  set->allowlists = std::move(global);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> ReadRuleFile(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return absl::InvalidArgumentError(Cat("'", path, "' is a directory; name a rule file"));
  }
  std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "rbe"), &std::fclose);
  if (file == nullptr) {
    return absl::NotFoundError(Cat("cannot open '", path, "': ", std::strerror(errno)));
  }
  std::string text;
  char buffer[16384];
  while (size_t got = std::fread(buffer, 1, sizeof buffer, file.get())) {
    text.append(buffer, got);
    if (text.size() > kMaxRuleFileBytes) {
      return absl::InvalidArgumentError(
          Cat("'", path, "' has more than ", kMaxRuleFileBytes, " bytes; split it"));
    }
  }
  if (std::ferror(file.get())) {
    return absl::UnavailableError(Cat("cannot read '", path, "': ", std::strerror(errno)));
  }
  return text;
}

absl::StatusOr<RuleFile> ReadRuleSet(std::string_view toml, const std::string& name,
                                     const RuleOptions& options,
                                     std::vector<std::string>* warnings) {
  Loader loader(options, warnings);
  KS_ASSIGN_OR_RETURN(RuleFile set, loader.Load(toml, name, 0));
  KS_RETURN_IF_ERROR(SpreadTargets(&set, warnings));
  KS_RETURN_IF_ERROR(CheckMerged(set, warnings));
  return set;
}

}  // namespace keysieve::detect
