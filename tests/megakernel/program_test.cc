// SPDX-License-Identifier: MIT
// The device program as an interpreter, run on the host over hand-made rings: what it does with
// each opcode and state, and that nothing in a ring makes it read or write outside its bindings.
#include <gtest/gtest.h>

#include <random>

#include "megakernel/table_layout.inl"
#include "tests/megakernel/direct_scan.h"
#include "tests/megakernel/naive_matcher.h"

namespace keysieve::megakernel {
namespace {

using test::Bytes;
using test::DirectEpoch;

class Program : public testing::Test {
 protected:
  static Table KeyTable() { return *CompileTable(std::vector<Literal>{{"key"}, {"k"}}); }
  static Slot Make(uint32_t opcode, uint32_t arg0 = 0, uint32_t arg1 = 0, uint32_t arg2 = 0) {
    Slot slot;
    slot.status = KS_STATE_PUBLISHED;
    slot.opcode = opcode;
    slot.begin = arg0;
    slot.end = arg1;
    slot.readable = arg2;
    return slot;
  }

  const std::string text_ = "a key, two keys";
  const Table table_ = KeyTable();
  DirectEpoch epoch_{4, 3, Bytes(text_), table_.words, 100};
};

TEST_F(Program, ScansAPublishedSlotAndCountsExactly) {
  epoch_.Publish(0, epoch_.ScanSlot());
  epoch_.Run();
  const Slot done = epoch_.slot(0);
  EXPECT_EQ(done.status, KS_STATE_DONE);
  EXPECT_EQ(done.hits, 4u);
  EXPECT_EQ(done.spilled, 0u);
  EXPECT_EQ(epoch_.control_at(KS_CTL_HITS), 4u);
  EXPECT_EQ(epoch_.control_at(KS_CTL_DONE), 1u);
  EXPECT_EQ(epoch_.control_at(KS_CTL_EPOCH), 7u);
  EXPECT_EQ(epoch_.control_at(KS_CTL_OBSERVABLES_AT + KS_OP_SCAN), 1u);
  EXPECT_EQ(epoch_.control_at(KS_CTL_OBSERVABLES_AT + KS_OBS_BYTES), text_.size());
  EXPECT_EQ(epoch_.control_at(epoch_.served_at(0)), text_.size());
}

TEST_F(Program, OwnsStartsAndReadsBeyond) {
  Slot slot = epoch_.ScanSlot();
  slot.begin = KS_TEXT_LEAD + 2;  // the first "key"
  slot.end = slot.begin + 1;
  epoch_.Publish(0, slot);
  epoch_.Run();
  EXPECT_EQ(epoch_.slot(0).hits, 2u);  // "key" and "k", both at its first byte
  EXPECT_EQ(epoch_.hits()[0].position, slot.begin);
}

TEST_F(Program, DoesNotReadPastTheReadableRange) {
  Slot slot = epoch_.ScanSlot();
  slot.end = slot.readable = KS_TEXT_LEAD + 4;  // "a ke"
  epoch_.Publish(0, slot);
  epoch_.Run();
  EXPECT_EQ(epoch_.slot(0).hits, 1u);  // only "k"
}

TEST_F(Program, CountsOnWhenTheQueueIsFull) {
  DirectEpoch small(1, 1, Bytes(text_), table_.words, 1);
  small.Publish(0, small.ScanSlot());
  small.Run();
  EXPECT_EQ(small.control_at(KS_CTL_HITS), 4u);
  EXPECT_EQ(small.slot(0).hits, 4u);
  EXPECT_EQ(small.slot(0).spilled, 3u);
  EXPECT_EQ(small.hits().size(), 1u);
}

TEST_F(Program, WrapsPastTheRingsEnd) {
  epoch_.first = 3;
  epoch_.count = 2;
  epoch_.Publish(3, epoch_.ScanSlot());
  epoch_.Publish(0, Make(KS_OP_NOOP));
  epoch_.Run();
  EXPECT_EQ(epoch_.slot(3).status, KS_STATE_DONE);
  EXPECT_EQ(epoch_.slot(0).status, KS_STATE_DONE);
  EXPECT_EQ(epoch_.hits()[0].slot(), 3u);
}

TEST_F(Program, FaultsAnUnknownOpcodeAndSaysSo) {
  epoch_.count = 3;
  epoch_.Publish(0, Make(99));
  epoch_.Publish(1, Make(KS_OP_CONFIRM));
  epoch_.Publish(2, epoch_.ScanSlot());
  epoch_.Run();
  EXPECT_EQ(epoch_.slot(0).status, KS_STATE_FAULT);
  EXPECT_EQ(epoch_.slot(1).status, KS_STATE_FAULT);
  EXPECT_EQ(epoch_.slot(2).status, KS_STATE_DONE);
  EXPECT_EQ(epoch_.control_at(KS_CTL_FAULTS), 2u);
  EXPECT_EQ(epoch_.control_at(KS_CTL_OBSERVABLES_AT + KS_OBS_UNKNOWN), 1u);
  ASSERT_EQ(epoch_.log().size(), 2u);
  EXPECT_EQ(epoch_.log()[0].code, KS_CODE_UNKNOWN_OPCODE);
  EXPECT_EQ(epoch_.log()[0].arg0, 99u);
}

TEST_F(Program, SkipsWhatIsNotPublished) {
  Slot slot = epoch_.ScanSlot();
  slot.status = KS_STATE_EMPTY;
  epoch_.Publish(0, slot);
  epoch_.Run();
  EXPECT_EQ(epoch_.slot(0).status, KS_STATE_EMPTY);
  EXPECT_EQ(epoch_.control_at(KS_CTL_DONE), 0u);
}

TEST_F(Program, FaultsAStaleTableAForeignTenantAndABadRange) {
  epoch_.count = 4;
  Slot stale = epoch_.ScanSlot();
  stale.generation = 2;
  Slot tenant = epoch_.ScanSlot();
  tenant.tenant = 3;
  Slot range = epoch_.ScanSlot();
  range.readable += 1;
  Slot before = epoch_.ScanSlot();
  before.begin = 0;
  epoch_.Publish(0, stale);
  epoch_.Publish(1, tenant);
  epoch_.Publish(2, range);
  epoch_.Publish(3, before);
  epoch_.Run();
  for (uint32_t i = 0; i < 4; ++i) EXPECT_EQ(epoch_.slot(i).status, KS_STATE_FAULT) << i;
  ASSERT_EQ(epoch_.log().size(), 4u);
  EXPECT_EQ(epoch_.log()[0].code, KS_CODE_STALE_TABLE);
  EXPECT_EQ(epoch_.log()[1].code, KS_CODE_BAD_TENANT);
  EXPECT_EQ(epoch_.log()[2].code, KS_CODE_BAD_RANGE);
  EXPECT_EQ(epoch_.control_at(KS_CTL_HITS), 0u);
}

TEST_F(Program, YieldsWhatTheTenantsMaskForbids) {
  epoch_.control[epoch_.mask_at(0)] = ~(1u << KS_OP_SCAN);
  epoch_.Publish(0, epoch_.ScanSlot());
  epoch_.Run();
  EXPECT_EQ(epoch_.slot(0).status, KS_STATE_YIELDED);
  EXPECT_EQ(epoch_.control_at(epoch_.served_at(0)), 0u);
}

TEST_F(Program, RequeuesWhatIsPastTheTenantsQuota) {
  epoch_.control[epoch_.quota_at(0)] = 1;
  epoch_.count = 3;
  Slot other = epoch_.ScanSlot();
  other.tenant = 1;
  epoch_.Publish(0, epoch_.ScanSlot());
  epoch_.Publish(1, epoch_.ScanSlot());
  epoch_.Publish(2, other);
  epoch_.Run();
  EXPECT_EQ(epoch_.slot(0).status, KS_STATE_DONE);
  EXPECT_EQ(epoch_.slot(1).status, KS_STATE_REQUEUE);
  EXPECT_EQ(epoch_.slot(2).status, KS_STATE_DONE);
  EXPECT_EQ(epoch_.control_at(epoch_.served_at(0)), text_.size());
}

TEST_F(Program, FenceWritesOnlyFreeObservables) {
  epoch_.count = 3;
  epoch_.Publish(0, Make(KS_OP_FENCE, KS_OBS_FREE_AT, 42));
  epoch_.Publish(1, Make(KS_OP_FENCE, KS_CTL_OBSERVABLES, 43));
  epoch_.Publish(2, Make(KS_OP_FENCE, KS_OBS_BYTES, 44));
  epoch_.Run();
  EXPECT_EQ(epoch_.slot(0).status, KS_STATE_DONE);
  EXPECT_EQ(epoch_.control_at(KS_CTL_OBSERVABLES_AT + KS_OBS_FREE_AT), 42u);
  EXPECT_EQ(epoch_.slot(1).status, KS_STATE_FAULT);
  EXPECT_EQ(epoch_.slot(2).status, KS_STATE_FAULT);
  EXPECT_EQ(epoch_.control_at(KS_CTL_OBSERVABLES_AT + KS_OBS_BYTES), 0u);
}

TEST_F(Program, AFenceWaitsBehindASlotThatIsNotDone) {
  epoch_.count = 3;
  Slot claimed = epoch_.ScanSlot();  // by a workgroup that has not come to its end
  claimed.status = KS_STATE_CLAIMED;
  epoch_.Publish(0, claimed);
  epoch_.Publish(1, Make(KS_OP_FENCE, KS_OBS_FREE_AT, 5));
  epoch_.Publish(2, Make(KS_OP_NOOP));
  epoch_.Run();
  EXPECT_EQ(epoch_.slot(0).status, KS_STATE_CLAIMED);
  EXPECT_EQ(epoch_.slot(0).hits, 0u);
  EXPECT_EQ(epoch_.slot(1).status, KS_STATE_WAITING);
  EXPECT_EQ(epoch_.slot(2).status, KS_STATE_DONE);
  EXPECT_EQ(epoch_.control_at(KS_CTL_OBSERVABLES_AT + KS_OBS_FREE_AT), 5u);
  EXPECT_EQ(epoch_.control_at(KS_CTL_DONE), 2u);
}

TEST_F(Program, ShutdownLeavesLaterSlotsPublished) {
  epoch_.count = 2;
  epoch_.Publish(0, Make(KS_OP_SHUTDOWN));
  epoch_.Publish(1, epoch_.ScanSlot());
  epoch_.Run();
  EXPECT_EQ(epoch_.slot(0).status, KS_STATE_DONE);
  EXPECT_EQ(epoch_.slot(1).status, KS_STATE_PUBLISHED);
}

TEST_F(Program, AFullDebugLogKeepsItsRecordsAndCountsTheRest) {
  DirectEpoch epoch(128, 1, Bytes(text_), table_.words, 10);
  epoch.count = 100;
  for (uint32_t i = 0; i < 100; ++i) epoch.Publish(i, Make(KS_OP_LOG, 1, i, 2));
  epoch.Run();
  EXPECT_EQ(epoch.control_at(KS_CTL_LOG_CURSOR), 100u);
  ASSERT_EQ(epoch.log().size(), KS_CTL_LOG_RECORDS);
  EXPECT_EQ(epoch.log()[63].arg0, 63u);
  EXPECT_EQ(epoch.log()[63].code, KS_CODE_USER + 1);
  EXPECT_EQ(epoch.slot(99).status, KS_STATE_DONE);
}

TEST_F(Program, RefusesAnotherAbiVersion) {
  epoch_.constants[KS_CONST_ABI] = KS_ABI_VERSION + 1;
  epoch_.Publish(0, epoch_.ScanSlot());
  epoch_.Run();
  EXPECT_EQ(epoch_.slot(0).status, KS_STATE_PUBLISHED);
  ASSERT_EQ(epoch_.log().size(), 1u);
  EXPECT_EQ(epoch_.log()[0].code, KS_CODE_BAD_ABI);
}

// The bindings have exact sizes, so the sanitizers see any access a damaged ring would cause.
TEST_F(Program, NothingInARingOrDirectoryReachesOutsideTheBindings) {
  std::mt19937 random(3);
  for (int round = 0; round < 4000; ++round) {
    DirectEpoch epoch(4, 3, Bytes(text_), table_.words, 4);
    epoch.count = 4;
    for (uint32_t i = 0; i < 4; ++i) epoch.Publish(i, epoch.ScanSlot());
    const uint32_t ring = epoch.constants[KS_CONST_RING_AT];
    for (int i = 0; i < 6; ++i) {
      const size_t at = random() % 3 == 0 ? KS_CTL_DIRECTORY_AT + random() % 8
                                          : ring + random() % (4 * KS_SLOT_WORDS);
      uint32_t& word = epoch.control[at];
      word = random() % 2 ? word ^ 1u << random() % 32 : word + random() % 40 - 20;
    }
    epoch.Run();
    EXPECT_LE(epoch.control_at(KS_CTL_DONE), 4u);
  }
}

}  // namespace
}  // namespace keysieve::megakernel
