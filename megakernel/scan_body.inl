// SPDX-License-Identifier: MIT
// The one device program: an interpreter over published slots. Every invocation of a workgroup runs
// ks_run(); the workgroup claims its share of the epoch's slots. Written in the subset that
// C++, CUDA, GLSL and MSL share: `uint`, `bool`, loops, by-value arguments, no pointers.
//
// The including file supplies, at file scope (GLSL) or in the enclosing struct:
//   uint constant_word(i)                     the launch's constants
//   uint control_load(i), control_store(i,v)  binding 0; control_add(i,v) is atomic, returns the
//   old uint text_word(i), blob_word(i), table_word(i) void hit_store(i,v) uint lane(), lanes(),
//   group()             invocation in its workgroup, their number, workgroup void group_barrier(),
//   device_fence() uint shared_get(i), shared_put(i,v)       2 words a workgroup void
//   filter_prepare(), uint filter_row(i) the rows at ks_rows, wherever they are read fastest uint
//   lowest_bit(v)                        v is not 0 uint clock_64ns()                         0
//   where there is no clock
// and KS_FN, which goes before each function. It may read the ks_ state below.
//
// Whatever a slot or the directory says is checked against the constants before it is used as an
// address. A table's own indexes were validated before it was uploaded.

// State of this invocation: the slot at work, its table's sections (words of the arena), its
// counts.
uint ks_slot;
uint ks_begin;
uint ks_end;
uint ks_readable;
uint ks_table;
uint ks_rows;
uint ks_row_bits;
uint ks_quads;
uint ks_quad_bits;
uint ks_tris;
uint ks_tri_bits;
uint ks_tri_count;
uint ks_entries;
uint ks_records;
uint ks_bytes;
uint ks_hits;
uint ks_spilled;
uint ks_pairs;
uint ks_steps;
uint ks_turns;
uint ks_limit;

// An image may have a way of its own to find the hits of the slot that is open, or to hand a
// literal whose window was seen to its comparison, or a hit to its queue. It must find the same
// ones.
#ifndef KS_SCAN
#define KS_SCAN() ks_scan()
#endif
#ifndef KS_CONSIDER
#define KS_CONSIDER(literal, start) ks_consider(literal, start)
#endif
#ifndef KS_EMIT
#define KS_EMIT(literal, start) ks_emit(literal, start)
#endif

#define KS_RUN_NOTHING 0u
#define KS_RUN_SCAN 1u
#define KS_RUN_END 2u
#define KS_COUNT_CEILING 0x80000000u  // hit counts stop growing here, far below their wrap

// Loop turns of this invocation are counted, some in advance, against the slot's step limit: a slot
// that passes it is cut short and says so. Some drivers end loops by themselves after a number of
// turns and say nothing; and a limit keeps hostile text from holding a device.
#define KS_TURNS_BLOB 17u
#define KS_TURNS_GROUP 5u

KS_FN void ks_log(uint slot, uint code, uint arg0, uint arg1) {
  uint cursor = control_add(KS_CTL_LOG_CURSOR, 1u);
  if (cursor < KS_CTL_LOG_RECORDS) {
    uint at = KS_CTL_LOG_AT + cursor * KS_LOG_WORDS;
    control_store(at + KS_LOG_SLOT, slot);
    control_store(at + KS_LOG_CODE, code);
    control_store(at + KS_LOG_ARG0, arg0);
    control_store(at + KS_LOG_ARG1, arg1);
  }
}

KS_FN uint ks_slot_at(uint slot) { return constant_word(KS_CONST_RING_AT) + slot * KS_SLOT_WORDS; }

// Lane 0 only: the slot leaves the claimed state. The status word is written after everything else.
KS_FN void ks_complete(uint slot, uint state) {
  control_add(KS_CTL_DONE, 1u);
  control_add(KS_CTL_HEARTBEAT, 1u);
  if (state == KS_STATE_FAULT) {
    control_add(KS_CTL_FAULTS, 1u);
  }
  device_fence();
  control_store(ks_slot_at(slot) + KS_SLOT_STATUS, state);
}

