// SPDX-License-Identifier: MIT
// A slot's scan as stages of the whole workgroup. Of every byte the filter asks; what passes is
// queued, and when there is enough of it each lane takes one position to its bucket; literals with
// that window are queued again and compared a lane each; hits are gathered and leave together, for
// one atomic on the queue of hits. So lanes stay busy however unevenly matches lie.
//
// A queue that is full is no loss: the lane that finds it full does that one itself. All loops with
// barriers make the same turns in every lane.

#define KS_POSITIONS 1024u
#define KS_PAIRS 512u
#define KS_FOUND 512u
#define KS_GROUPS 4u  // of 16 bytes, that a lane filters between two looks at the queue

// Queues.
#define KS_AT 0u
#define KS_PAIR 1u
#define KS_HIT 2u

shared uint queue_counts[3];
shared uint queue_base;  // place of the gathered hits in the epoch's queue
shared uint queue_cut;   // not zero: a lane reached its step limit
shared uint queue_positions[KS_POSITIONS];
shared uint queue_pairs[KS_PAIRS * 2u];
shared uint queue_found[KS_FOUND * 2u];

// Room for `count` entries of this lane; all lanes of the workgroup come here together.
uint claim_together(uint queue, uint count) {
#ifdef KS_SUBGROUPS
  uint before = subgroupExclusiveAdd(count);
  uint all = subgroupAdd(count);
  uint base = 0u;
  if (all != 0u && subgroupElect()) {
    base = atomicAdd(queue_counts[queue], all);
  }
  return subgroupBroadcastFirst(base) + before;
#else
  return count == 0u ? 0u : atomicAdd(queue_counts[queue], count);
#endif
}

// What waits in a queue of `room` entries, which is then empty. All lanes.
uint take_queue(uint queue, uint room) {
  barrier();
  uint waiting = min(queue_counts[queue], room);
  barrier();
  if (lane() == 0u) {
    queue_counts[queue] = 0u;
  }
  barrier();
  return waiting;
}

void queued_hit(uint literal, uint start) {
  uint index = atomicAdd(queue_counts[KS_HIT], 1u);
  if (index < KS_FOUND) {
    queue_found[2u * index] = literal;
    queue_found[2u * index + 1u] = start;
  } else {
    ks_emit(literal, start);
  }
}

void queued_pair(uint literal, uint start) {
  uint index = atomicAdd(queue_counts[KS_PAIR], 1u);
  if (index < KS_PAIRS) {
    queue_pairs[2u * index] = literal;
    queue_pairs[2u * index + 1u] = start;
  } else {
    ks_consider(literal, start);
  }
}

void flush_hits() {
  uint waiting = take_queue(KS_HIT, KS_FOUND);
  if (lane() == 0u) {
    queue_base = KS_COUNT_CEILING;
    if (control_load(KS_CTL_HITS) < KS_COUNT_CEILING) {
      queue_base = control_add(KS_CTL_HITS, waiting);
    }
  }
  barrier();
  for (uint i = lane(); i < waiting; i += lanes()) {
    ks_turns += 1u;
    ks_store_hit(queue_base + i, queue_found[2u * i], queue_found[2u * i + 1u]);
  }
}

void compare_pairs() {
  uint waiting = take_queue(KS_PAIR, KS_PAIRS);
  for (uint i = lane(); i < waiting; i += lanes()) {
    ks_turns += 1u;
    ks_consider(queue_pairs[2u * i], queue_pairs[2u * i + 1u]);
  }
}

void look_up_positions() {
  uint waiting = take_queue(KS_AT, KS_POSITIONS);
  for (uint i = lane(); i < waiting; i += lanes()) {
    ks_turns += 1u;
    ks_candidate(queue_positions[i]);
  }
}

void queue_positions_of(uint at, uint mask) {
  uint index = claim_together(KS_AT, uint(bitCount(mask)));
  while (mask != 0u) {
    ks_turns += 1u;
    uint bit = lowest_bit(mask);
    mask &= mask - 1u;
    if (index < KS_POSITIONS) {
      queue_positions[index] = at + bit;
    } else {
      ks_candidate(at + bit);
    }
    index += 1u;
  }
}

// Empties each queue that is half full, all of them at the `end`. False once a lane is cut short.
bool drain_queues(bool end) {
  barrier();
  if (ks_turns >= ks_limit) {
    queue_cut = 1u;
  }
  if (end || queue_counts[KS_AT] >= KS_POSITIONS / 2u) {
    look_up_positions();
  }
  barrier();
  if (end || queue_counts[KS_PAIR] >= KS_PAIRS / 2u) {
    compare_pairs();
  }
  barrier();
  if (end || queue_counts[KS_HIT] >= KS_FOUND / 2u) {
    flush_hits();
  }
  barrier();
  return queue_cut == 0u;
}

// The next windows from `base` on; where the ones after them begin.
uint filter_windows(uint base, uint last) {
  for (uint k = 0u; k < KS_GROUPS; ++k) {
    uint at = base + lane() * 16u;
    uint mask = 0u;
    if (at <= last) {
      mask = ks_filter_16(at);
    }
    ks_turns += KS_TURNS_GROUP + 1u;
    queue_positions_of(at, mask);
    base += lanes() * 16u;
  }
  return base;
}

// The next starts of literals of one and two bytes.
uint match_shorts(uint base, uint shorts, uint list) {
  for (uint k = 0u; k < KS_GROUPS * 4u; ++k) {
    uint at = base + lane();
    if (at < ks_end) {
      ks_short_at(at, shorts, list);
    }
    ks_turns += 1u;
    base += lanes();
  }
  return base;
}

void empty_queues() {
  barrier();
  if (lane() == 0u) {
    queue_counts[KS_AT] = 0u;
    queue_counts[KS_PAIR] = 0u;
    queue_counts[KS_HIT] = 0u;
    queue_cut = 0u;
    control_add(KS_CTL_OBSERVABLES_AT + KS_OBS_TUNED, 1u);
  }
  barrier();
}

// First the windows, then the short literals; one place drains for both, since all it calls lies
// there once more for each place.
void queued_scan() {
  if (ks_begin >= ks_end) {
    return;
  }
  empty_queues();
  filter_prepare();
  bool shorts_left = table_word(ks_table + KS_TABLE_SHORT_COUNT_AT) != 0u;
  bool windows = table_word(ks_table + KS_TABLE_ENTRY_COUNT_AT) != 0u;
  uint last = min(ks_end - 1u + table_word(ks_table + KS_TABLE_MAX_OFFSET_AT), ks_readable - 1u);
  uint base = (ks_begin - 1u) & 0xfffffff0u;
  for (bool going = windows || shorts_left; going;) {
    bool end = false;
    if (windows) {
      base = filter_windows(base, last);
      end = base > last;
    } else {
      if (shorts_left) {
        shorts_left = false;
        base = ks_begin;
      }
      base = match_shorts(base, ks_table + table_word(ks_table + KS_TABLE_SHORTS_AT),
                          ks_table + table_word(ks_table + KS_TABLE_SHORT_LIST_AT));
      end = base >= ks_end;
    }
    going = drain_queues(end) && (!end || shorts_left);
    windows = windows && !end;
  }
}
