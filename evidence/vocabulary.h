// SPDX-License-Identifier: MIT
// The enums and row tables made from evidence/vocabulary.inl, and the names of the label values.
// Holds no state and records nothing. Everything here is constant and may be used from any thread.
//
//   const CounterRow& row = kCounterRows[Index(Counter::kUploadBytes)];
//   LabelValues(row.label)[0];  // "text"
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "evidence/device_recorder.h"

namespace keysieve::evidence {

inline constexpr std::string_view kPrefix = "keysieve_gpu_";

enum class Counter : uint8_t {
#define KS_COUNTER(id, ...) id,
#include "evidence/vocabulary.inl"
};
enum class Distribution : uint8_t {
#define KS_DISTRIBUTION(id, ...) id,
#include "evidence/vocabulary.inl"
};
enum class Gauge : uint8_t {
#define KS_GAUGE(id, ...) id,
#include "evidence/vocabulary.inl"
};
enum class Event : uint8_t {
#define KS_EVENT(id, ...) id,
#include "evidence/vocabulary.inl"
};
enum class Annotation : uint8_t {
#define KS_ANNOTATION(id, ...) id,
#include "evidence/vocabulary.inl"
};
// The numbers are stable and exported.
enum class Capability : uint8_t {
#define KS_CAPABILITY(id, number, ...) id = number,
#include "evidence/vocabulary.inl"
};

enum class Unit : uint8_t { kCount, kBytes, kNanoseconds, kCycles, kRatio };
// What a row's cells are told apart by; kTraffic and kFault are both exported as `kind`.
enum class LabelKind : uint8_t { kNone, kTraffic, kFault, kEvent, kCapability };
enum class MetricType : uint8_t { kCounter, kGauge, kHistogram };

struct CounterRow {
  std::string_view name;  // without kPrefix
  Unit unit;
  LabelKind label;
  std::string_view help;
  std::string_view when;
};
using GaugeRow = CounterRow;
struct DistributionRow {
  std::string_view name;
  std::string_view help;
  std::string_view when;
};
using AnnotationRow = DistributionRow;
struct EventRow {
  std::string_view name;
  std::string_view when;
};
struct CapabilityRow {
  uint8_t number;
  std::string_view name;
  std::string_view help;
};
struct InfoRow {
  std::string_view name;
  std::string_view labels;
  std::string_view help;
  std::string_view when;
};
struct ServiceRow {
  std::string_view name;  // whole
  MetricType type;
  std::string_view labels;  // comma-separated
  std::string_view help;
};

inline constexpr auto kCounterRows = std::to_array<CounterRow>({
#define KS_COUNTER(id, name, unit, label, help, when) \
  {name, Unit::unit, LabelKind::label, help, when},
#include "evidence/vocabulary.inl"
});
inline constexpr auto kDistributionRows = std::to_array<DistributionRow>({
#define KS_DISTRIBUTION(id, name, help, when) {name, help, when},
#include "evidence/vocabulary.inl"
});
inline constexpr auto kGaugeRows = std::to_array<GaugeRow>({
#define KS_GAUGE(id, name, unit, label, help, when) \
  {name, Unit::unit, LabelKind::label, help, when},
#include "evidence/vocabulary.inl"
});
inline constexpr auto kEventRows = std::to_array<EventRow>({
#define KS_EVENT(id, name, when) {name, when},
#include "evidence/vocabulary.inl"
});
inline constexpr auto kAnnotationRows = std::to_array<AnnotationRow>({
#define KS_ANNOTATION(id, name, help, when) {name, help, when},
#include "evidence/vocabulary.inl"
});
inline constexpr auto kCapabilityRows = std::to_array<CapabilityRow>({
#define KS_CAPABILITY(id, number, name, help) {number, name, help},
#include "evidence/vocabulary.inl"
});
inline constexpr auto kInfoRows = std::to_array<InfoRow>({
#define KS_INFO(name, labels, help, when) {name, labels, help, when},
#include "evidence/vocabulary.inl"
});
inline constexpr auto kServiceRows = std::to_array<ServiceRow>({
#define KS_SERVICE(name, type, labels, help) {name, MetricType::type, labels, help},
#include "evidence/vocabulary.inl"
});

inline constexpr std::size_t kCounters = kCounterRows.size();
inline constexpr std::size_t kDistributions = kDistributionRows.size();
inline constexpr std::size_t kGauges = kGaugeRows.size();
inline constexpr std::size_t kEventKinds = kEventRows.size();
inline constexpr std::size_t kAnnotations = kAnnotationRows.size();
inline constexpr std::size_t kCapabilities = kCapabilityRows.size();

// Position of a row in its table; for a capability, its number less one.
template <typename Word>
constexpr std::size_t Index(Word word) {
  return static_cast<std::size_t>(word);
}
constexpr std::size_t Index(Capability capability) {
  return static_cast<std::size_t>(capability) - 1;
}

inline constexpr std::string_view kTrafficNames[kTrafficKinds] = {"text", "control", "table",
                                                                  "hits"};
inline constexpr std::string_view kFaultNames[kFaultKinds] = {
    "dispatch", "timeout", "out_of_memory", "device_lost", "integrity"};

// The values `label` takes, in cell order; one empty value for kNone.
std::span<const std::string_view> LabelValues(LabelKind label);
// "kind", "event", "capability"; empty for kNone.
std::string_view LabelName(LabelKind label);

constexpr std::size_t LabelCount(LabelKind label) {
  switch (label) {
    case LabelKind::kNone:
      return 1;
    case LabelKind::kTraffic:
      return kTrafficKinds;
    case LabelKind::kFault:
      return kFaultKinds;
    case LabelKind::kEvent:
      return kEventKinds;
    case LabelKind::kCapability:
      return kCapabilities;
  }
  return 1;
}

// The lower-case name of an enumerator; empty for any other number, never another vendor's name.
std::string_view AcceleratorName(Accelerator accelerator);
// INVALID_ARGUMENT names the value and what there is.
absl::StatusOr<Accelerator> AcceleratorFromCode(int code);
absl::StatusOr<Accelerator> AcceleratorFromName(std::string_view name);

// The row of one of the service's own metrics, so that help texts are written once; null if there
// is none of that whole name.
const ServiceRow* FindServiceRow(std::string_view name);

}  // namespace keysieve::evidence
