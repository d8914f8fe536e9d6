// SPDX-License-Identifier: MIT
// Reading rule files: what is refused, with which words, and what only warns.
#include "daemon/detect/rule_file.h"

#include <unistd.h>

#include "daemon/detect/rule_check.h"
#include "gmock/gmock.h"
#include "tests/daemon/detect/detect_testing.h"

namespace keysieve::detect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A folder of its own that the process stands in, as `extend.path` is relative to that.
class WorkingFolder {
 public:
  WorkingFolder() : before_(std::filesystem::current_path()) {
    root_ = std::filesystem::path(testing::TempDir()) /
            ("keysieve-rules-" + std::to_string(getpid()) + "-" + std::to_string(counter_++));
    std::filesystem::create_directories(root_ / "run");
    std::filesystem::current_path(root_ / "run");
  }
  ~WorkingFolder() {
    std::filesystem::current_path(before_);
    std::filesystem::remove_all(root_);
  }
  const std::filesystem::path& root() const { return root_; }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(std::filesystem::current_path() / name, std::ios::binary) << text;
  }

 private:
  inline static int counter_ = 0;
  std::filesystem::path before_;
  std::filesystem::path root_;
};

std::vector<std::filesystem::path> TomlFiles(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".toml") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

TEST(RuleFile, ReadsEveryFieldWithItsLine) {
  std::vector<std::string> warnings;
  auto file = ParseRuleFile(R"toml(title = "t"
[[rules]]
id = "a"
regex = "x(y)"
secretGroup = 1
entropy = 3
keywords = ["k",
  "l"]
[[rules.allowlists]]
regexTarget = "line"
stopWords = ["s"]
[[rules.required]]
id = "b"
withinLines = 4
)toml",
                            "f.toml", &warnings);
  ASSERT_TRUE(file.ok()) << Message(file.status());
  EXPECT_TRUE(warnings.empty());
  ASSERT_EQ(file->rules.size(), 1u);
  const RuleSpec& rule = file->rules[0];
  EXPECT_EQ(rule.id.value, "a");
  EXPECT_EQ(rule.id.where.line, 3u);
  EXPECT_EQ(rule.regex->where.line, 4u);
  EXPECT_EQ(rule.secret_group->value, 1);
  EXPECT_EQ(rule.entropy->value, 3.0);
  EXPECT_EQ(rule.keywords[1].where.line, 8u);
  EXPECT_EQ(rule.allowlists[0].stopwords[0].value, "s");  // keys match in any case
  EXPECT_EQ(rule.required[0].within_lines->value, 4);
  EXPECT_EQ(ToString(rule.required[0].where), "f.toml:12");
}

TEST(RuleFile, WarnsOfUnknownKeysByFileLineAndKey) {
  const auto rules = Load(std::string(kPatRule) + "severity = 'high'\n[misc]\nx = 1\n");
  EXPECT_THAT(rules->warnings(),
              ElementsAre(HasSubstr("test.toml:9: misc: unknown key, ignored"),
                          HasSubstr("test.toml:8: rule github-pat: severity: unknown key")));
}

TEST(RuleFile, RefusesBrokenTomlWithItsLine) {
  EXPECT_THAT(LoadError("title = 'a'\nrules = [\n"), StartsWith("test.toml:"));
  EXPECT_THAT(LoadError("a = 1\nb ="), StartsWith("test.toml:2: TOML: "));
}

TEST(RuleFile, RefusesNestingThatWouldOverrunTheStack) {
  std::string dots;
  for (int i = 0; i < 300000; ++i) dots += "a.";
  EXPECT_THAT(LoadError("\n[" + dots + "a]\n"), StartsWith("test.toml:2: TOML: a key has more"));
  EXPECT_THAT(LoadError(dots + "a = 1\n"), HasSubstr("a key has more than 8 dots"));
  EXPECT_THAT(LoadError("x = {" + dots + "a = 1}\n"), HasSubstr("a key has more than 8 dots"));
  EXPECT_THAT(LoadError("\"q\\\".\"." + dots + "a = 1\n"), HasSubstr("a key has more than 8 dots"));
  EXPECT_THAT(LoadError("x = " + std::string(300000, '[')), HasSubstr("nested"));
  // Dots in strings and comments are no keys'.
  EXPECT_EQ(LoadError("# " + dots + "\ntitle = \"" + dots + "\"\ndescription = '''\n" + dots +
                      "\n'''\n[allowlist]\nstopwords = ['.........', \"\\\".........\", 'b']\n"),
            "");
}

