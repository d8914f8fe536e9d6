// SPDX-License-Identifier: MIT
#include "daemon/scheduler/table_cache.h"

#include <gtest/gtest.h>

#include "tests/daemon/scheduler/fake_session.h"

namespace keysieve::scheduler {
namespace {

struct Bench {
  std::shared_ptr<FakeScript> script = std::make_shared<FakeScript>();
  FakeSession session{script, {.table_bytes = 4096}};  // four tables of 1,024 bytes
  TableCache cache;
  std::shared_ptr<const megakernel::Table> Table(const std::string& digest, size_t words = 256) {
    return script->AddTable(digest, {{"x", false}}, words);
  }
};

TEST(TableCache, LoadsOnceAndKeeps) {
  Bench b;
  const auto table = b.Table("a");
  const auto first = b.cache.Get(b.session, *table);
  const auto second = b.cache.Get(b.session, *table);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->id, second->id);
  MutexLock lock(b.script->mutex);
  EXPECT_EQ(b.script->tables_loaded, 1u);
}

TEST(TableCache, TheOneUnusedForLongestLeaves) {
  Bench b;
  for (const char* digest : {"a", "b", "c", "d"}) {
    ASSERT_TRUE(b.cache.Get(b.session, *b.Table(digest)).ok());
  }
  ASSERT_TRUE(b.cache.Get(b.session, *b.Table("a")).ok());  // b is the oldest now
  ASSERT_TRUE(b.cache.Get(b.session, *b.Table("e")).ok());
  EXPECT_EQ(b.cache.size(), 4u);
  ASSERT_TRUE(b.cache.Get(b.session, *b.Table("a")).ok());
  MutexLock lock(b.script->mutex);
  EXPECT_EQ(b.script->tables_loaded, 5u);
  EXPECT_EQ(b.script->tables_evicted, 1u);
}

TEST(TableCache, TablesInFlightAreNotEvicted) {
  Bench b;
  for (const char* digest : {"a", "b", "c", "d"}) {
    ASSERT_TRUE(b.cache.Get(b.session, *b.Table(digest)).ok());
    b.cache.Began(digest);
  }
  EXPECT_EQ(b.cache.Get(b.session, *b.Table("e")).status().code(), absl::StatusCode::kUnavailable);
  b.cache.Ended("c");
  EXPECT_TRUE(b.cache.Get(b.session, *b.Table("e")).ok());
}

TEST(TableCache, ATableLargerThanTheArenaIsRefused) {
  Bench b;
  ASSERT_TRUE(b.cache.Get(b.session, *b.Table("a")).ok());
  EXPECT_EQ(b.cache.Get(b.session, *b.Table("huge", 2000)).status().code(),
            absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace keysieve::scheduler