KS_FN uint ks_fault(uint slot, uint code, uint arg0, uint arg1) {
  ks_log(slot, code, arg0, arg1);
  ks_complete(slot, KS_STATE_FAULT);
  return KS_RUN_NOTHING;
}

// ---- matching ----

// A hit whose place in the queue was claimed; past the queue's end it is only counted.
KS_FN void ks_store_hit(uint index, uint literal, uint start) {
  if (ks_hits < KS_COUNT_CEILING) {
    ks_hits += 1u;
  }
  if (index < constant_word(KS_CONST_HIT_CAPACITY)) {
    hit_store(index * KS_HIT_WORDS,
              literal | ((ks_slot & KS_HIT_SLOT_MASK) << KS_HIT_LITERAL_BITS));
    hit_store(index * KS_HIT_WORDS + 1u, start | constant_word(KS_CONST_HIT_TAG));
  } else if (ks_spilled < KS_COUNT_CEILING) {
    ks_spilled += 1u;
  }
}

KS_FN void ks_emit(uint literal, uint start) {
  uint index = KS_COUNT_CEILING;
  if (control_load(KS_CTL_HITS) < KS_COUNT_CEILING) {
    index = control_add(KS_CTL_HITS, 1u);
  }
  ks_store_hit(index, literal, start);
}

// The last blob that begins at or before `start`; the number of blobs if there is none.
KS_FN uint ks_blob_of(uint start) {
  uint count = constant_word(KS_CONST_BLOBS);
  uint tiles = constant_word(KS_CONST_TILES);
  uint tile = start >> KS_TILE_SHIFT;
  if (count == 0u || tile >= tiles) {
    return count;
  }
  uint low = blob_word(count * KS_BLOB_WORDS + tile);
  uint high = blob_word(count * KS_BLOB_WORDS + tile + 1u);
  if (high >= count) {
    high = count - 1u;
  }
  while (low < high) {
    uint middle = low + (high - low + 1u) / 2u;
    if (blob_word(middle * KS_BLOB_WORDS + KS_BLOB_BEGIN) <= start) {
      low = middle;
    } else {
      high = middle - 1u;
    }
  }
  return low < count ? low : count;
}

// Does one blob own `start` and hold all of [start, start + length)?
KS_FN bool ks_blob_takes(uint start, uint length) {
  uint blob = ks_blob_of(start);
  if (blob >= constant_word(KS_CONST_BLOBS)) {
    return false;
  }
  uint at = blob * KS_BLOB_WORDS;
  return start >= blob_word(at + KS_BLOB_OWN_BEGIN) && start < blob_word(at + KS_BLOB_OWN_END) &&
         start + length <= blob_word(at + KS_BLOB_END);
}

KS_FN bool ks_literal_at(uint bytes, uint length, uint start) {
  uint word = start >> 2u;
  uint shift = (start & 3u) * 8u;
  uint low = text_word(word);
  for (uint k = 0u; k * 4u < length; ++k) {
    uint high = text_word(word + k + 1u);
    uint got = low;
    if (shift != 0u) {
      got = (low >> shift) | (high << (32u - shift));
    }
    low = high;
    uint different = (got | table_word(bytes + 2u * k + 1u)) ^ table_word(bytes + 2u * k);
    uint left = length - k * 4u;
    if (left < 4u) {
      different &= (1u << (8u * left)) - 1u;
    }
    if (different != 0u) {
      return false;
    }
  }
  return true;
}

// A literal whose window was seen: exact comparison, then the blob it would lie in.
KS_FN void ks_consider(uint literal, uint start) {
  if (start < ks_begin || start >= ks_end) {
    return;
  }
  uint record = ks_records + literal * KS_RECORD_WORDS;
  uint length = table_word(record + 1u) & KS_RECORD_LENGTH_MASK;
  if (length > ks_readable - start) {
    return;
  }
  ks_pairs += 1u;
  ks_turns += KS_TURNS_BLOB + (length >> 2u);
  if (ks_literal_at(ks_bytes + table_word(record), length, start) && ks_blob_takes(start, length)) {
    KS_EMIT(literal, start);
  }
}

