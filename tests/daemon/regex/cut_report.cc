// SPDX-License-Identifier: MIT
// Measures the cuts of a rule file on real text: literals, hits per MB of each rule as estimated
// and as Vectorscan counts them, and the same for RE2's own required atoms beside them. A tool, not
// a test; its figures are for people.
//
//   cut_report RULES.toml TEXT [v]
#include <hs/hs.h>
#include <re2/filtered_re2.h>
#include <re2/re2.h>

#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "daemon/detect/regex/cuts.h"
#include "daemon/detect/regex/parse.h"
#include "tests/daemon/regex/cases.h"

namespace keysieve::detect::regex {
namespace {

using LiteralKey = std::pair<std::string, bool>;

// Occurrences of each literal in `text`, every literal's all.
std::vector<uint64_t> CountHits(const std::vector<LiteralKey>& literals, const std::string& text) {
  std::vector<const char*> bytes;
  std::vector<size_t> sizes;
  std::vector<unsigned> flags, ids;
  for (size_t i = 0; i < literals.size(); ++i) {
    bytes.push_back(literals[i].first.data());
    sizes.push_back(literals[i].first.size());
    flags.push_back(literals[i].second ? HS_FLAG_CASELESS : 0);
    ids.push_back(static_cast<unsigned>(i));
  }
  std::vector<uint64_t> counts(literals.size());
  hs_database_t* database = nullptr;
  hs_compile_error_t* error = nullptr;
  if (hs_compile_lit_multi(bytes.data(), flags.data(), ids.data(), sizes.data(),
                           static_cast<unsigned>(bytes.size()), HS_MODE_BLOCK, nullptr, &database,
                           &error) != HS_SUCCESS) {
    std::fprintf(stderr, "vectorscan: %s\n", error->message);
    return counts;
  }
  hs_scratch_t* scratch = nullptr;
  hs_alloc_scratch(database, &scratch);
  auto count = [](unsigned id, unsigned long long, unsigned long long, unsigned, void* context) {
    ++(*static_cast<std::vector<uint64_t>*>(context))[id];
    return 0;
  };
  hs_scan(database, text.data(), static_cast<unsigned>(text.size()), 0, scratch, count, &counts);
  hs_free_scratch(scratch);
  hs_free_database(database);
  return counts;
}

uint64_t Sum(const std::vector<uint64_t>& counts) {
  uint64_t sum = 0;
  for (const uint64_t count : counts) sum += count;
  return sum;
}

void ReportAtoms(const std::vector<NamedRegex>& regexes, const std::string& text) {
  re2::FilteredRE2 filter(3);
  RE2::Options options(RE2::Latin1);
  options.set_max_mem(64 << 20);
  int id = 0;
  for (const NamedRegex& regex : regexes) filter.Add(regex.pattern, options, &id);
  std::vector<std::string> atoms;
  filter.Compile(&atoms);
  std::vector<LiteralKey> literals;
  for (const std::string& atom : atoms) literals.emplace_back(atom, true);
  const uint64_t hits = Sum(CountHits(literals, text));
  std::printf("FilteredRE2: %zu literals, %.0f hits per MB\n", atoms.size(),
              static_cast<double>(hits) / (static_cast<double>(text.size()) / 1e6));
}

struct Row {
  NamedRegex regex;
  Analysis analysis;
};

void ReportRow(const Row& row, const std::map<LiteralKey, uint64_t>& hits, double mb) {
  uint64_t measured = 0;
  std::string shown;
  for (const megakernel::Literal& literal : row.analysis.cut->literals) {
    measured += hits.at({literal.bytes, literal.ignore_case});
    if (shown.size() < 80) shown += " " + literal.bytes + (literal.ignore_case ? "/i" : "");
  }
  std::printf("%-40s %4zu est %9.3f is %9.3f  -%" PRId64 " +%" PRId64 " %s\n", row.regex.id.c_str(),
              row.analysis.cut->literals.size(), row.analysis.cut->hits_per_mb,
              static_cast<double>(measured) / mb, static_cast<int64_t>(row.analysis.cut->before),
              static_cast<int64_t>(row.analysis.cut->after), shown.c_str());
}

void ReportWithout(const Row& row) {
  std::printf("no literal: %s", row.regex.id.c_str());
  if (row.analysis.run) {
    std::printf(", run of %" PRIu64 " of a class of %zu bytes", row.analysis.run->min_bytes,
                row.analysis.run->set.count());
  }
  std::printf("\n");
}

int Main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: cut_report RULES.toml TEXT [v]\n");
    return 2;
  }
  const std::vector<NamedRegex> regexes = LoadRegexes(argv[1]);
  std::ifstream file(argv[2], std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const double mb = static_cast<double>(text.size()) / 1e6;
  const Profile profile = Profile::Default();
  std::vector<Row> rows;
  std::map<LiteralKey, uint64_t> hits;
  uint64_t pairs = 0;
  for (const NamedRegex& regex : regexes) {
    const auto ast = ParseRegex(regex.pattern);
    if (!ast.ok()) continue;
    rows.push_back({regex, Analyze(*ast, profile)});
    if (!rows.back().analysis.cut) continue;
    for (const auto& l : rows.back().analysis.cut->literals) hits[{l.bytes, l.ignore_case}] = 0;
  }
  std::vector<LiteralKey> literals;
  for (const auto& [key, count] : hits) literals.push_back(key);
  const std::vector<uint64_t> counts = CountHits(literals, text);
  for (size_t i = 0; i < literals.size(); ++i) hits[literals[i]] = counts[i];
  for (const Row& row : rows) {
    if (!row.analysis.cut) {
      ReportWithout(row);
      continue;
    }
    if (argc > 3) ReportRow(row, hits, mb);
    for (const auto& l : row.analysis.cut->literals) pairs += hits[{l.bytes, l.ignore_case}];
  }
  std::printf(
      "cuts: %zu of %zu rules, %zu literals, %.0f hits per MB, %.0f (rule, hit) pairs per MB\n",
      rows.size(), regexes.size(), literals.size(), static_cast<double>(Sum(counts)) / mb,
      static_cast<double>(pairs) / mb);
  ReportAtoms(regexes, text);
  return 0;
}

}  // namespace
}  // namespace keysieve::detect::regex

int main(int argc, char** argv) { return keysieve::detect::regex::Main(argc, argv); }
