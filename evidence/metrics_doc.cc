// SPDX-License-Identifier: MIT
// A table for each kind of row.
#include "evidence/metrics_doc.h"

#include <sstream>

#include "evidence/cells.h"
#include "evidence/vocabulary.h"

namespace keysieve::evidence {
namespace {

std::string_view TypeName(MetricType type) {
  switch (type) {
    case MetricType::kCounter:
      return "counter";
    case MetricType::kGauge:
      return "gauge";
    case MetricType::kHistogram:
      return "histogram";
  }
  return "";
}

std::string_view UnitName(Unit unit) {
  switch (unit) {
    case Unit::kCount:
      return "count";
    case Unit::kBytes:
      return "bytes";
    case Unit::kNanoseconds:
      return "seconds";
    case Unit::kCycles:
      return "cycles";
    case Unit::kRatio:
      return "ratio";
  }
  return "";
}

// "`kind`: text, control, table, hits", or empty.
std::string Values(LabelKind label) {
  if (label == LabelKind::kNone) return "";
  std::ostringstream out;
  out << '`' << LabelName(label) << "`:";
  const char* separator = " ";
  for (std::string_view value : LabelValues(label)) {
    out << separator << value;
    separator = ", ";
  }
  return out.str();
}

void Head(std::ostream& out, std::string_view columns, std::string_view rule) {
  out << "\n" << columns << "\n" << rule << "\n";
}

template <typename Rows>
void UnitRows(std::ostream& out, const Rows& rows) {
  Head(out, "| metric | unit | label | meaning | changes when |", "|---|---|---|---|---|");
  for (const auto& row : rows) {
    out << "| `" << kPrefix << row.name << "` | " << UnitName(row.unit) << " | "
        << Values(row.label) << " | " << row.help << " | " << row.when << " |\n";
  }
}

template <typename Rows>
void PlainRows(std::ostream& out, const Rows& rows) {
  Head(out, "| metric | meaning | changes when |", "|---|---|---|");
  for (const auto& row : rows) {
    out << "| `" << kPrefix << row.name << "` | " << row.help << " | " << row.when << " |\n";
  }
}

void Opening(std::ostream& out) {
  out << "# Metrics\n\n"
         "Generated from `evidence/vocabulary.inl` by `ks_metrics_doc`; edit the table, not this "
         "page.\n\n"
         "Accelerator metrics begin with `"
      << kPrefix
      << "` and carry `backend` (cuda, metal or vulkan), `device` (its index) and at most one "
         "label more. A device's families appear at its first submission; its counters of work "
         "are then zero, while memory it had already allocated is counted. Before that there are "
         "none, and a scan that ran on the CPU alone leaves all of them untouched. A reading that "
         "a device can't give is absent, never zero, and its capability gauge says 0.\n\n"
         "For each dispatch whose kernel was timed, kernel time and queue wait add up to "
         "submit-to-complete time.\n";
}

void Buckets(std::ostream& out) {
  out << "\nBuckets, in seconds:";
  for (uint64_t bound : kBucketBoundsNs) out << ' ' << static_cast<double>(bound) / 1e9;
  out << ", +Inf.\n";
}

void Scans(std::ostream& out) {
  out << "\n## Events\n\n"
         "Counted in `keysieve_gpu_events_total{event}`; the record of a profiled scan lists its "
         "own, in order.\n";
  Head(out, "| event | happens when |", "|---|---|");
  for (const EventRow& row : kEventRows) out << "| `" << row.name << "` | " << row.when << " |\n";
  out << "\n## Annotations\n";
  PlainRows(out, kAnnotationRows);
  out << "\n## Capabilities\n";
  Head(out, "| number | capability | what it gives |", "|---|---|---|");
  for (const CapabilityRow& row : kCapabilityRows) {
    out << "| " << int{row.number} << " | `" << row.name << "` | " << row.help << " |\n";
  }
}

void Services(std::ostream& out) {
  out << "\n## Identity\n";
  Head(out, "| metric | labels | meaning | appears when |", "|---|---|---|---|");
  for (const InfoRow& row : kInfoRows) {
    out << "| `" << kPrefix << row.name << "` | " << row.labels << " | " << row.help << " | "
        << row.when << " |\n";
  }
  out << "\n## The service\n";
  Head(out, "| metric | type | labels | meaning |", "|---|---|---|---|");
  for (const ServiceRow& row : kServiceRows) {
    out << "| `" << row.name << "` | " << TypeName(row.type) << " | " << row.labels << " | "
        << row.help << " |\n";
  }
}

}  // namespace

std::string MetricsDocument() {
  std::ostringstream out;
  Opening(out);
  out << "\n## Counters\n";
  UnitRows(out, kCounterRows);
  out << "\n## Distributions\n\nHistograms in seconds.\n";
  PlainRows(out, kDistributionRows);
  Buckets(out);
  out << "\n## Gauges\n";
  UnitRows(out, kGaugeRows);
  Scans(out);
  Services(out);
  return out.str();
}

}  // namespace keysieve::evidence
