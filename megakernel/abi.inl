// SPDX-License-Identifier: MIT
// The layout of everything the host and the device program share, as preprocessor words that C++,
// CUDA, GLSL and MSL all read alike. All memory is little-endian 32-bit words; positions are bytes.
// docs/abi.md explains it; abi.h mirrors it for C++; geometry.h lays it out for a session.
#ifndef KS_ABI_INL_
#define KS_ABI_INL_

#define KS_ABI_VERSION 1u
#define KS_ABI_MAGIC 0x4b53414bu

// Bindings of a launch.
#define KS_BIND_CONTROL 0u  // control block, debug log and ring of one epoch
#define KS_BIND_TEXT 1u     // the epoch's text
#define KS_BIND_BLOBS 2u    // the epoch's blob table, then its tile index
#define KS_BIND_TABLES 3u   // the session's table arena, read-only
#define KS_BIND_HITS 4u     // the epoch's hit queue
#define KS_BINDINGS 5u

// Constants of a launch, by value. The host computes them; the program trusts no other bound.
#define KS_CONST_ABI 0u         // KS_ABI_VERSION
#define KS_CONST_EPOCH 1u       // not zero
#define KS_CONST_RING_AT 2u     // word of the control binding where the ring starts
#define KS_CONST_RING_SLOTS 3u  // slots in the ring
#define KS_CONST_FIRST_SLOT 4u  // the epoch's slots are first, first + 1, ... modulo ring slots
#define KS_CONST_SLOT_COUNT 5u
#define KS_CONST_TENANTS 6u
#define KS_CONST_TEXT_END 7u       // no valid text byte lies at or after it
#define KS_CONST_BLOBS 8u          // records in the blob table
#define KS_CONST_TILES 9u          // tiles in the tile index, which has one word more
#define KS_CONST_TABLE_WORDS 10u   // words of the arena
#define KS_CONST_HIT_CAPACITY 11u  // records of the hit queue
#define KS_CONST_CLAIMS 12u   // slots that a workgroup claims at most; not before all are claimed
#define KS_CONST_TABLE 13u    // directory index of the table most slots name: what to keep at hand
#define KS_CONST_HIT_TAG 14u  // set in every hit's position, above KS_HIT_TAG_SHIFT; 0 = none
#define KS_CONSTANTS 16u

// Control block, in words.
#define KS_CTL_MAGIC 0u
#define KS_CTL_VERSION 1u
#define KS_CTL_SHUTDOWN 2u    // not zero: no further slot is claimed
#define KS_CTL_EPOCH 3u       // written by the program when it starts: it ran this epoch
#define KS_CTL_HEARTBEAT 4u   // grows with every slot
#define KS_CTL_CLAIMED 5u     // the claim cursor, from 0
#define KS_CTL_DONE 6u        // slots that left the claimed state
#define KS_CTL_FAULTS 7u      // of them, in the fault state
#define KS_CTL_HITS 8u        // hits found; over the capacity the count goes on
#define KS_CTL_LOG_CURSOR 9u  // debug records wanted; those past the log's end were dropped
#define KS_CTL_OBSERVABLES_AT 32u
#define KS_CTL_OBSERVABLES 32u
#define KS_CTL_DIRECTORY_AT 64u
#define KS_CTL_DIRECTORY 64u  // tables resident at once
#define KS_CTL_LOG_AT 320u
#define KS_CTL_LOG_RECORDS 64u
#define KS_CTL_TENANTS_AT 576u  // masks, then quotas, then served counts: a word a tenant each

// Observable slots. The first sixteen are the program's, the others a fence's.
#define KS_OBS_OPCODE_AT 0u  // slots run, by opcode 0..7
#define KS_OBS_UNKNOWN 8u    // slots with an opcode the program does not know
#define KS_OBS_BUSY 9u       // time in slots, in units of 64 ns; 0 where there is no clock
#define KS_OBS_BYTES 10u     // owned bytes scanned, modulo 2^32
#define KS_OBS_TUNED 11u     // slots whose hits the image found by a way of its own, not the body's
#define KS_OBS_FREE_AT 16u

// Directory entry: a resident table.
#define KS_DIR_WORDS 4u
#define KS_DIR_GENERATION 0u  // 0: empty
#define KS_DIR_AT 1u          // word in the arena
#define KS_DIR_SIZE 2u        // words

// Tenant arrays. A mask has a bit per opcode that the tenant may run.
#define KS_TENANT_MASKS 0u
#define KS_TENANT_QUOTAS 1u  // bytes an epoch; 0 = no limit
#define KS_TENANT_SERVED 2u  // bytes
#define KS_TENANT_ARRAYS 3u

// Debug record.
#define KS_LOG_WORDS 4u
#define KS_LOG_SLOT 0u
#define KS_LOG_CODE 1u
#define KS_LOG_ARG0 2u
#define KS_LOG_ARG1 3u

