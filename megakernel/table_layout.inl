// SPDX-License-Identifier: MIT
// The layout of a literal table: header, filter rows, two bucket indexes with their entries, short
// literals, literal records and their bytes. All offsets are words from the table's first. Read by
// the compiler, the validator, the dump and the device program alike.
//
// A literal of four bytes or more is found by one window of four bytes in it, folded with
// KS_FOLD_WORD: the window's bytes 1..3 choose a filter row, its byte 0 a bit in it. A literal of
// three bytes is found by the window that starts one byte before it; it sets a whole row. Literals
// of one and two bytes have a list per first byte.
#ifndef KS_TABLE_LAYOUT_INL_
#define KS_TABLE_LAYOUT_INL_

#define KS_TABLE_MAGIC 0x4b534c54u
#define KS_TABLE_VERSION 1u
#define KS_FOLD_WORD 0x20202020u

// Header, in words.
#define KS_TABLE_MAGIC_AT 0u
#define KS_TABLE_VERSION_AT 1u
#define KS_TABLE_WORDS_AT 2u       // of the whole table
#define KS_TABLE_LITERALS_AT 3u    // literal count
#define KS_TABLE_MAX_BYTES_AT 4u   // longest literal
#define KS_TABLE_MAX_OFFSET_AT 5u  // largest offset of a window in its literal
#define KS_TABLE_ROW_BITS_AT 6u    // 2^bits filter rows
#define KS_TABLE_ROWS_AT 7u
#define KS_TABLE_QUAD_BITS_AT 8u  // 2^bits buckets, and one start more
#define KS_TABLE_QUADS_AT 9u
#define KS_TABLE_TRI_BITS_AT 10u
#define KS_TABLE_TRIS_AT 11u
#define KS_TABLE_TRI_COUNT_AT 12u  // entries of three-byte literals
#define KS_TABLE_ENTRIES_AT 13u
#define KS_TABLE_ENTRY_COUNT_AT 14u
#define KS_TABLE_SHORTS_AT 15u  // 8 words of first-byte bits, then 257 starts
#define KS_TABLE_SHORT_LIST_AT 16u
#define KS_TABLE_SHORT_COUNT_AT 17u
#define KS_TABLE_RECORDS_AT 18u
#define KS_TABLE_BYTES_AT 19u
#define KS_TABLE_BYTES_WORDS_AT 20u
#define KS_TABLE_HEADER_WORDS 32u

#define KS_MIN_ROW_BITS 12u
#define KS_MAX_ROW_BITS 15u
#define KS_MIN_BUCKET_BITS 4u
#define KS_MAX_BUCKET_BITS 18u

// Entry: the folded key, then literal id (bits 0..19) and window offset (20..27).
#define KS_ENTRY_WORDS 2u
#define KS_ENTRY_ID_MASK 0xfffffu
#define KS_ENTRY_OFFSET_SHIFT 20u
#define KS_TRI_KEY_MASK 0xffffff00u  // of a window: its bytes 1..3

// Short list entry: literal id (bits 0..19), length (20..21), second byte (24..31).
#define KS_SHORT_LENGTH_SHIFT 20u
#define KS_SHORT_LENGTH_MASK 3u
#define KS_SHORT_SECOND_SHIFT 24u
#define KS_SHORT_STARTS_AT 8u
#define KS_SHORT_HEAD_WORDS 265u

// Literal record: word of its first byte pair within the byte section, length in bits 0..7 and
// KS_RECORD_IGNORE_CASE. Its bytes are pairs of words: the bytes, letters in lower case if case is
// ignored, then 0x20 at each such letter.
#define KS_RECORD_WORDS 2u
#define KS_RECORD_LENGTH_MASK 0xffu
#define KS_RECORD_IGNORE_CASE 0x100u

// Row of a folded window, and its buckets. The row ignores the window's byte 0.
#define KS_ROW_FACTOR 0xebca6b00u
#define KS_QUAD_FACTOR 0x9e3779b1u
#define KS_TRI_FACTOR 0x85ebca6bu
#define KS_ROW_OF(window, bits) ((((window) >> 8u) * KS_ROW_FACTOR) >> (32u - (bits)))
#define KS_QUAD_OF(window, bits) (((window)*KS_QUAD_FACTOR) >> (32u - (bits)))
#define KS_TRI_OF(window, bits) ((((window) >> 8u) * KS_TRI_FACTOR) >> (32u - (bits)))

#endif  // KS_TABLE_LAYOUT_INL_