TEST(RuleFile, RefusesValuesOfTheWrongType) {
  const std::string rule = "[[rules]]\nid = 'a'\nregex = 'x'\n";
  EXPECT_EQ(LoadError(rule + "keywords = 'x'"),
            "test.toml:4: rule a: keywords: must be a list of strings, such as [\"a\", \"b\"]");
  EXPECT_THAT(LoadError(rule + "keywords = ['x', 1]"), HasSubstr("keywords: must be a list"));
  EXPECT_THAT(LoadError(rule + "entropy = 'high'"), HasSubstr("entropy: must be a number >= 0"));
  EXPECT_THAT(LoadError(rule + "entropy = nan"), HasSubstr("entropy: must be a number >= 0"));
  EXPECT_THAT(LoadError(rule + "secretGroup = -1"), HasSubstr("secretGroup: must be a whole"));
  EXPECT_THAT(LoadError(rule + "skipReport = 1"), HasSubstr("skipReport: must be true or false"));
  EXPECT_THAT(LoadError("rules = 3"), HasSubstr("rules: must be a list"));
  EXPECT_THAT(LoadError("rules = [1]"), HasSubstr("rules: must be written as [[rules]]"));
  EXPECT_THAT(LoadError("allowlist = 1"), HasSubstr("allowlist: must be a table"));
}

TEST(RuleFile, RefusesRegexesItCannotRun) {
  const auto error = [](const std::string& regex) {
    return LoadError("[[rules]]\nid = 'a'\nregex = '''" + regex + "'''\n");
  };
  EXPECT_THAT(error("(a"), StartsWith("test.toml:3: rule a: regex: does not compile: missing )"));
  EXPECT_THAT(error("a(?=b)"), HasSubstr("does not compile"));
  EXPECT_THAT(error(std::string(251, '(') + "a" + std::string(251, ')')),
              HasSubstr("nests groups 251 deep, more than 250"));
  EXPECT_THAT(error(std::string(100000, '(') + "a" + std::string(100000, ')')),
              HasSubstr("more than 65536"));
  EXPECT_THAT(error("((a{100}){100}){100}"), HasSubstr("does not compile"));
  EXPECT_THAT(error("\\pL{1000}\\pL{1000}"), HasSubstr("use smaller repeat counts"));
  EXPECT_EQ(error(std::string(250, '(') + "a" + std::string(250, ')')), "");
}

TEST(RuleFile, RefusesBadRegexesWhereverTheyStand) {
  EXPECT_THAT(LoadError("[[rules]]\nid = 'a'\npath = '['"), HasSubstr("3: rule a: path: "));
  EXPECT_THAT(LoadError("[allowlist]\nregexes = [\n'ok',\n'(']"),
              StartsWith("test.toml:4: allowlist.regexes: does not compile"));
  EXPECT_THAT(LoadError(std::string(kPatRule) + "[[rules.allowlists]]\npaths = ['(']"),
              StartsWith("test.toml:9: rule github-pat: allowlists.paths: does not compile"));
}

TEST(RuleFile, RefusesWhatCannotBeMeant) {
  EXPECT_THAT(LoadError(std::string(kPatRule) + "[[rules.allowlists]]\ncondition = 'XOR'\n"
                                                "stopwords = ['a']"),
              HasSubstr("allowlists.condition: 'XOR' is unknown"));
  EXPECT_THAT(LoadError(std::string(kPatRule) + "[[rules.allowlists]]\nstopwords = ['']"),
              HasSubstr("stopwords: an empty word"));
  EXPECT_THAT(LoadError(std::string(kPatRule) + "[[rules.required]]\nid = 'nobody'"),
              HasSubstr("rule github-pat: required.id: there is no rule 'nobody'"));
  EXPECT_THAT(LoadError(std::string(kPatRule) + "[[rules.required]]\nwithinLines = 1"),
              HasSubstr("required.id: missing"));
  EXPECT_THAT(LoadError("[extend]\npath = 'x'\nuseDefault = true"), HasSubstr("keep one"));
  EXPECT_THAT(LoadError("[extend]\nuseDefault = true"),
              HasSubstr("test.toml:2: extend.useDefault: no default rules are configured"));
  EXPECT_THAT(LoadError("[[rules]]\nid = \"a\\u0000b\"\nregex = 'x'"), HasSubstr("control"));
  EXPECT_THAT(LoadError("minVersion = 'soon'"), HasSubstr("1: minVersion: is no version"));
  EXPECT_THAT(LoadError("[[rules]]\nid='a'\nregex='x'\nkeywords=['" + std::string(256, 'k') + "']"),
              HasSubstr("keywords: one has 256 bytes, more than 255"));
}