#define KS_CODE_UNKNOWN_OPCODE 1u  // opcode, 0
#define KS_CODE_BAD_RANGE 2u       // owned begin, owned end
#define KS_CODE_STALE_TABLE 3u     // table, generation
#define KS_CODE_BAD_TABLE 4u       // word in the arena, words
#define KS_CODE_BAD_TENANT 5u      // tenant, tenants
#define KS_CODE_BAD_OBSERVABLE 6u  // observable, observables
#define KS_CODE_BAD_ABI 7u         // version wanted, version of the program
#define KS_CODE_USER 256u          // and above: a log slot's own codes

// Slot: 16 words. The status word is written last, on publish and on completion.
#define KS_SLOT_WORDS 16u
#define KS_SLOT_STATUS 0u
#define KS_SLOT_OPCODE 1u
#define KS_SLOT_TENANT 2u      // tenant, bits 0..15; priority, 16..23; flags, 24..31
#define KS_SLOT_EPOCH 3u       // the tag a completed slot must carry back
#define KS_SLOT_TABLE 4u       // program handle: directory index
#define KS_SLOT_GENERATION 5u  // program handle: generation
#define KS_SLOT_BEGIN 6u       // owned range: hits start in [begin, end)
#define KS_SLOT_END 7u
#define KS_SLOT_READABLE 8u  // bytes before it may be read
#define KS_SLOT_LIMITS \
  9u                           // step limit of an invocation, bits 0..15; dense-tile threshold,
                               // 16..31; 0 = none
#define KS_SLOT_HITS 10u       // exact counts, written by the program
#define KS_SLOT_PAIRS 11u      //   literals compared byte by byte
#define KS_SLOT_STEPS 12u      //   window positions that passed the filter
#define KS_SLOT_SURVIVORS 13u  //   survivor records
#define KS_SLOT_SPILLED 14u    //   hits past the queue's end
#define KS_SLOT_DENSE 15u      //   dense tiles, or that an invocation reached its step limit:
#define KS_SLOT_CUT_SHORT 0xffffffffu

// Slot flags: what lies at the edges of its readable range.
#define KS_SLOT_CUT_BEFORE 1u
#define KS_SLOT_CUT_AFTER 2u

// Arguments of the other opcodes lie where the scan's ranges do.
#define KS_SLOT_ARG0 6u
#define KS_SLOT_ARG1 7u
#define KS_SLOT_ARG2 8u

#define KS_STATE_EMPTY 0u
#define KS_STATE_PUBLISHED 1u
#define KS_STATE_CLAIMED 2u
#define KS_STATE_DONE 3u
#define KS_STATE_WAITING 4u  // a fence before which slots were not done; the epoch's end is its end
#define KS_STATE_YIELDED 5u  // the tenant's mask forbids the opcode; nothing was done
#define KS_STATE_REQUEUE \
  6u                       // publish it again: the tenant's quota of the epoch is used up and
                           // nothing was done, or it was cut short and its counts are no answer
#define KS_STATE_FAULT 7u  // refused; a debug record says why
#define KS_STATES 8u

#define KS_OP_NOOP 0u
#define KS_OP_SCAN 1u
#define KS_OP_CONFIRM 2u  // reserved; this version faults it as unknown
#define KS_OP_FENCE 3u    // arg0 = observable, arg1 = value
#define KS_OP_LOG 4u      // arg0 = code - KS_CODE_USER, arg1 and arg2 = arguments
#define KS_OP_SHUTDOWN 5u
#define KS_OPCODES 6u
#define KS_OP_COUNTED 8u  // opcodes with a count of their own

// Hit record: 2 words. A survivor record has 4 (rule and flags, literal and slot, position,
// extents).
#define KS_HIT_WORDS 2u
#define KS_HIT_LITERAL_BITS 20u
#define KS_HIT_LITERAL_MASK 0xfffffu
#define KS_HIT_SLOT_MASK 0xfffu  // slot modulo 4,096, above the literal id
#define KS_SURVIVOR_WORDS 4u
#define KS_HIT_TAG_SHIFT 26u  // positions of tagged records lie below 2^26
#define KS_MAX_SLOTS 4096u

// Blob record: 8 words, sorted by begin. Nothing matches across blobs.
#define KS_BLOB_WORDS 8u
#define KS_BLOB_BEGIN 0u
#define KS_BLOB_END 1u        // readable up to here
#define KS_BLOB_OWN_BEGIN 2u  // hits start in [own begin, own end)
#define KS_BLOB_OWN_END 3u
#define KS_BLOB_FLAGS 4u
#define KS_BLOB_TENANT 5u
#define KS_BLOB_BEGINS 1u  // the first byte is the blob's first: otherwise a cut
#define KS_BLOB_ENDS 2u    // the last byte is the blob's last

// The tile index says of each tile the last blob that begins at or before the tile's first byte, or
// 0; the word past the last tile names the last blob.
#define KS_TILE_SHIFT 12u

// Text starts here, so that the byte before the first one can be read. The bytes before are zero,
// and a buffer has this much slack after its last byte.
#define KS_TEXT_LEAD 16u
#define KS_TEXT_SLACK 512u

#endif  // KS_ABI_INL_
