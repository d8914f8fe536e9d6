// SPDX-License-Identifier: MIT
// Windows of real rules: every regex of the handed rule file over the handed vectors, joined into
// one blob with other text between them, against RE2 over the same blob.
#include <gtest/gtest.h>
#include <re2/re2.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "daemon/detect/regex/parse.h"
#include "daemon/detect/regex/windows.h"
#include "evidence/base/status.h"
#include "tests/daemon/regex/cases.h"

namespace keysieve::detect::regex {
namespace {

std::string JoinedVectors(const std::string& path) {
  std::ifstream file(path);
  std::string blob, line;
  while (std::getline(file, line)) {
    const auto vector = nlohmann::json::parse(line, nullptr, false);
    if (vector.is_discarded()) continue;
    blob += vector.value("text", std::string()) + "\nint main() { return 0; }  // the next one\n";
  }
  return blob;
}

std::string Lower(std::string text) {
  for (char& c : text) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
  return text;
}

// Where the cut's literals begin; `lower` is `blob` in lower case.
std::vector<uint64_t> HitsOf(const Cut& cut, const std::string& blob, const std::string& lower) {
  std::vector<uint64_t> hits;
  for (const auto& literal : cut.literals) {
    const std::string& text = literal.ignore_case ? lower : blob;
    for (size_t at = 0; (at = text.find(literal.bytes, at)) != std::string::npos; ++at) {
      hits.push_back(at);
    }
  }
  std::sort(hits.begin(), hits.end());
  return hits;
}

using Spans = std::vector<std::pair<const char*, size_t>>;

TEST(Windows, GiveTheWholeBlobsMatchesForEveryGitleaksRegexOnItsVectors) {
  const std::string path = GitleaksPath();
  if (path.empty()) GTEST_SKIP() << "KEYSIEVE_SHARED_CASES is unset";
  const std::string blob =
      JoinedVectors(path.substr(0, path.rfind('/')) + "/gitleaks-vectors.jsonl");
  ASSERT_GT(blob.size(), 100000u);
  const std::string lower = Lower(blob);
  const Profile profile = Profile::Default();
  size_t matches = 0;
  for (const NamedRegex& regex : LoadRegexes(path)) {
    RE2::Options options(RE2::Latin1);
    options.set_max_mem(64 << 20);
    const RE2 re(regex.pattern, options);
    const auto ast = ParseRegex(regex.pattern);
    ASSERT_TRUE(re.ok() && ast.ok()) << regex.id;
    const Analysis analysis = Analyze(*ast, profile);
    Spans whole, windowed;
    auto collect_to = [](Spans* spans) {
      return [spans](std::span<const std::string_view> groups) {
        for (const auto& group : groups) spans->emplace_back(group.data(), group.size());
      };
    };
    const WindowedMatcher matcher(re, analysis);
    matcher.ForEachMatchOfBlob(blob, collect_to(&whole));
    if (analysis.cut) {
      matcher.ForEachMatch(blob, HitsOf(*analysis.cut, blob, lower), collect_to(&windowed));
    } else {
      matcher.ForEachMatchByRuns(blob, collect_to(&windowed));
    }
    EXPECT_EQ(whole, windowed) << regex.id;
    matches += whole.size();
  }
  EXPECT_GT(matches, 1000u);
}

}  // namespace
}  // namespace keysieve::detect::regex
