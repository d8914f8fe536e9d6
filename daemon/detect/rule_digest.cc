// SPDX-License-Identifier: MIT
// Every field goes in with its name and length, so that no two sets spell the same bytes. What a
// reply shows of a rule (description, tags) counts as meaning; titles and allowlists' descriptions
// do not.
#include "daemon/detect/rule_digest.h"

#include <openssl/evp.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "daemon/detect/ascii.h"
#include "daemon/detect/rule_check.h"
#include "evidence/base/status.h"

namespace keysieve::detect {
namespace {

class Spelling {
 public:
  void Add(std::string_view field, std::string_view value) {
    text_ += Cat(field, " ", value.size(), " ", value, "\n");
  }
  void Add(std::string_view field, const std::optional<Text>& value) {
    if (value) Add(field, value->value);
  }
  void Add(std::string_view field, const std::vector<Text>& values) {
    for (const Text& value : values) Add(field, value.value);
  }
  // For lists whose order means nothing.
  void AddSorted(std::string_view field, const std::vector<Text>& values, bool lower) {
    std::vector<std::string> sorted;
    for (const Text& value : values)
      sorted.push_back(lower ? LowerAscii(value.value) : value.value);
    std::sort(sorted.begin(), sorted.end());
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    for (const std::string& value : sorted) Add(field, value);
  }
  void AddNumber(std::string_view field, double value) {
    char digits[40];
    std::snprintf(digits, sizeof digits, "%.17g", value);
    Add(field, digits);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

void Spell(const AllowlistSpec& list, Spelling* out) {
  out->Add("allowlist", MatchesAll(list) ? "and" : "or");
  const std::string target = list.regex_target ? list.regex_target->value : "";
  out->Add("target", target.empty() ? "secret" : target);
  out->AddSorted("commit", list.commits, true);
  out->AddSorted("path", list.paths, false);
  out->AddSorted("regex", list.regexes, false);
  out->AddSorted("stopword", list.stopwords, true);
}

void Spell(const RuleSpec& rule, Spelling* out) {
  out->Add("rule", rule.id.value);
  out->Add("description", rule.description);
  out->Add("regex", rule.regex);
  out->Add("path", rule.path);
  if (rule.secret_group) out->AddNumber("group", static_cast<double>(rule.secret_group->value));
  if (rule.entropy) out->AddNumber("entropy", rule.entropy->value);
  if (rule.skip_report && rule.skip_report->value) out->Add("skip", "");
  out->Add("checksum", rule.checksum);
  out->AddSorted("keyword", rule.keywords, true);
  out->Add("tag", rule.tags);
  for (const AllowlistSpec& list : rule.allowlists) Spell(list, out);
  for (const RequiredSpec& required : rule.required) {
    out->Add("required", required.id.value);
    if (required.within_lines) {
      out->AddNumber("lines", static_cast<double>(required.within_lines->value));
    }
    if (required.within_columns) {
      out->AddNumber("columns", static_cast<double>(required.within_columns->value));
    }
  }
}

}  // namespace

std::string DigestOf(const RuleFile& set) {
  Spelling spelling;
  spelling.Add("keysieve rules", "1");
  for (const RuleSpec& rule : set.rules) Spell(rule, &spelling);
  spelling.Add("global", "");
  for (const AllowlistSpec& list : set.allowlists) Spell(list, &spelling);
  std::array<unsigned char, SHA256_DIGEST_LENGTH> hash{};
  SHA256(reinterpret_cast<const unsigned char*>(spelling.text().data()), spelling.text().size(),
         hash.data());
  std::string hex;
  for (unsigned char byte : hash) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", byte);
    hex += digits;
  }
  return hex;
}

}  // namespace keysieve::detect
