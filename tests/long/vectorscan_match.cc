// SPDX-License-Identifier: MIT
// What Vectorscan says of a tree, in the words of `keysieve match`: a line path:start:end:literal
// for every overlapping occurrence. Shares only the oracle with the tests and nothing with the
// daemon or the client: the tree conformance check compares the two to the byte.
//
//   vectorscan_match PATTERNS PATH       PATTERNS has a line "i<TAB>literal" or "s<TAB>literal"
//   each
//
// Symbolic links, special files and .git are skipped, as the client skips them.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/conformance/vectorscan_oracle.h"

namespace {

namespace fs = std::filesystem;
using keysieve::megakernel::Literal;

std::vector<Literal> ReadPatterns(const char* path) {
  std::ifstream in(path, std::ios::binary);
  std::vector<Literal> patterns;
  for (std::string line; std::getline(in, line);) {
    if (line.size() > 2 && line[1] == '\t') patterns.push_back({line.substr(2), line[0] == 'i'});
  }
  return patterns;
}

std::vector<uint8_t> ReadFile(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::string Printable(const std::string& bytes) {
  std::string out;
  for (const unsigned char c : bytes) {
    char hex[8];
    if (c == '\\') {
      out += "\\\\";
    } else if (c >= 0x20 && c < 0x7f) {
      out += static_cast<char>(c);
    } else {
      std::snprintf(hex, sizeof(hex), "\\x%02x", c);
      out += hex;
    }
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: vectorscan_match PATTERNS PATH\n");
    return 2;
  }
  const std::vector<Literal> patterns = ReadPatterns(argv[1]);
  const keysieve::test::VectorscanOracle oracle(patterns);
  if (patterns.empty() || !oracle.error().empty()) {
    std::fprintf(stderr, "vectorscan_match: %s: %s\n", argv[1],
                 patterns.empty() ? "no pattern" : oracle.error().c_str());
    return 2;
  }
  const keysieve::test::VectorscanOracle::Scratch scratch(oracle);
  auto entry = fs::recursive_directory_iterator(argv[2]);
  for (; entry != fs::recursive_directory_iterator(); ++entry) {
    if (entry->path().filename() == ".git") {
      entry.disable_recursion_pending();
      continue;
    }
    if (entry->is_symlink() || !entry->is_regular_file()) continue;
    const std::vector<uint8_t> text = ReadFile(entry->path());
    for (const auto& hit : oracle.Matches(text, scratch)) {
      std::printf(
          "%s:%llu:%llu:%s\n", entry->path().c_str(), static_cast<unsigned long long>(hit.start),
          static_cast<unsigned long long>(hit.end), Printable(patterns[hit.pattern].bytes).c_str());
    }
  }
  return 0;
}
