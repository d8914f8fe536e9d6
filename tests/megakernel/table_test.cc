// SPDX-License-Identifier: MIT
// Tables as data: what is refused, what is fixed, and that no damaged image passes the validator
// and then reads out of bounds.
#include "megakernel/table.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "megakernel/table_layout.inl"
#include "tests/megakernel/direct_scan.h"
#include "tests/megakernel/naive_matcher.h"

namespace keysieve::megakernel {
namespace {

using test::Bytes;
using test::NaiveMatches;

TEST(Table, RefusesWhatItCannotHold) {
  EXPECT_EQ(CompileTable({}).status().code(), absl::StatusCode::kInvalidArgument);
  const std::vector<Literal> empty = {{"good"}, {""}};
  const auto refused = CompileTable(empty);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(std::string(refused.status().message()).find("literal 1"), std::string::npos);
  EXPECT_FALSE(CompileTable(std::vector<Literal>{{std::string(256, 'a')}}).ok());
  EXPECT_TRUE(CompileTable(std::vector<Literal>{{std::string(255, 'a')}}).ok());
  EXPECT_FALSE(CompileTable(std::vector<Literal>(kMaxLiterals + 1, Literal{"abcd"})).ok());
}

TEST(Table, HoldsAsManyLiteralsAsPromised) {
  std::vector<Literal> literals;
  for (uint32_t i = 0; i < kMaxLiterals; ++i) {
    literals.push_back({std::to_string(i * 2654435761u) + "-key", i % 3 == 0});
  }
  const auto table = CompileTable(literals);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->literal_count, kMaxLiterals);
  EXPECT_TRUE(ValidateTable(table->words).ok());
}

TEST(Table, IsTheSameForTheSameLiterals) {
  const std::vector<Literal> literals = {{"AKIA"}, {"ghp_", true}, {"xy"}, {"abc"}, {"AKIA"}};
  const auto one = CompileTable(literals);
  const auto two = CompileTable(literals);
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ(one->words, two->words);
  EXPECT_EQ(one->digest, two->digest);
  EXPECT_EQ(one->digest.size(), 64u);
  EXPECT_EQ(one->max_literal_bytes, 4u);
  const auto other = CompileTable(std::vector<Literal>{{"AKIA"}});
  ASSERT_TRUE(other.ok());
  EXPECT_NE(other->digest, one->digest);
}

TEST(Table, SurvivesTheRoundTripThroughItsWords) {
  const auto table = CompileTable(std::vector<Literal>{{"secret", true}, {"token"}});
  ASSERT_TRUE(table.ok());
  const auto again = ValidateTable(table->words);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->digest, table->digest);
  EXPECT_EQ(again->literal_count, 2u);
  EXPECT_EQ(again->max_literal_bytes, 6u);
}

TEST(Table, DumpsOneLineALiteral) {
  const auto table =
      CompileTable(std::vector<Literal>{{"SeCret", true}, {std::string("a\0\\\xff", 4)}, {"Z"}});
  ASSERT_TRUE(table.ok());
  const std::string dump = DumpTable(*table);
  EXPECT_NE(dump.find("digest " + table->digest + "\n"), std::string::npos);
  EXPECT_NE(dump.find("literals 3\n"), std::string::npos);
  EXPECT_NE(dump.find("0 i secret\n"), std::string::npos);
  EXPECT_NE(dump.find("1 s a\\x00\\\\\\xff\n"), std::string::npos);
  EXPECT_NE(dump.find("2 s Z\n"), std::string::npos);
}

TEST(TableValidator, RefusesCutShortAndForeignImages) {
  const auto table = CompileTable(std::vector<Literal>{{"secret"}});
  ASSERT_TRUE(table.ok());
  EXPECT_FALSE(ValidateTable({}).ok());
  std::vector<uint32_t> words = table->words;
  words.pop_back();
  EXPECT_FALSE(ValidateTable(words).ok());
  for (uint32_t at : {KS_TABLE_MAGIC_AT, KS_TABLE_VERSION_AT, KS_TABLE_WORDS_AT}) {
    words = table->words;
    ++words[at];
    EXPECT_FALSE(ValidateTable(words).ok()) << at;
  }
}

// Whatever passes may match nonsense, but only inside its own words: the sanitizers watch.
TEST(TableValidator, LetsNothingThroughThatReadsOutOfBounds) {
  std::mt19937 random(11);
  std::vector<Literal> literals = {{"a"}, {"bc", true}, {"key"}, {"secret", true}, {"token="}};
  for (int i = 0; i < 40; ++i) literals.push_back({"lit" + std::to_string(random()), i % 2 == 0});
  const auto table = CompileTable(literals);
  ASSERT_TRUE(table.ok());
  std::string text;
  for (int i = 0; i < 300; ++i) text += literals[random() % literals.size()].bytes;
  int passed = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<uint32_t> words = table->words;
    const int flips = 1 + static_cast<int>(random() % 3);
    for (int i = 0; i < flips; ++i) {
      // Half of the damage goes where it hurts most.
      const size_t at = random() % 2 ? random() % KS_TABLE_HEADER_WORDS : random() % words.size();
      words[at] = random() % 2 ? words[at] ^ 1u << random() % 32 : static_cast<uint32_t>(random());
    }
    const auto damaged = ValidateTable(words);
    if (!damaged.ok()) continue;
    ++passed;
    test::ScanDirectly(*damaged, Bytes(text));
  }
  EXPECT_GT(passed, 0);
}

TEST(Table, FindsWhatANaiveMatcherFinds) {
  std::mt19937 random(5);
  const std::string alphabet = "abAB01_\n";
  for (int round = 0; round < 200; ++round) {
    std::vector<Literal> literals(1 + random() % 40);
    for (Literal& literal : literals) {
      const size_t length = 1 + random() % (random() % 4 == 0 ? 40 : 6);
      for (size_t i = 0; i < length; ++i) literal.bytes += alphabet[random() % alphabet.size()];
      literal.ignore_case = random() % 2;
    }
    std::string text;
    while (text.size() < random() % 3000) {
      if (random() % 3 == 0) {
        text += literals[random() % literals.size()].bytes;
      } else {
        text += alphabet[random() % alphabet.size()];
      }
    }
    const auto table = CompileTable(literals);
    ASSERT_TRUE(table.ok());
    ASSERT_EQ(test::ScanDirectly(*table, Bytes(text)), NaiveMatches(literals, Bytes(text)))
        << "round " << round;
  }
}

TEST(Table, FindsEveryByteValue) {
  std::vector<Literal> literals;
  for (int b = 0; b < 256; ++b) {
    for (size_t length : {1u, 2u, 3u, 4u, 7u}) {
      literals.push_back({std::string(length, static_cast<char>(b)), b % 2 == 0});
    }
  }
  std::string text;
  for (int b = 0; b < 256; ++b) text += std::string(9, static_cast<char>(b));
  const auto table = CompileTable(literals);
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(test::ScanDirectly(*table, Bytes(text)), NaiveMatches(literals, Bytes(text)));
}

}  // namespace
}  // namespace keysieve::megakernel
