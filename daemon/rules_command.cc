// SPDX-License-Identifier: MIT
// Arguments to detect's answers; see rules_command.h.
#include "daemon/rules_command.h"

#include <cstdio>

#include "daemon/config/places.h"
#include "daemon/detect/rules_cli.h"
#include "evidence/base/status.h"

namespace keysieve {
namespace {

constexpr char kUsage[] =
    "usage: keysieved rules check [FILE]          warnings, counts and the digest\n"
    "       keysieved rules list [--rules FILE]   one rule a line\n"
    "       keysieved rules explain ID [--rules FILE]\n"
    "       keysieved rules test FILE [--rules FILE]   what the rules find in FILE, redacted\n";

int Wrong(const std::string& message) {
  std::fprintf(stderr, "keysieved rules: %s\n%s", message.c_str(), kUsage);
  return 2;
}

}  // namespace

int RunRulesCommand(const std::vector<std::string>& args) {
  std::string rules;
  std::vector<std::string> words;
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i] == "--help" || args[i] == "-h") {
      std::fputs(kUsage, stdout);
      return 0;
    }
    if (args[i].rfind("--rules=", 0) == 0) {
      rules = args[i].substr(8);
    } else if (args[i] == "--rules") {
      if (++i == args.size()) return Wrong("--rules needs a file");
      rules = args[i];
    } else if (args[i].rfind("-", 0) == 0) {
      return Wrong("unknown flag " + args[i]);
    } else {
      words.push_back(args[i]);
    }
  }
  if (words.empty()) return Wrong("say what to do");
  const std::string verb = words[0];
  const bool takes_word = verb == "explain" || verb == "test";
  if (verb == "check" && words.size() == 2 && rules.empty()) {
    rules = words[1];
    words.pop_back();
  }
  if (verb != "check" && verb != "list" && !takes_word) return Wrong("unknown command " + verb);
  if (words.size() != (takes_word ? 2u : 1u)) return Wrong("wrong number of arguments for " + verb);
  if (rules.empty()) rules = config::FindDefaultRules();
  if (rules.empty()) return Wrong("no rule file found; name one with --rules");
  detect::RuleOptions options;
  options.default_rules = config::FindDefaultRules();
  const auto text = verb == "check"     ? detect::CheckRules(rules, options)
                    : verb == "list"    ? detect::ListRules(rules, options)
                    : verb == "explain" ? detect::ExplainRule(rules, options, words[1])
                                        : detect::TestRules(rules, options, words[1]);
  if (!text.ok()) {
    std::fprintf(stderr, "keysieved rules: %s\n", Message(text.status()).c_str());
    return 2;
  }
  std::fputs(text->c_str(), stdout);
  return 0;
}

}  // namespace keysieve