TEST(RuleFile, WarnsWhereMoreIsAskedThanIsEmulated) {
  EXPECT_TRUE(Load("minVersion = 'v8.25.0'")->warnings().empty());
  EXPECT_TRUE(Load("minVersion = '8.28.7'")->warnings().empty());
  EXPECT_THAT(Load("minVersion = 'v8.29.0'")->warnings(),
              ElementsAre(HasSubstr("asks for gitleaks v8.29.0")));
  EXPECT_THAT(Load("minVersion = 'v9'")->warnings(), ElementsAre(HasSubstr("v9")));
}

TEST(RuleFile, KeepsTheLastOfRepeatedIds) {
  const auto rules = Load("[[rules]]\nid='a'\nregex='one'\n[[rules]]\nid='a'\nregex='two'\n");
  EXPECT_EQ(rules->rules().size(), 1u);
  EXPECT_THAT(rules->warnings(), ElementsAre(HasSubstr("test.toml:1: rule a: id: is given again")));
  EXPECT_TRUE(ScanText(*rules, "one").empty());
  EXPECT_EQ(ScanText(*rules, "two").size(), 1u);
}

TEST(Extend, MergesOverridesAndKeepsTheBaseOrder) {
  WorkingFolder folder;
  folder.Write("base.toml",
               "[[rules]]\nid='z'\nregex='zzz'\ntags=['t']\nkeywords=['zz']\n"
               "[[rules]]\nid='y'\nregex='yyy'\n[[allowlists]]\nstopwords=['never']\n");
  const auto rules = Load(
      "[extend]\npath='base.toml'\n[[rules]]\nid='a'\nregex='aaa'\n"
      "[[rules]]\nid='z'\ndescription='over'\ntags=['u']\nkeywords=['QQ']\n");
  ASSERT_EQ(rules->rules().size(), 3u);
  EXPECT_EQ(rules->rules()[0].id, "z");
  EXPECT_EQ(rules->rules()[0].description, "over");
  EXPECT_THAT(rules->rules()[0].tags, ElementsAre("t", "u"));
  EXPECT_EQ(rules->rules()[1].id, "y");
  EXPECT_EQ(rules->rules()[2].id, "a");
  EXPECT_EQ(ScanText(*rules, "zzz").size(), 1u);
}

TEST(Extend, StopsTwoFilesDeepAndNeverOpensTheThird) {
  WorkingFolder folder;
  folder.Write("1.toml", "[extend]\npath='2.toml'\n[[rules]]\nid='one'\nregex='1'\n");
  folder.Write("2.toml", "[extend]\npath='missing.toml'\n[[rules]]\nid='two'\nregex='2'\n");
  const auto rules = Load("[extend]\npath='1.toml'\n");
  EXPECT_EQ(rules->rules().size(), 2u);
  EXPECT_THAT(rules->warnings(), ElementsAre(HasSubstr("2.toml:1: extend: is ignored here")));
}

TEST(Extend, NamesTheExtendedFileInItsErrors) {
  WorkingFolder folder;
  folder.Write("base.toml", "\n[[rules]]\nid='x'\nregex='('\n");
  EXPECT_THAT(LoadError("[extend]\npath='base.toml'\n"),
              StartsWith("base.toml:4: rule x: regex: does not compile"));
  EXPECT_THAT(LoadError("[extend]\npath='.'\n"), HasSubstr("2: extend.path: '.' is a directory"));
}

TEST(Extend, DropsDisabledRulesAndWarnsOfUnknownOnes) {
  WorkingFolder folder;
  folder.Write("base.toml", "[[rules]]\nid='x'\nregex='x'\n[[rules]]\nid='y'\nregex='y'\n");
  const auto rules = Load("[extend]\npath='base.toml'\ndisabledRules=['x', 'nobody']\n");
  ASSERT_EQ(rules->rules().size(), 1u);
  EXPECT_EQ(rules->rules()[0].id, "y");
  EXPECT_THAT(rules->warnings(), ElementsAre(HasSubstr("rule nobody: extend.disabledRules")));
}

TEST(Extend, UsesTheConfiguredDefaultAndWarnsOfForeignOverrides) {
  WorkingFolder folder;
  folder.Write("default.toml", kPatRule);
  RuleOptions options;
  options.default_rules = "default.toml";
  const auto rules = Load(
      "[extend]\nuseDefault=true\n[[rules]]\nid='generic-api-key'\n"
      "[[rules.allowlists]]\npaths=['x']\n[[allowlists]]\ntargetRules=['other']\npaths=['y']\n",
      options);
  ASSERT_EQ(rules->rules().size(), 1u);
  EXPECT_THAT(rules->warnings(),
              ElementsAre(HasSubstr("test.toml:3: rule generic-api-key: id: overrides a rule"),
                          HasSubstr("rule other: allowlists.targetRules: no such rule")));
}

