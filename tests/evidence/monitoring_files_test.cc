// SPDX-License-Identifier: MIT
// The files an operator deploys: Prometheus' own tool accepts them, every alert has a unit test
// that fires it, and no expression names a metric that is not in docs/metrics.md.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/evidence/promtool.h"

namespace keysieve::evidence {
namespace {

const std::string kRoot = KS_SOURCE_DIR;
const std::string kRules = kRoot + "/deploy/prometheus/rules/";
const std::string kUnitTests = kRoot + "/tests/evidence/prometheus/";
const std::string kDashboard = kRoot + "/deploy/grafana/keysieve.json";

std::string Slurp(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// True if `promtool arguments` succeeds; its output is shown if not.
bool Promtool(const std::string& arguments) {
  const PromtoolResult result = RunPromtool(arguments);
  if (!result.ok) std::cerr << result.output;
  return result.ok;
}

// Values of the lines that hold `key: value`, also `{key: value,` within a line.
std::vector<std::string> Values(const std::string& text, const std::string& key) {
  std::vector<std::string> values;
  for (std::size_t at = text.find(key + ": "); at != std::string::npos;
       at = text.find(key + ": ", at + 1)) {
    const std::size_t begin = at + key.size() + 2;
    values.push_back(text.substr(begin, text.find_first_of(",}\n", begin) - begin));
  }
  return values;
}

// Expressions of a rule file: the rest of an `expr:` line, or the deeper lines after `expr: >-`.
std::vector<std::string> RuleExpressions(const std::string& text) {
  std::vector<std::string> expressions;
  std::istringstream lines(text);
  std::string line;
  std::size_t folded = std::string::npos;  // indentation of the open `expr: >-`
  while (std::getline(lines, line)) {
    const std::size_t indent = line.find_first_not_of(' ');
    const std::size_t expr = line.find("expr: ");
    if (expr != std::string::npos) {
      const std::string rest = line.substr(expr + 6);
      folded = rest == ">-" ? indent : std::string::npos;
      expressions.push_back(rest == ">-" ? "" : rest);
    } else if (folded != std::string::npos && indent != std::string::npos && indent > folded) {
      expressions.back() += line.substr(indent) + " ";
    } else {
      folded = std::string::npos;
    }
  }
  return expressions;
}

std::vector<std::string> DashboardExpressions() {
  std::vector<std::string> expressions;
  const nlohmann::json dashboard = nlohmann::json::parse(Slurp(kDashboard));
  for (const auto& panel : dashboard.at("panels")) {
    if (panel.at("type") == "row") continue;
    EXPECT_FALSE(panel.at("targets").empty()) << panel.at("title");
    for (const auto& target : panel.at("targets")) expressions.push_back(target.at("expr"));
  }
  return expressions;
}

// `text` without what stands between `open` and `close`, for the forms an expression nests once.
std::string Without(std::string text, char open, char close) {
  for (std::size_t begin = text.find(open); begin != std::string::npos; begin = text.find(open)) {
    const std::size_t end = text.find(close, begin + 1);
    if (end == std::string::npos) return text.substr(0, begin);
    text.erase(begin, end - begin + 1);
  }
  return text;
}

bool IsWordByte(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == ':';
}

// Names in an expression that are neither PromQL's words nor labels: metrics, if all is well.
std::set<std::string> MetricsIn(std::string expression) {
  static const std::set<std::string> kLanguage = {"sum",
                                                  "min",
                                                  "max",
                                                  "count",
                                                  "topk",
                                                  "rate",
                                                  "increase",
                                                  "deriv",
                                                  "absent",
                                                  "min_over_time",
                                                  "histogram_quantile",
                                                  "and",
                                                  "or",
                                                  "unless",
                                                  "offset"};
  static const std::set<std::string> kListsLabels = {"by", "on", "without", "ignoring"};
  expression = Without(Without(Without(expression, '"', '"'), '{', '}'), '[', ']');
  std::set<std::string> names;
  for (std::size_t at = 0; at < expression.size();) {
    if (!IsWordByte(expression[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < expression.size() && IsWordByte(expression[end])) ++end;
    const std::string word = expression.substr(at, end - at);
    at = kListsLabels.contains(word) ? expression.find(')', end) : end;
    const bool number = std::isdigit(static_cast<unsigned char>(word[0])) != 0;
    if (!number && !kLanguage.contains(word) && !kListsLabels.contains(word)) names.insert(word);
  }
  return names;
}

// Metric names in backticks in docs/metrics.md, the series of histograms, recorded rules, and `up`.
std::set<std::string> KnownMetrics() {
  std::set<std::string> known = {"up"};
  std::istringstream page(Slurp(kRoot + "/docs/metrics.md"));
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("| `")) continue;
    const std::string name = line.substr(3, line.find('`', 3) - 3);
    known.insert(name);
    if (name.ends_with("_seconds")) {
      for (const char* suffix : {"_bucket", "_sum", "_count"}) known.insert(name + suffix);
    }
  }
  for (const std::string& name : Values(Slurp(kRules + "keysieve_recording.yml"), "record")) {
    known.insert(name);
  }
  return known;
}

void ExpectKnown(const std::vector<std::string>& expressions) {
  const std::set<std::string> known = KnownMetrics();
  ASSERT_FALSE(expressions.empty());
  for (const std::string& expression : expressions) {
    const std::set<std::string> names = MetricsIn(expression);
    EXPECT_FALSE(names.empty()) << expression;
    for (const std::string& name : names) {
      EXPECT_TRUE(known.contains(name)) << name << " in " << expression;
    }
  }
}

TEST(MonitoringFiles, PromtoolAcceptsConfigurationAndRules) {
  if (!HavePromtool()) GTEST_SKIP() << kNoPromtool;
  EXPECT_TRUE(Promtool("check config " + kRoot + "/deploy/prometheus/prometheus.yml"));
  EXPECT_TRUE(Promtool("check rules " + kRules + "*.yml"));
}

TEST(MonitoringFiles, AlertsFireOnTheirCauseAndAreSilentWithoutIt) {
  if (!HavePromtool()) GTEST_SKIP() << kNoPromtool;
  EXPECT_TRUE(Promtool("test rules " + kUnitTests + "*.yml"));
}

TEST(MonitoringFiles, EveryAlertHasAUnitTestThatFiresIt) {
  const std::string tests =
      Slurp(kUnitTests + "service_alerts_test.yml") + Slurp(kUnitTests + "device_alerts_test.yml");
  const auto alerts = Values(Slurp(kRules + "keysieve_alerts.yml"), "- alert");
  EXPECT_EQ(alerts.size(), 14u);
  for (const std::string& alert : alerts) {
    EXPECT_NE(tests.find("alertname: " + alert + "\n        exp_alerts:\n          - exp_labels"),
              std::string::npos)
        << alert;
  }
}

TEST(MonitoringFiles, RulesNameOnlyDocumentedMetrics) {
  ExpectKnown(RuleExpressions(Slurp(kRules + "keysieve_recording.yml")));
  ExpectKnown(RuleExpressions(Slurp(kRules + "keysieve_alerts.yml")));
}

TEST(MonitoringFiles, TheDashboardNamesOnlyDocumentedMetrics) {
  ExpectKnown(DashboardExpressions());
}

TEST(MonitoringFiles, TheCheckOfNamesSeesThroughAnExpression) {
  EXPECT_EQ(MetricsIn("histogram_quantile(0.99, sum by (job, le) (rate(a_bucket{x=\"b{\"}[5m]))) > "
                      "1.5 * (c:d offset 6h) and on (job) e == 0"),
            (std::set<std::string>{"a_bucket", "c:d", "e"}));
}

// promtool parses what a rule file says; a dashboard's expressions are made into one.
TEST(MonitoringFiles, TheDashboardsExpressionsParse) {
  if (!HavePromtool()) GTEST_SKIP() << kNoPromtool;
  nlohmann::json rules = nlohmann::json::array();
  for (std::string expression : DashboardExpressions()) {
    for (std::size_t at; (at = expression.find("$__rate_interval")) != std::string::npos;) {
      expression.replace(at, 16, "1m");
    }
    rules.push_back({{"record", "panel:" + std::to_string(rules.size())}, {"expr", expression}});
  }
  const nlohmann::json file = {{"groups", {{{"name", "dashboard"}, {"rules", rules}}}}};
  const std::string path = (std::filesystem::temp_directory_path() /
                            ("ks_dashboard_" + std::to_string(getpid()) + ".yml"))
                               .string();
  std::ofstream(path) << file;  // JSON is YAML
  EXPECT_TRUE(Promtool("check rules " + path));
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace keysieve::evidence
