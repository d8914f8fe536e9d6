// SPDX-License-Identifier: MIT
// TOML to plain structs, by way of toml++. The library's exception for broken TOML is caught here
// and nowhere else. One reader a table: it walks the keys, takes those it knows, and says which it
// does not know.
#include "daemon/detect/rule_file.h"

#include <string>
#include <utility>

#include "daemon/detect/ascii.h"
#include "daemon/detect/toml_nesting.h"
#include "evidence/base/status.h"
#include "toml++/toml.h"

namespace keysieve::detect {
namespace {

class Reader {
 public:
  Reader(std::shared_ptr<const std::string> file, std::vector<std::string>* warnings)
      : file_(std::move(file)), warnings_(warnings) {}

  absl::StatusOr<RuleFile> File(const toml::table& root);

 private:
  Where At(const toml::source_region& region) const { return {file_, region.begin.line}; }
  Where At(const toml::node& node) const { return At(node.source()); }

  absl::Status WrongType(const toml::node& node, const std::string& field, const char* wanted) {
    return RuleError(At(node), subject_, field, Cat("must be ", wanted));
  }
  void Unknown(const toml::key& key, const std::string& section) {
    warnings_->push_back(
        RuleWarning(At(key.source()), subject_, Cat(section, key.str()), "unknown key, ignored"));
  }

  absl::Status ReadText(const toml::node& node, const std::string& field, std::optional<Text>* out);
  absl::Status ReadText(const toml::node& node, const std::string& field, std::string* out);
  absl::Status ReadList(const toml::node& node, const std::string& field, std::vector<Text>* out);
  absl::Status ReadBool(const toml::node& node, const std::string& field,
                        std::optional<Located<bool>>* out);
  absl::Status ReadCount(const toml::node& node, const std::string& field,
                         std::optional<Located<int64_t>>* out);
  absl::Status ReadNumber(const toml::node& node, const std::string& field,
                          std::optional<Located<double>>* out);
  // Calls `read` for each table of an array of tables.
  template <typename Read>
  absl::Status EachTable(const toml::node& node, const std::string& field, Read read);

  absl::Status Extend(const toml::node& node, std::optional<ExtendSpec>* out);
  absl::Status Rule(const toml::table& table, const Where& where, size_t number, RuleSpec* out);
  absl::Status RuleKey(const toml::key& key, const toml::node& node, RuleSpec* out);
  absl::Status Allowlist(const toml::table& table, const std::string& section, bool global,
                         AllowlistSpec* out);
  absl::Status Required(const toml::table& table, RequiredSpec* out);

