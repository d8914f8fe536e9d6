// SPDX-License-Identifier: MIT
// What the analysis found, turned into a route. Nothing is known of a regex that sees characters:
// it folds case beyond ASCII and its widths are not bytes.
#include "daemon/detect/rule_plan.h"

#include <algorithm>
#include <utility>

#include "daemon/detect/regex.h"
#include "daemon/detect/regex/holds.h"
#include "daemon/detect/regex/parse.h"
#include "evidence/base/status.h"

namespace keysieve::detect {
namespace {

// Shorter runs are everywhere; looking for them costs more than the regex itself.
constexpr uint64_t kMinRunBytes = 8;

std::optional<uint64_t> Limit(uint64_t bytes) {
  return bytes == regex::kUnbounded ? std::nullopt : std::optional(bytes);
}

void FillPlan(const regex::Analysis& analysis, RulePlan* plan) {
  plan->shortest = analysis.width.min;
  plan->longest = Limit(analysis.width.max);
  if (analysis.cut) {
    plan->route = Route::kLiterals;
    plan->literals = analysis.cut->literals;
    plan->before = Limit(analysis.cut->before);
    plan->after = Limit(analysis.cut->after);
    plan->hits_per_mb = analysis.cut->hits_per_mb;
  } else if (analysis.run && analysis.run->min_bytes >= kMinRunBytes) {
    plan->route = Route::kRuns;
    plan->before = Limit(analysis.run->before);
    plan->after = Limit(analysis.run->after);
    plan->run_bytes = analysis.run->min_bytes;
  } else {
    plan->route = Route::kWholeBlob;
    plan->reason = "its matches share no literal of 3 bytes or more, and no run of one class";
  }
}

}  // namespace

const char* ToString(Route route) {
  switch (route) {
    case Route::kLiterals:
      return "literals";
    case Route::kRuns:
      return "runs";
    case Route::kWholeBlob:
      return "whole blob";
    case Route::kPath:
      return "path";
  }
  return "no route";
}

PlannedRule PlanRule(const Regex& regex, const std::vector<std::string>& keywords,
                     const regex::Profile& profile) {
  PlannedRule planned;
  planned.plan.keywords = keywords;
  planned.plan.route = Route::kWholeBlob;
  if (regex.utf8()) {
    planned.plan.reason = "it names characters outside ASCII";
    return planned;
  }
  const auto ast = regex::ParseRegex(regex.pattern());
  if (!ast.ok() || ast->non_ascii) {
    planned.plan.reason =
        ast.ok() ? "it names bytes outside ASCII" : Cat("not analysed: ", Message(ast.status()));
    return planned;
  }
  planned.analysis = regex::Analyze(*ast, profile);
  FillPlan(planned.analysis, &planned.plan);
  if (planned.plan.route == Route::kWholeBlob) planned.analysis = {};
  if (!keywords.empty() && regex::EveryMatchHolds(*ast, keywords)) planned.plan.keywords.clear();
  return planned;
}

}  // namespace keysieve::detect