KS_FN void ks_candidate(uint at) {
  uint shift = (at & 3u) * 8u;
  uint window = text_word(at >> 2u);
  if (shift != 0u) {
    window = (window >> shift) | (text_word((at >> 2u) + 1u) << (32u - shift));
  }
  window |= KS_FOLD_WORD;
  ks_steps += 1u;
  uint bucket = ks_quads + KS_QUAD_OF(window, ks_quad_bits);
  uint last = table_word(bucket + 1u);
  for (uint i = table_word(bucket); i < last && ks_turns < ks_limit; ++i) {
    ks_turns += 1u;
    uint entry = ks_entries + i * KS_ENTRY_WORDS;
    if (table_word(entry) == window) {
      uint ref = table_word(entry + 1u);
      KS_CONSIDER(ref & KS_ENTRY_ID_MASK, at - ((ref >> KS_ENTRY_OFFSET_SHIFT) & 0xffu));
    }
  }
  if (ks_tri_count != 0u) {
    bucket = ks_tris + KS_TRI_OF(window, ks_tri_bits);
    last = table_word(bucket + 1u);
    for (uint j = table_word(bucket); j < last && ks_turns < ks_limit; ++j) {
      ks_turns += 1u;
      uint entry = ks_entries + j * KS_ENTRY_WORDS;
      if (((table_word(entry) ^ window) & KS_TRI_KEY_MASK) == 0u) {
        KS_CONSIDER(table_word(entry + 1u) & KS_ENTRY_ID_MASK, at + 1u);
      }
    }
  }
}

KS_FN uint ks_pass(uint window) {
  return (filter_row(KS_ROW_OF(window, ks_row_bits)) >> (window & 31u)) & 1u;
}

// Bit i: the window at `at` + i passes the filter. `at` is a multiple of 16.
KS_FN uint ks_filter_16(uint at) {
  uint mask = 0u;
  uint word = at >> 2u;
  uint low = text_word(word) | KS_FOLD_WORD;
  for (uint k = 0u; k < 4u; ++k) {
    uint high = text_word(word + k + 1u) | KS_FOLD_WORD;
    uint four = ks_pass(low);
    four |= ks_pass((low >> 8u) | (high << 24u)) << 1u;
    four |= ks_pass((low >> 16u) | (high << 16u)) << 2u;
    four |= ks_pass((low >> 24u) | (high << 8u)) << 3u;
    mask |= four << (4u * k);
    low = high;
  }
  return mask;
}

// Windows may lie up to one byte before and `max_offset` bytes after the start of their literal.
KS_FN void ks_scan_windows(uint max_offset) {
  uint last = ks_end - 1u + max_offset;
  if (last >= ks_readable) {
    last = ks_readable - 1u;
  }
  uint step = lanes() * 16u;
  for (uint at = ((ks_begin - 1u) & 0xfffffff0u) + lane() * 16u; at <= last && ks_turns < ks_limit;
       at += step) {
    uint mask = ks_filter_16(at);
    ks_turns += KS_TURNS_GROUP;
    while (mask != 0u && ks_turns < ks_limit) {
      ks_turns += 1u;
      uint bit = lowest_bit(mask);
      mask &= mask - 1u;
      ks_candidate(at + bit);
    }
  }
}

