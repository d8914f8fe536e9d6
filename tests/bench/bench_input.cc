// SPDX-License-Identifier: MIT
#include "tests/bench/bench_input.h"

#include <algorithm>
#include <fstream>

#include "evidence/base/status.h"

namespace keysieve::bench {

absl::StatusOr<std::vector<megakernel::Literal>> ReadPatterns(const std::string& path) {
  std::ifstream file(path);
  if (!file) return absl::NotFoundError(Cat("cannot read the pattern file ", path));
  std::vector<megakernel::Literal> literals;
  for (std::string line; std::getline(file, line);) {
    if (line.size() > 2 && line[1] == '\t') literals.push_back({line.substr(2), line[0] == 'i'});
  }
  return literals;
}

absl::StatusOr<std::string> ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(Cat("cannot read the text ", path));
  return std::string(std::istreambuf_iterator<char>(file), {});
}

double Percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, static_cast<size_t>(share * values.size()))];
}

double SecondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace keysieve::bench
