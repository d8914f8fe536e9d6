// SPDX-License-Identifier: MIT
// Codes become words; see context_report.h.
#include "evidence/context_report.h"

#include "evidence/base/status.h"

namespace keysieve::evidence {
namespace {

std::string_view DetailOf(Event event, uint32_t value) {
  if (event == Event::kFault && value < kFaultKinds) return kFaultNames[value];
  if (event != Event::kCapabilityUnsupported) return "";
  for (const CapabilityRow& row : kCapabilityRows) {
    if (row.number == value) return row.name;
  }
  return "";
}

}  // namespace

std::vector<NamedValue> NamedCounters(const CounterValues& values) {
  std::vector<NamedValue> named;
  for (std::size_t c = 0; c < kCounters; ++c) {
    const CounterRow& row = kCounterRows[c];
    for (std::size_t i = 0; i < LabelCount(row.label); ++i) {
      const uint64_t n = values.Of(static_cast<Counter>(c), i);
      if (n == 0) continue;
      const auto value = static_cast<double>(n);
      named.push_back({.name = Cat(kPrefix, row.name),
                       .label = LabelValues(row.label)[i],
                       .value = row.unit == Unit::kNanoseconds ? value / 1e9 : value});
    }
  }
  return named;
}

NamedEntry Describe(const JournalEntry& entry) {
  NamedEntry named{.backend = AcceleratorName(entry.accelerator), .device = entry.device};
  if (entry.annotation) {
    if (entry.code < kAnnotations) named.name = kAnnotationRows[entry.code].name;
    named.value = entry.value;
    return named;
  }
  if (entry.code >= kEventKinds) return named;
  named.name = kEventRows[entry.code].name;
  named.detail = DetailOf(static_cast<Event>(entry.code), entry.value);
  return named;
}

}  // namespace keysieve::evidence