// Literals of one and two bytes that begin at `at`, by their first byte.
KS_FN void ks_short_at(uint at, uint shorts, uint list) {
  uint first = (text_word(at >> 2u) >> ((at & 3u) * 8u)) & 0xffu;
  if (((table_word(shorts + (first >> 5u)) >> (first & 31u)) & 1u) != 0u) {
    uint next = at + 1u;
    uint second = (text_word(next >> 2u) >> ((next & 3u) * 8u)) & 0xffu;
    uint last = table_word(shorts + KS_SHORT_STARTS_AT + first + 1u);
    for (uint i = table_word(shorts + KS_SHORT_STARTS_AT + first); i < last && ks_turns < ks_limit;
         ++i) {
      ks_turns += KS_TURNS_BLOB;
      uint entry = table_word(list + i);
      uint length = (entry >> KS_SHORT_LENGTH_SHIFT) & KS_SHORT_LENGTH_MASK;
      bool same = length == 1u || (entry >> KS_SHORT_SECOND_SHIFT) == second;
      if (same && length <= ks_readable - at && ks_blob_takes(at, length)) {
        KS_EMIT(entry & KS_ENTRY_ID_MASK, at);
      }
    }
  }
}

KS_FN void ks_scan_shorts(uint shorts, uint list) {
  for (uint at = ks_begin + lane(); at < ks_end && ks_turns < ks_limit; at += lanes()) {
    ks_turns += 1u;
    ks_short_at(at, shorts, list);
  }
}

// All lanes: takes up the slot, whose fields were checked by ks_admit_scan(), and its table.
KS_FN void ks_open(uint slot) {
  uint at = ks_slot_at(slot);
  ks_slot = slot;
  ks_begin = control_load(at + KS_SLOT_BEGIN);
  ks_end = control_load(at + KS_SLOT_END);
  ks_readable = control_load(at + KS_SLOT_READABLE);
  uint entry = KS_CTL_DIRECTORY_AT + control_load(at + KS_SLOT_TABLE) * KS_DIR_WORDS;
  ks_table = control_load(entry + KS_DIR_AT);
  ks_rows = ks_table + table_word(ks_table + KS_TABLE_ROWS_AT);
  ks_row_bits = table_word(ks_table + KS_TABLE_ROW_BITS_AT);
  ks_quads = ks_table + table_word(ks_table + KS_TABLE_QUADS_AT);
  ks_quad_bits = table_word(ks_table + KS_TABLE_QUAD_BITS_AT);
  ks_tris = ks_table + table_word(ks_table + KS_TABLE_TRIS_AT);
  ks_tri_bits = table_word(ks_table + KS_TABLE_TRI_BITS_AT);
  ks_tri_count = table_word(ks_table + KS_TABLE_TRI_COUNT_AT);
  ks_entries = ks_table + table_word(ks_table + KS_TABLE_ENTRIES_AT);
  ks_records = ks_table + table_word(ks_table + KS_TABLE_RECORDS_AT);
  ks_bytes = ks_table + table_word(ks_table + KS_TABLE_BYTES_AT);
  ks_hits = 0u;
  ks_spilled = 0u;
  ks_pairs = 0u;
  ks_steps = 0u;
  ks_turns = 0u;
  ks_limit = control_load(at + KS_SLOT_LIMITS) & 0xffffu;
  if (ks_limit == 0u) {
    ks_limit = 0xffffffffu;
  }
}

// All lanes: finds the hits of the slot that is open.
KS_FN void ks_scan() {
  if (ks_begin >= ks_end) {
    return;
  }
  if (table_word(ks_table + KS_TABLE_ENTRY_COUNT_AT) != 0u) {
    filter_prepare();
    ks_scan_windows(table_word(ks_table + KS_TABLE_MAX_OFFSET_AT));
  }
  if (table_word(ks_table + KS_TABLE_SHORT_COUNT_AT) != 0u) {
    ks_scan_shorts(ks_table + table_word(ks_table + KS_TABLE_SHORTS_AT),
                   ks_table + table_word(ks_table + KS_TABLE_SHORT_LIST_AT));
  }
}

KS_FN void ks_add_if(uint at, uint value) {
  if (value != 0u) {
    control_add(at, value);
  }
}

