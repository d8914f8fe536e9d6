// SPDX-License-Identifier: MIT
// Writes profile.inc from source text: counts what profile.h names over the text files below some
// folders, no more than a fixed number of bytes of each file name extension so that no language
// drowns the others. Same files, same output. Not part of any build by default.
//
//   make_profile FOLDER... > daemon/detect/regex/profile.inc
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "daemon/detect/regex/profile.h"

namespace keysieve::detect::regex {
namespace {

constexpr size_t kBytesPerExtension = 6 << 20;
constexpr size_t kBytesPerFile = 256 << 10;
constexpr size_t kLine = 96;

struct Counts {
  std::vector<double> trigram = std::vector<double>(kByteClasses * kByteClasses * kByteClasses);
  std::vector<double> cases = std::vector<double>(kCaseClasses * kCaseClasses * kCaseClasses);
  std::vector<double> bytes = std::vector<double>(256);
  double total = 0;
};

void Count(const std::string& text, Counts* counts) {
  int a = 0, b = 0, x = 0, y = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const uint8_t byte = static_cast<uint8_t>(text[i]);
    const int c = ByteClass(byte), z = CaseClass(byte);
    if (i >= 2) {
      counts->trigram[(a * kByteClasses + b) * kByteClasses + c] += 1;
      counts->cases[(x * kCaseClasses + y) * kCaseClasses + z] += 1;
    }
    counts->bytes[byte] += 1;
    a = b, b = c, x = y, y = z;
  }
  counts->total += static_cast<double>(text.size());
}

std::vector<std::filesystem::path> SortedFiles(int argc, char** argv) {
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[i])) {
      if (entry.is_regular_file() && !entry.is_symlink()) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

// The levels of `counts`; what never occurred is given half an occurrence.
std::string Levels(const std::vector<double>& counts, double total) {
  std::string levels;
  for (const double count : counts) levels += EncodeRate(std::max(count, 0.5) / total);
  return levels;
}

void Print(const char* name, const std::string& levels) {
  std::printf("inline constexpr char %s[] =", name);
  for (size_t i = 0; i < levels.size(); i += kLine) {
    std::string line;
    for (const char c : levels.substr(i, kLine)) line += c == '\\' ? "\\\\" : std::string(1, c);
    std::printf("\n    \"%s\"", line.c_str());
  }
  std::printf(";\n");
}

int Main(int argc, char** argv) {
  Counts counts;
  std::map<std::string, size_t> taken;
  for (const std::filesystem::path& path : SortedFiles(argc, argv)) {
    size_t& used = taken[path.extension().string()];
    if (used >= kBytesPerExtension) continue;
    std::ifstream file(path, std::ios::binary);
    std::string text(std::istreambuf_iterator<char>(file), {});
    text.resize(std::min({text.size(), kBytesPerFile, kBytesPerExtension - used}));
    if (text.find('\0') != std::string::npos) continue;
    used += text.size();
    Count(text, &counts);
  }
  if (counts.total == 0) {
    std::fprintf(stderr, "make_profile: no text file below the folders given\n");
    return 1;
  }
  std::printf("// SPDX-License-Identifier: MIT\n// Made by make_profile from %.1f MB of text;",
              counts.total / 1e6);
  std::printf(" a level a rate, see profile.h. Do not edit.\n");
  Print("kTrigramLevels", Levels(counts.trigram, counts.total));
  Print("kCaseLevels", Levels(counts.cases, counts.total));
  Print("kByteLevels", Levels(counts.bytes, counts.total));
  for (const auto& [extension, bytes] : taken) {
    if (bytes > 200000) std::fprintf(stderr, "%s %zu\n", extension.c_str(), bytes);
  }
  return 0;
}

}  // namespace
}  // namespace keysieve::detect::regex

int main(int argc, char** argv) { return keysieve::detect::regex::Main(argc, argv); }