  std::shared_ptr<const std::string> file_;
  std::vector<std::string>* warnings_;
  std::string subject_;  // what the message is about: the rule being read, or nothing
};

absl::Status Reader::ReadText(const toml::node& node, const std::string& field,
                              std::optional<Text>* out) {
  const auto* text = node.as_string();
  if (text == nullptr) return WrongType(node, field, "a string");
  *out = Text{text->get(), At(node)};
  return absl::OkStatus();
}

absl::Status Reader::ReadText(const toml::node& node, const std::string& field, std::string* out) {
  std::optional<Text> text;
  KS_RETURN_IF_ERROR(ReadText(node, field, &text));
  *out = std::move(text->value);
  return absl::OkStatus();
}

absl::Status Reader::ReadList(const toml::node& node, const std::string& field,
                              std::vector<Text>* out) {
  const auto* list = node.as_array();
  if (list == nullptr) return WrongType(node, field, "a list of strings, such as [\"a\", \"b\"]");
  for (const toml::node& item : *list) {
    const auto* text = item.as_string();
    if (text == nullptr) return WrongType(item, field, "a list of strings only");
    out->push_back({text->get(), At(item)});
  }
  return absl::OkStatus();
}

absl::Status Reader::ReadBool(const toml::node& node, const std::string& field,
                              std::optional<Located<bool>>* out) {
  const auto* value = node.as_boolean();
  if (value == nullptr) return WrongType(node, field, "true or false");
  *out = Located<bool>{value->get(), At(node)};
  return absl::OkStatus();
}

absl::Status Reader::ReadCount(const toml::node& node, const std::string& field,
                               std::optional<Located<int64_t>>* out) {
  const auto* value = node.as_integer();
  if (value == nullptr || value->get() < 0) return WrongType(node, field, "a whole number >= 0");
  *out = Located<int64_t>{value->get(), At(node)};
  return absl::OkStatus();
}

absl::Status Reader::ReadNumber(const toml::node& node, const std::string& field,
                                std::optional<Located<double>>* out) {
  const std::optional<double> value = node.value<double>();
  if (!node.is_number() || !value || !(*value >= 0) || *value > 1e9) {
    return WrongType(node, field, "a number >= 0");
  }
  *out = Located<double>{*value, At(node)};
  return absl::OkStatus();
}

template <typename Read>
absl::Status Reader::EachTable(const toml::node& node, const std::string& field, Read read) {
  const auto* list = node.as_array();
  if (list == nullptr) return WrongType(node, field, Cat("a list: write [[", field, "]]").c_str());
  for (const toml::node& item : *list) {
    const auto* table = item.as_table();
    if (table == nullptr) return WrongType(item, field, Cat("written as [[", field, "]]").c_str());
    KS_RETURN_IF_ERROR(read(*table));
  }
  return absl::OkStatus();
}

absl::Status Reader::Extend(const toml::node& node, std::optional<ExtendSpec>* out) {
  const auto* table = node.as_table();
  if (table == nullptr) return WrongType(node, "extend", "a table: write [extend]");
  ExtendSpec spec;
  spec.where = At(node);
  for (auto&& [key, value] : *table) {
    const std::string name = LowerAscii(key.str());
    if (name == "path") {
      KS_RETURN_IF_ERROR(ReadText(value, "extend.path", &spec.path));
    } else if (name == "url") {
      KS_RETURN_IF_ERROR(ReadText(value, "extend.url", &spec.url));
    } else if (name == "usedefault") {
      KS_RETURN_IF_ERROR(ReadBool(value, "extend.useDefault", &spec.use_default));
    } else if (name == "disabledrules") {
      KS_RETURN_IF_ERROR(ReadList(value, "extend.disabledRules", &spec.disabled_rules));
    } else {
      Unknown(key, "extend.");
    }
  }
  *out = std::move(spec);
  return absl::OkStatus();
}

absl::Status Reader::Allowlist(const toml::table& table, const std::string& section, bool global,
                               AllowlistSpec* out) {
  out->where = At(table);
  out->section = section;
  for (auto&& [key, value] : table) {
    const std::string name = LowerAscii(key.str());
    const std::string field = Cat(section, ".", key.str());
    if (name == "description") {
      KS_RETURN_IF_ERROR(ReadText(value, field, &out->description));
    } else if (name == "condition") {
      KS_RETURN_IF_ERROR(ReadText(value, field, &out->condition));
    } else if (name == "regextarget") {
      KS_RETURN_IF_ERROR(ReadText(value, field, &out->regex_target));
    } else if (name == "commits") {
      KS_RETURN_IF_ERROR(ReadList(value, field, &out->commits));
    } else if (name == "paths") {
      KS_RETURN_IF_ERROR(ReadList(value, field, &out->paths));
    } else if (name == "regexes") {
      KS_RETURN_IF_ERROR(ReadList(value, field, &out->regexes));
    } else if (name == "stopwords") {
      KS_RETURN_IF_ERROR(ReadList(value, field, &out->stopwords));
    } else if (name == "targetrules" && global) {
      KS_RETURN_IF_ERROR(ReadList(value, field, &out->target_rules));
    } else {
      Unknown(key, section + ".");
    }
  }
  return absl::OkStatus();
}

absl::Status Reader::Required(const toml::table& table, RequiredSpec* out) {
  out->where = At(table);
  out->id.where = out->where;
  for (auto&& [key, value] : table) {
    const std::string name = LowerAscii(key.str());
    if (name == "id") {
      std::optional<Text> id;
      KS_RETURN_IF_ERROR(ReadText(value, "required.id", &id));
      out->id = *id;
    } else if (name == "withinlines") {
      KS_RETURN_IF_ERROR(ReadCount(value, "required.withinLines", &out->within_lines));
    } else if (name == "withincolumns") {
      KS_RETURN_IF_ERROR(ReadCount(value, "required.withinColumns", &out->within_columns));
    } else {
      Unknown(key, "required.");
    }
  }
  return absl::OkStatus();
}

absl::Status Reader::RuleKey(const toml::key& key, const toml::node& node, RuleSpec* out) {
  const std::string name = LowerAscii(key.str());
  if (name == "id") return absl::OkStatus();  // read before the others
  if (name == "description") return ReadText(node, name, &out->description);
  if (name == "regex") return ReadText(node, name, &out->regex);
  if (name == "path") return ReadText(node, name, &out->path);
  if (name == "secretgroup") return ReadCount(node, "secretGroup", &out->secret_group);
  if (name == "entropy") return ReadNumber(node, name, &out->entropy);
  if (name == "keywords") return ReadList(node, name, &out->keywords);
  if (name == "tags") return ReadList(node, name, &out->tags);
  if (name == "checksum") return ReadText(node, name, &out->checksum);
  if (name == "skipreport") return ReadBool(node, "skipReport", &out->skip_report);
  if (name == "allowlist") {
    const auto* table = node.as_table();
    if (table == nullptr) return WrongType(node, name, "a table: write [rules.allowlist]");
    out->old_allowlist = true;
    return Allowlist(*table, "allowlist", false, &out->allowlists.emplace_back());
  }
  if (name == "allowlists") {
    return EachTable(node, "rules.allowlists", [&](const toml::table& table) {
      return Allowlist(table, "allowlists", false, &out->allowlists.emplace_back());
    });
  }
  if (name == "required") {
    return EachTable(node, "rules.required", [&](const toml::table& table) {
      return Required(table, &out->required.emplace_back());
    });
  }
  Unknown(key, "");
  return absl::OkStatus();
}

absl::Status Reader::Rule(const toml::table& table, const Where& where, size_t number,
                          RuleSpec* out) {
  out->where = where;
  out->id.where = where;
  subject_ = Cat("rule #", number, " (no id)");
  for (auto&& [key, value] : table) {
    if (LowerAscii(key.str()) != "id") continue;
    std::optional<Text> id;
    KS_RETURN_IF_ERROR(ReadText(value, "id", &id));
    out->id = *id;
    if (!id->value.empty()) subject_ = Subject(*out);
  }
  for (auto&& [key, value] : table) KS_RETURN_IF_ERROR(RuleKey(key, value, out));
  subject_.clear();
  return absl::OkStatus();
}

absl::StatusOr<RuleFile> Reader::File(const toml::table& root) {
  RuleFile file;
  file.name = file_;
  for (auto&& [key, node] : root) {
    const std::string name = LowerAscii(key.str());
    if (name == "title") {
      KS_RETURN_IF_ERROR(ReadText(node, name, &file.title));
    } else if (name == "description") {
      KS_RETURN_IF_ERROR(ReadText(node, name, &file.description));
    } else if (name == "minversion") {
      KS_RETURN_IF_ERROR(ReadText(node, "minVersion", &file.min_version));
    } else if (name == "extend") {
      KS_RETURN_IF_ERROR(Extend(node, &file.extend));
    } else if (name == "rules") {
      KS_RETURN_IF_ERROR(EachTable(node, name, [&](const toml::table& table) {
        RuleSpec& rule = file.rules.emplace_back();
        return Rule(table, At(table), file.rules.size(), &rule);
      }));
    } else if (name == "allowlist") {
      if (!node.is_table()) return WrongType(node, name, "a table: write [allowlist]");
      file.old_allowlist = true;
      KS_RETURN_IF_ERROR(Allowlist(*node.as_table(), name, true, &file.allowlists.emplace_back()));
    } else if (name == "allowlists") {
      KS_RETURN_IF_ERROR(EachTable(node, name, [&](const toml::table& table) {
        return Allowlist(table, name, true, &file.allowlists.emplace_back());
      }));
    } else {
      Unknown(key, "");
    }
  }
  return file;
}

}  // namespace

std::string ToString(const Where& where) {
  const std::string file = where.file == nullptr ? "rules" : *where.file;
  return Cat(file, ":", where.line);
}

std::string RuleWarning(const Where& where, const std::string& subject, const std::string& field,
                        const std::string& what) {
  return Cat(ToString(where), ": ", subject, subject.empty() ? "" : ": ", field, ": ", what);
}

absl::Status RuleError(const Where& where, const std::string& subject, const std::string& field,
                       const std::string& what) {
  return absl::InvalidArgumentError(RuleWarning(where, subject, field, what));
}

std::string Subject(const RuleSpec& rule) { return "rule " + rule.id.value; }

absl::StatusOr<RuleFile> ParseRuleFile(std::string_view toml, const std::string& name,
                                       std::vector<std::string>* warnings) {
  auto file = std::make_shared<const std::string>(name);
  if (toml.size() > kMaxRuleFileBytes) {
    return RuleError({file, 0}, "", "file",
                     Cat("has ", toml.size(), " bytes, more than ", kMaxRuleFileBytes,
                         "; split it or drop rules"));
  }
  if (const uint32_t line = LineOfTooDottedKey(toml); line != 0) {
    return RuleError({file, line}, "", "TOML",
                     Cat("a key has more than ", kMaxKeyDots, " dots; no rule file needs that"));
  }
  try {
    const toml::table root = toml::parse(toml, name);
    return Reader(file, warnings).File(root);
  } catch (const toml::parse_error& error) {
    return RuleError({file, error.source().begin.line}, "", "TOML",
                     std::string(error.description()));
  }
}

}  // namespace keysieve::detect
