// SPDX-License-Identifier: MIT
// Tables on disk: what is read back is what was compiled, and a file that is anything else is
// compiled again.
#include "megakernel/tables/table_store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "evidence/base/status.h"
#include "megakernel/tables/literals.h"

namespace keysieve::megakernel {
namespace {

class TableStore : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::temp_directory_path() / Cat("keysieve-table-store-", getpid());
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directory(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  Stored Make() { return *CompileOrLoad(literals_, directory_); }
  std::string Path() { return *StoredTablePath(literals_, directory_); }
  static std::string Read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void Write(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }

  const std::vector<Literal> literals_ = {
      {"GhP_", true}, {"AKIA"}, {std::string("\0\xff", 2)}, {"k"}, {std::string(255, 'q'), true}};
  std::string directory_;
};

TEST_F(TableStore, ReadsBackWhatItCompiled) {
  const Stored first = Make();
  EXPECT_FALSE(first.from_disk);
  EXPECT_EQ(first.note, "");
  const Stored second = Make();
  EXPECT_TRUE(second.from_disk);
  EXPECT_EQ(second.table.words, first.table.words);
  EXPECT_EQ(second.table.digest, first.table.digest);
  EXPECT_EQ(second.table.words, CompileTable(literals_)->words);
  struct stat file {};
  ASSERT_EQ(stat(Path().c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600u);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_), {}), 1);
}

TEST_F(TableStore, NoDamagedFileIsBelieved) {
  const Table right = Make().table;
  const std::string whole = Read(Path());
  ASSERT_GT(whole.size(), 1000u);
  for (size_t at = 0; at < whole.size(); at += 97) {
    std::string damaged = whole;
    damaged[at] ^= 0x04;
    Write(Path(), damaged);
    const Stored stored = Make();
    ASSERT_FALSE(stored.from_disk) << "byte " << at;
    ASSERT_EQ(stored.table.words, right.words);
    ASSERT_EQ(Read(Path()), whole) << "the file is replaced";
  }
  for (size_t size : {size_t{0}, size_t{63}, size_t{64}, size_t{200}, whole.size() - 1}) {
    Write(Path(), whole.substr(0, size));
    EXPECT_FALSE(Make().from_disk) << size << " bytes";
  }
}

TEST_F(TableStore, AnotherListsFileIsNotTaken) {
  std::vector<Literal> other = literals_;
  other[1].bytes = "AKIB";
  ASSERT_TRUE(CompileOrLoad(other, directory_).ok());
  std::filesystem::copy_file(*StoredTablePath(other, directory_), Path());
  const Stored stored = Make();
  EXPECT_FALSE(stored.from_disk);
  EXPECT_EQ(stored.table.words, CompileTable(literals_)->words);
}

TEST_F(TableStore, GoesWithoutAFileWhereNoneCanBeWritten) {
  const auto nowhere = CompileOrLoad(literals_, directory_ + "/absent");
  ASSERT_TRUE(nowhere.ok());
  EXPECT_NE(nowhere->note.find("cannot write the table file"), std::string::npos);
  const auto none = CompileOrLoad(literals_, "");
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->note, "");
  EXPECT_EQ(CompileOrLoad({}, directory_).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(TableStore, LiteralsComeBackOutOfATable) {
  const std::vector<Literal> held = LiteralsOf(Make().table);
  ASSERT_EQ(held.size(), literals_.size());
  EXPECT_EQ(held[0].bytes, "ghp_");
  EXPECT_TRUE(held[0].ignore_case);
  for (size_t i = 1; i < held.size(); ++i) {
    EXPECT_EQ(held[i].bytes, literals_[i].bytes) << i;
    EXPECT_EQ(held[i].ignore_case, literals_[i].ignore_case) << i;
  }
}

}  // namespace
}  // namespace keysieve::megakernel
