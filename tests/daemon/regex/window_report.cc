// SPDX-License-Identifier: MIT
// Every regex of a rule file over real text cut into blobs: matches in windows and of whole blobs
// must be the same; prints what each way took on one thread. A tool for large texts.
//
//   window_report RULES.toml TEXT [BLOB_BYTES [MEGABYTES]]
#include <hs/hs.h>
#include <re2/re2.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>

#include "daemon/detect/regex/parse.h"
#include "daemon/detect/regex/windows.h"
#include "tests/daemon/regex/cases.h"

namespace keysieve::detect::regex {
namespace {

// CPU seconds of this thread: other load does not count.
double Now() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

struct Rule {
  std::string id;
  std::unique_ptr<RE2> re;
  Analysis analysis;
  std::unique_ptr<WindowedMatcher> matcher;
  std::vector<uint64_t> positions;  // in the blob at hand
  double window_time = 0;
};

struct Scanner {
  std::vector<std::vector<size_t>> rules_of;  // by literal
  std::vector<size_t> sizes;
  std::vector<Rule>* rules = nullptr;
  hs_database_t* database = nullptr;
  hs_scratch_t* scratch = nullptr;
};

bool Compile(std::vector<Rule>* rules, Scanner* scanner) {
  std::map<std::pair<std::string, bool>, std::vector<size_t>> literals;
  for (size_t i = 0; i < rules->size(); ++i) {
    if (!(*rules)[i].analysis.cut) continue;
    for (const auto& l : (*rules)[i].analysis.cut->literals) {
      literals[{l.bytes, l.ignore_case}].push_back(i);
    }
  }
  std::vector<const char*> bytes;
  std::vector<unsigned> flags, ids;
  for (const auto& [key, owners] : literals) {
    bytes.push_back(key.first.data());
    scanner->sizes.push_back(key.first.size());
    flags.push_back(key.second ? HS_FLAG_CASELESS : 0);
    ids.push_back(static_cast<unsigned>(ids.size()));
    scanner->rules_of.push_back(owners);
  }
  scanner->rules = rules;
  hs_compile_error_t* error = nullptr;
  return hs_compile_lit_multi(bytes.data(), flags.data(), ids.data(), scanner->sizes.data(),
                              static_cast<unsigned>(bytes.size()), HS_MODE_BLOCK, nullptr,
                              &scanner->database, &error) == HS_SUCCESS &&
         hs_alloc_scratch(scanner->database, &scanner->scratch) == HS_SUCCESS;
}

int OnHit(unsigned id, unsigned long long, unsigned long long to, unsigned, void* context) {
  Scanner& scanner = *static_cast<Scanner*>(context);
  for (const size_t rule : scanner.rules_of[id]) {
    (*scanner.rules)[rule].positions.push_back(to - scanner.sizes[id]);
  }
  return 0;
}

using Spans = std::vector<std::pair<const char*, size_t>>;

Spans Windowed(const Rule& rule, std::string_view blob) {
  Spans spans;
  auto collect = [&](std::span<const std::string_view> groups) {
    for (const auto& group : groups) spans.emplace_back(group.data(), group.size());
  };
  if (rule.analysis.cut) {
    rule.matcher->ForEachMatch(blob, rule.positions, collect);
  } else {
    rule.matcher->ForEachMatchByRuns(blob, collect);
  }
  return spans;
}

Spans Whole(const Rule& rule, std::string_view blob) {
  Spans spans;
  rule.matcher->ForEachMatchOfBlob(blob, [&](std::span<const std::string_view> groups) {
    for (const auto& group : groups) spans.emplace_back(group.data(), group.size());
  });
  return spans;
}

std::vector<Rule> LoadRules(const char* path) {
  const Profile profile = Profile::Default();
  std::vector<Rule> rules;
  for (const NamedRegex& regex : LoadRegexes(path)) {
    RE2::Options options(RE2::Latin1);
    options.set_max_mem(64 << 20);
    const auto ast = ParseRegex(regex.pattern);
    if (!ast.ok()) continue;
    Rule& rule = rules.emplace_back();
    rule.id = regex.id;
    rule.re = std::make_unique<RE2>(regex.pattern, options);
    rule.analysis = Analyze(*ast, profile);
    rule.matcher = std::make_unique<WindowedMatcher>(*rule.re, rule.analysis);
  }
  return rules;
}

int Main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: window_report RULES.toml TEXT [BLOB_BYTES [MEGABYTES]]\n");
    return 2;
  }
  std::vector<Rule> rules = LoadRules(argv[1]);
  std::ifstream file(argv[2], std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  const size_t blob_bytes = argc > 3 ? std::atoll(argv[3]) : 65536;
  if (argc > 4) text.resize(std::min<size_t>(text.size(), std::atoll(argv[4]) * 1000000));
  Scanner scanner;
  if (!Compile(&rules, &scanner)) return 1;
  double literal_time = 0, window_time = 0, whole_time = 0;
  size_t matches = 0, different = 0;
  for (size_t at = 0; at < text.size(); at += blob_bytes) {
    const std::string_view blob = std::string_view(text).substr(at, blob_bytes);
    for (Rule& rule : rules) rule.positions.clear();
    const double start = Now();
    hs_scan(scanner.database, blob.data(), static_cast<unsigned>(blob.size()), 0, scanner.scratch,
            OnHit, &scanner);
    for (Rule& rule : rules) std::sort(rule.positions.begin(), rule.positions.end());
    literal_time += Now() - start;
    for (Rule& rule : rules) {
      const double a = Now();
      const Spans windowed = Windowed(rule, blob);
      const double b = Now();
      const Spans whole = Whole(rule, blob);
      window_time += b - a;
      rule.window_time += b - a;
      whole_time += Now() - b;
      matches += whole.size() / static_cast<size_t>(rule.re->NumberOfCapturingGroups() + 1);
      if (windowed == whole) continue;
      ++different;
      std::printf("%s differs in the blob at %zu\n", rule.id.c_str(), at);
    }
  }
  std::sort(rules.begin(), rules.end(),
            [](const Rule& a, const Rule& b) { return a.window_time > b.window_time; });
  for (size_t i = 0; i < std::min<size_t>(8, rules.size()); ++i) {
    std::printf("%-32s %.3f s\n", rules[i].id.c_str(), rules[i].window_time);
  }
  std::printf(
      "%zu rules, %.1f MB in blobs of %zu: %zu matches, %zu (rule, blob) pairs differ; "
      "literals %.2f s, windows %.2f s, whole blobs %.2f s\n",
      rules.size(), static_cast<double>(text.size()) / 1e6, blob_bytes, matches, different,
      literal_time, window_time, whole_time);
  hs_free_scratch(scanner.scratch);
  hs_free_database(scanner.database);
  return different == 0 ? 0 : 1;
}

}  // namespace
}  // namespace keysieve::detect::regex

int main(int argc, char** argv) { return keysieve::detect::regex::Main(argc, argv); }
