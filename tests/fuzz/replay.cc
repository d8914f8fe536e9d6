// SPDX-License-Identifier: MIT
// Runs a fuzz target over every file of a folder, and over mutations of each that are the same in
// every run: cut short, a byte changed, two files joined.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz.h"

namespace {

constexpr int kMutationsPerSeed = 150;

void Run(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

std::string Mutated(const std::vector<std::string>& seeds, size_t of, std::mt19937_64& random) {
  std::string input = seeds[of];
  for (uint64_t n = 1 + random() % 4; n > 0 && !input.empty(); --n) {
    const size_t at = random() % input.size();
    switch (random() % 5) {
      case 0:
        input.resize(at);
        break;
      case 1:
        input[at] = static_cast<char>(random());
        break;
      case 2:
        input.insert(at, 1, input[random() % input.size()]);
        break;
      case 3:
        input.erase(at, 1 + random() % 8);
        break;
      default: {
        const std::string& other = seeds[random() % seeds.size()];
        input.insert(at, other.substr(random() % (other.size() + 1), random() % 64));
      }
    }
  }
  return input;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: " << argv[0] << " SEED_FOLDER\n";
    return 2;
  }
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) files.push_back(entry);
  std::sort(files.begin(), files.end());
  std::vector<std::string> seeds;
  for (const auto& file : files) {
    std::stringstream text;
    text << std::ifstream(file, std::ios::binary).rdbuf();
    seeds.push_back(text.str());
  }
  if (seeds.empty()) {
    std::cerr << argv[1] << " has no seeds\n";
    return 2;
  }
  std::mt19937_64 random(1);
  Run("");
  for (size_t i = 0; i < seeds.size(); ++i) {
    Run(seeds[i]);
    for (int n = 0; n < kMutationsPerSeed; ++n) Run(Mutated(seeds, i, random));
  }
  std::cout << seeds.size() << " seeds, " << seeds.size() * kMutationsPerSeed << " mutations\n";
  return 0;
}