KS_FN void ks_report_counts(uint slot) {
  uint at = ks_slot_at(slot);
  ks_add_if(at + KS_SLOT_HITS, ks_hits);
  ks_add_if(at + KS_SLOT_SPILLED, ks_spilled);
  ks_add_if(at + KS_SLOT_PAIRS, ks_pairs);
  ks_add_if(at + KS_SLOT_STEPS, ks_steps);
  if (ks_turns >= ks_limit) {
    control_store(at + KS_SLOT_DENSE, KS_SLOT_CUT_SHORT);
  }
}

// ---- admission: lane 0 decides, so that the workgroup agrees ----

KS_FN uint ks_admit_scan(uint slot, uint tenant) {
  uint at = ks_slot_at(slot);
  uint begin = control_load(at + KS_SLOT_BEGIN);
  uint end = control_load(at + KS_SLOT_END);
  uint readable = control_load(at + KS_SLOT_READABLE);
  if (begin < KS_TEXT_LEAD || end < begin || readable < end ||
      readable > constant_word(KS_CONST_TEXT_END)) {
    return ks_fault(slot, KS_CODE_BAD_RANGE, begin, end);
  }
  uint table = control_load(at + KS_SLOT_TABLE);
  uint generation = control_load(at + KS_SLOT_GENERATION);
  if (table >= KS_CTL_DIRECTORY || generation == 0u ||
      control_load(KS_CTL_DIRECTORY_AT + table * KS_DIR_WORDS + KS_DIR_GENERATION) != generation) {
    return ks_fault(slot, KS_CODE_STALE_TABLE, table, generation);
  }
  uint first = control_load(KS_CTL_DIRECTORY_AT + table * KS_DIR_WORDS + KS_DIR_AT);
  uint size = control_load(KS_CTL_DIRECTORY_AT + table * KS_DIR_WORDS + KS_DIR_SIZE);
  uint arena = constant_word(KS_CONST_TABLE_WORDS);
  if (first > arena || size > arena - first || size < KS_TABLE_HEADER_WORDS) {
    return ks_fault(slot, KS_CODE_BAD_TABLE, first, size);
  }
  if (table_word(first + KS_TABLE_MAGIC_AT) != KS_TABLE_MAGIC ||
      table_word(first + KS_TABLE_VERSION_AT) != KS_TABLE_VERSION ||
      table_word(first + KS_TABLE_WORDS_AT) != size) {
    return ks_fault(slot, KS_CODE_BAD_TABLE, first, size);
  }
  uint arrays = KS_CTL_TENANTS_AT;
  uint tenants = constant_word(KS_CONST_TENANTS);
  uint quota = control_load(arrays + KS_TENANT_QUOTAS * tenants + tenant);
  uint served = control_add(arrays + KS_TENANT_SERVED * tenants + tenant, end - begin);
  if (quota != 0u && served >= quota) {
    control_add(arrays + KS_TENANT_SERVED * tenants + tenant, begin - end);
    ks_complete(slot, KS_STATE_REQUEUE);
    return KS_RUN_NOTHING;
  }
  control_add(KS_CTL_OBSERVABLES_AT + KS_OBS_BYTES, end - begin);
  return KS_RUN_SCAN;
}

KS_FN uint ks_fence(uint slot, uint ticket) {
  uint at = ks_slot_at(slot);
  uint observable = control_load(at + KS_SLOT_ARG0);
  if (observable < KS_OBS_FREE_AT || observable >= KS_CTL_OBSERVABLES) {
    return ks_fault(slot, KS_CODE_BAD_OBSERVABLE, observable, KS_CTL_OBSERVABLES);
  }
  control_store(KS_CTL_OBSERVABLES_AT + observable, control_load(at + KS_SLOT_ARG1));
  // A program may not spin for other workgroups; the epoch's end completes what waits.
  bool before_done = control_load(KS_CTL_DONE) >= ticket;
  ks_complete(slot, before_done ? KS_STATE_DONE : KS_STATE_WAITING);
  return KS_RUN_NOTHING;
}

