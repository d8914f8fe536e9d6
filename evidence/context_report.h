// SPDX-License-Identifier: MIT
// A scan's record in the words of the vocabulary: what a summary, a log or a report prints. Names
// come from the table, so that a new row shows here by itself.
//
//   for (const NamedValue& v : NamedCounters(record.counters)) Print(v.name, v.label, v.value);
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "evidence/context_pool.h"

namespace keysieve::evidence {

struct NamedValue {
  std::string name;        // whole, as exported
  std::string_view label;  // the label's value; empty if the row has none
  double value = 0;        // in the unit of the name: seconds, bytes or a count
};

// Every cell that is not zero, in the table's order.
std::vector<NamedValue> NamedCounters(const CounterValues& values);

struct NamedEntry {
  std::string_view name;  // of the event or annotation; annotations as exported, less kPrefix
  std::string_view backend;
  uint16_t device = 0;
  uint32_t value = 0;       // of an annotation, else 0
  std::string_view detail;  // a fault's kind, a missing capability; else empty
};

// A code outside the tables gives empty names, never another row's.
NamedEntry Describe(const JournalEntry& entry);

}  // namespace keysieve::evidence
