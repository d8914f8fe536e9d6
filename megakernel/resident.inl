// SPDX-License-Identifier: MIT
// What the host and a resident program share beside the ABI of an epoch: the control words of the
// program, the head that goes before each batch, and the answer that comes back. Little-endian
// 32-bit words, read by C++ and CUDA alike; docs/abi.md explains the protocol.
//
// A batch is published by one word in stream order, READY[sequence % READY], which follows the copy
// of its head and text. The leader, block 0, alone looks at those words and opens the gate; workers
// take every batch in turn and check in at its end. The last one writes the answer to host memory,
// its SEQUENCE word after everything else.
//
// A small batch needs no copy engine: the host leaves head and text in pinned memory, the inbox,
// and rings. The leader, which alone looks at the bells, fetches them into the batch's area itself.
#ifndef KS_RESIDENT_INL_
#define KS_RESIDENT_INL_

// Bindings of the resident launch.
#define KS_RES_BIND_CONTROL 0u  // device: the program's own words
#define KS_RES_BIND_AREA 1u     // device: head and text of each batch, a stride apart
#define KS_RES_BIND_TABLES 2u   // device: the table arena
#define KS_RES_BIND_ANSWERS 3u  // pinned: answer, control block and ring of each batch
#define KS_RES_BIND_HITS 4u     // pinned: hit queue of each batch
#define KS_RES_BIND_PULSE 5u    // pinned: what the host may read at any time
#define KS_RES_BIND_INBOX 6u    // pinned: head and text of a small batch, a stride apart
#define KS_RES_BINDINGS 7u

// Constants of the resident launch.
#define KS_RES_CONST_ABI 0u            // KS_ABI_VERSION
#define KS_RES_CONST_BATCHES 1u        // at most KS_RES_READY
#define KS_RES_CONST_AREA_STRIDE 2u    // bytes
#define KS_RES_CONST_TEXT_AT 3u        // bytes from a batch's area, a multiple of 16
#define KS_RES_CONST_BLOBS_AT 4u       // words from its head
#define KS_RES_CONST_CONTROL_WORDS 5u  // control block and ring
#define KS_RES_CONST_ANSWER_STRIDE 6u  // words
#define KS_RES_CONST_HIT_STRIDE 7u     // records
#define KS_RES_CONST_PARK_US 8u        // without work before the program leaves; 0 = never
#define KS_RES_CONST_LAUNCH 9u         // number of this launch, from 1
#define KS_RES_CONST_INBOX_STRIDE 11u  // bytes; the text lies KS_RES_INBOX_TEXT before its end
#define KS_RES_CONST_FIRST 10u         // sequence of the first batch of this launch

// Control words.
#define KS_RES_GATE 0u     // batches opened, modulo 2^32; it outlives a launch
#define KS_RES_STOPPED 1u  // number of the launch that opens no more
#define KS_RES_STOP 2u     // number of the launch that the host asks to leave once nothing is ready
#define KS_RES_READY_AT 64u  // words that publish a batch
#define KS_RES_READY 64u
#define KS_RES_CONTROL_WORDS 128u

// READY word: what must be there for sequence s, and the batch it publishes.
#define KS_RES_BATCH_BITS 6u
#define KS_RES_BATCH_MASK 63u
#define KS_RES_READY_WORD(sequence, batch) ((((sequence) + 1u) << KS_RES_BATCH_BITS) | (batch))

// Head of a batch: its own words, the epoch's constants, then the control block.
#define KS_RES_HEAD_SEQUENCE 0u
#define KS_RES_HEAD_CHECKED_IN 1u  // workers that have left the batch
#define KS_RES_HEAD_CLEAR_AT 2u    // positions that an earlier, longer text left behind: cleared
#define KS_RES_HEAD_CLEAR_END 3u   //   before the answer; the end is a multiple of 4
#define KS_RES_HEAD_BEGUN 4u       // 64 bits: the first worker's clock, nanoseconds
#define KS_RES_HEAD_CONSTANTS_AT 16u
#define KS_RES_HEAD_WORDS 32u

// Answer of a batch, then its control block and ring.
#define KS_RES_ANSWER_SEQUENCE 0u  // sequence + 1, written last
#define KS_RES_ANSWER_HITS 1u      // exact count
#define KS_RES_ANSWER_NS 2u        // from the first worker's arrival to the last one's leaving
#define KS_RES_ANSWER_WORDS 16u

// Pulse: written by the leader, but for the bells.
#define KS_RES_PULSE_HEARTBEAT 0u
#define KS_RES_PULSE_OPENED 1u  // batches it has opened
#define KS_RES_PULSE_LEFT 2u    // number of the last launch that left by itself or when asked
#define KS_RES_PULSE_WORDS 512u
// The host's: a bell for each place of the ready ring. One load reads all four words.
#define KS_RES_BELLS_AT 256u
#define KS_RES_BELL_WORDS 4u
#define KS_RES_BELL_READY 0u  // as a ready word; written last
#define KS_RES_BELL_HEAD 1u   // bytes of head, blob table included; a multiple of 16
#define KS_RES_BELL_TEXT 2u   // bytes of text from position 0 on; a multiple of 16

// What a small batch may have.
#define KS_RES_SMALL_TEXT 65536u  // bytes of text, besides the lead
#define KS_RES_SMALL_BLOBS 4096u  // bytes of blob table and tile index
#define KS_RES_INBOX_TEXT (KS_RES_SMALL_TEXT + 512u)

#endif  // KS_RESIDENT_INL_