TEST(Extend, IsRefusedToRulesFromTheWire) {
  WorkingFolder folder;
  folder.Write("base.toml", kPatRule);
  RuleOptions options;
  options.may_extend_files = false;
  EXPECT_THAT(LoadError("[extend]\npath='base.toml'\n", options),
              HasSubstr("extend.path: rules that come over the wire may not name files"));
}

TEST(Extend, WarnsOfUrls) {
  EXPECT_THAT(Load("[extend]\nurl='https://example.com/r.toml'\n")->warnings(),
              ElementsAre(HasSubstr("extend.url: is not fetched")));
}

class HandedConfigs : public testing::Test {
 protected:
  void SetUp() override {
    const std::string cases = SharedCases();
    if (cases.empty()) GTEST_SKIP() << "KEYSIEVE_SHARED_CASES is unset: no handed rule files";
    std::filesystem::create_directories(folder_.root() / "testdata");
    std::filesystem::copy(cases + "/gitleaks-config", config(),
                          std::filesystem::copy_options::recursive);
    options_.default_rules = "default.toml";
    folder_.Write("default.toml", kPatRule);
  }
  std::filesystem::path config() const { return folder_.root() / "testdata" / "config"; }

  WorkingFolder folder_;
  RuleOptions options_;
};

TEST_F(HandedConfigs, ValidOnesLoad) {
  size_t loaded = 0;
  for (const auto& folder : {config(), config() / "valid"}) {
    for (const auto& file : TomlFiles(folder)) {
      if (file.filename().string().find("base") != std::string::npos) continue;
      auto rules = RuleSet::LoadFile(file, options_);
      EXPECT_TRUE(rules.ok()) << file << ": " << Message(rules.status());
      loaded += rules.ok();
    }
  }
  EXPECT_EQ(loaded, 6u + 25u);
}

TEST_F(HandedConfigs, InvalidOnesAreRefusedByFileRuleAndField) {
  const std::vector<std::pair<std::string, std::string>> wanted = {
      {"allowlist_global_empty", ":2: allowlists: checks nothing"},
      {"allowlist_global_old_and_new", ": allowlist: [allowlist] is the older form"},
      {"allowlist_global_regextarget", ":2: allowlists.regexTarget: 'mtach' is unknown"},
      {"allowlist_global_target_rule_id", ":6: rule github-pat: allowlists.targetRules: there is"},
      {"allowlist_rule_empty", ":4: rule example: allowlists: checks nothing"},
      {"allowlist_rule_old_and_new", ": rule example: allowlist: [rules.allowlist] is the older"},
      {"allowlist_rule_regextarget", ":5: rule example: allowlists.regexTarget: 'mtach'"},
      {"extend_invalid_base", ":4: extend.path: cannot open '../testdata/config/invalid/does_not_"},
      {"extend_invalid_ruleid", ":4: rule #1 (no id): id: missing or empty"},
      {"rule_bad_entropy_group", ":7: rule discord-api-key: secretGroup: 5 is more than the 3"},
      {"rule_missing_id", ":3: rule #1 (no id): id: missing or empty"},
      {"rule_no_regex_or_path", ":3: rule discord-api-key: regex: missing, and so is path"},
  };
  EXPECT_EQ(TomlFiles(config() / "invalid").size(), wanted.size());
  for (const auto& [name, message] : wanted) {
    const std::string file = "../testdata/config/invalid/" + name + ".toml";
    auto rules = RuleSet::LoadFile(file, options_);
    ASSERT_FALSE(rules.ok()) << file;
    EXPECT_EQ(rules.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(Message(rules.status()), StartsWith(file + ":"));
    EXPECT_THAT(Message(rules.status()), HasSubstr(message));
  }
}

TEST_F(HandedConfigs, ExtendTwoDeepKeepsAllThree) {
  auto rules = RuleSet::LoadFile("../testdata/config/valid/extend.toml", options_);
  ASSERT_TRUE(rules.ok()) << Message(rules.status());
  std::vector<std::string> ids;
  for (const RuleInfo& rule : (*rules)->rules()) ids.push_back(rule.id);
  EXPECT_THAT(ids, ElementsAre("aws-secret-key-again", "aws-access-key", "aws-secret-key"));
}

}  // namespace
}  // namespace keysieve::detect