// Everything a slot asks for except the scan itself, which all lanes share.
KS_FN uint ks_admit(uint slot, uint ticket) {
  uint at = ks_slot_at(slot);
  if (control_load(at + KS_SLOT_STATUS) != KS_STATE_PUBLISHED) {
    return KS_RUN_NOTHING;
  }
  control_store(at + KS_SLOT_STATUS, KS_STATE_CLAIMED);
  uint opcode = control_load(at + KS_SLOT_OPCODE);
  uint tenant = control_load(at + KS_SLOT_TENANT) & 0xffffu;
  uint tenants = constant_word(KS_CONST_TENANTS);
  if (tenant >= tenants) {
    return ks_fault(slot, KS_CODE_BAD_TENANT, tenant, tenants);
  }
  control_add(KS_CTL_OBSERVABLES_AT + (opcode < KS_OP_COUNTED ? opcode : KS_OBS_UNKNOWN), 1u);
  if (opcode >= KS_OPCODES || opcode == KS_OP_CONFIRM) {
    return ks_fault(slot, KS_CODE_UNKNOWN_OPCODE, opcode, 0u);
  }
  if (((control_load(KS_CTL_TENANTS_AT + tenant) >> opcode) & 1u) == 0u) {
    ks_complete(slot, KS_STATE_YIELDED);
    return KS_RUN_NOTHING;
  }
  if (opcode == KS_OP_SCAN) {
    return ks_admit_scan(slot, tenant);
  }
  if (opcode == KS_OP_FENCE) {
    return ks_fence(slot, ticket);
  }
  if (opcode == KS_OP_LOG) {
    ks_log(slot, KS_CODE_USER + control_load(at + KS_SLOT_ARG0), control_load(at + KS_SLOT_ARG1),
           control_load(at + KS_SLOT_ARG2));
  }
  if (opcode == KS_OP_SHUTDOWN) {
    control_store(KS_CTL_SHUTDOWN, 1u);
  }
  ks_complete(slot, KS_STATE_DONE);
  return KS_RUN_NOTHING;
}

// Lane 0 claims for its workgroup: shared word 0 is the slot, word 1 what to do with it.
KS_FN void ks_claim() {
  uint count = constant_word(KS_CONST_SLOT_COUNT);
  uint ticket = count;
  if (control_load(KS_CTL_SHUTDOWN) == 0u) {
    ticket = control_add(KS_CTL_CLAIMED, 1u);
  }
  if (ticket >= count) {
    shared_put(1u, KS_RUN_END);
    return;
  }
  uint slot = (constant_word(KS_CONST_FIRST_SLOT) + ticket) % constant_word(KS_CONST_RING_SLOTS);
  shared_put(0u, slot);
  shared_put(1u, ks_admit(slot, ticket));
}

KS_FN void ks_run() {
  if (constant_word(KS_CONST_ABI) != KS_ABI_VERSION) {
    if (lane() == 0u && group() == 0u) {
      ks_log(0u, KS_CODE_BAD_ABI, constant_word(KS_CONST_ABI), KS_ABI_VERSION);
    }
    return;
  }
  if (lane() == 0u && group() == 0u) {
    control_store(KS_CTL_EPOCH, constant_word(KS_CONST_EPOCH));
  }
  for (uint round = 0u; round < constant_word(KS_CONST_CLAIMS); ++round) {
    if (lane() == 0u) {
      ks_claim();
    }
    group_barrier();
    uint slot = shared_get(0u);
    uint action = shared_get(1u);
    group_barrier();
    if (action == KS_RUN_END) {
      return;
    }
    if (action == KS_RUN_SCAN) {
      uint started = clock_64ns();
      ks_open(slot);
      KS_SCAN();
      ks_report_counts(slot);
      device_fence();
      group_barrier();
      if (lane() == 0u) {
        control_add(KS_CTL_OBSERVABLES_AT + KS_OBS_BUSY, clock_64ns() - started);
        bool whole = control_load(ks_slot_at(slot) + KS_SLOT_DENSE) != KS_SLOT_CUT_SHORT;
        ks_complete(slot, whole ? KS_STATE_DONE : KS_STATE_REQUEUE);
      }
    }
  }
}
