// SPDX-License-Identifier: MIT
// Totals are counted from the blobs' own receipts, never from a stream's summary: a stream that
// broke and was repeated would count twice there.
#include "daemon/client/report.h"

#include <algorithm>
#include <utility>

#include "evidence/base/status.h"

namespace keysieve::client {
namespace {

using v1::Omission;

void AddBlob(const Blob& blob, BlobReport from, RunReport* report) {
  const v1::Receipt& receipt = from.receipt;
  report->blobs_settled += 1;
  report->bytes += receipt.blob_bytes();
  report->scanned_bytes += receipt.scanned_bytes();
  report->recovered += receipt.recovered() ? 1 : 0;
  report->gaps += static_cast<uint64_t>(receipt.gaps_size());
  report->exclusions += static_cast<uint64_t>(receipt.exclusions_size());
  if (receipt.scanned_bytes() > 0 && receipt.route() != v1::ROUTE_UNSPECIFIED) {
    report->route_bytes[RouteName(receipt.route())] += receipt.scanned_bytes();
  }
  for (v1::Finding& finding : from.findings) {
    if (finding.path().empty()) finding.set_path(blob.path);
    (finding.suppressed_by().empty() ? report->reported : report->suppressed) += 1;
    report->findings.push_back(std::move(finding));
  }
  report->reported += from.matches.size();
  for (v1::LiteralMatch& match : from.matches) {
    report->hits.push_back({blob.path, std::move(match)});
  }
  if (receipt.gaps_size() > 0 || receipt.exclusions_size() > 0 || receipt.recovered()) {
    report->notes.push_back({blob.path, std::move(from.receipt)});
  }
}

void AddOmissions(const std::vector<Omitted>& list, bool gaps, RunReport* report) {
  for (const Omitted& omitted : list) {
    BlobNote note{omitted.path, {}};
    *(gaps ? note.receipt.add_gaps() : note.receipt.add_exclusions()) = omitted.omission;
    report->notes.push_back(std::move(note));
  }
  (gaps ? report->gaps : report->exclusions) += list.size();
}

bool FindingBefore(const v1::Finding& a, const v1::Finding& b) {
  if (a.path() != b.path()) return a.path() < b.path();
  if (a.start() != b.start()) return a.start() < b.start();
  if (a.end() != b.end()) return a.end() < b.end();
  return a.rule_id() < b.rule_id();
}

bool HitBefore(const LiteralHit& a, const LiteralHit& b) {
  if (a.path != b.path) return a.path < b.path;
  if (a.match.start() != b.match.start()) return a.match.start() < b.match.start();
  if (a.match.end() != b.match.end()) return a.match.end() < b.match.end();
  return a.match.pattern_id() < b.match.pattern_id();
}

void Sort(RunReport* report) {
  std::stable_sort(report->findings.begin(), report->findings.end(), FindingBefore);
  std::stable_sort(report->hits.begin(), report->hits.end(), HitBefore);
  std::stable_sort(report->notes.begin(), report->notes.end(),
                   [](const BlobNote& a, const BlobNote& b) { return a.path < b.path; });
}

// Sums what can be summed and keeps every event, stream after stream.
v1::Profile Merge(std::vector<v1::Profile> profiles) {
  v1::Profile sum;
  std::map<std::pair<std::string, std::string>, double> metrics;
  for (v1::Profile& profile : profiles) {
    if (sum.unavailable().empty()) sum.set_unavailable(profile.unavailable());
    for (const auto& [backend, seconds] : profile.device_seconds()) {
      (*sum.mutable_device_seconds())[backend] += seconds;
    }
    for (const auto& metric : profile.metrics()) {
      metrics[{metric.name(), metric.label()}] += metric.value();
    }
    for (auto& event : *profile.mutable_events()) *sum.add_events() = std::move(event);
    sum.set_events_lost(sum.events_lost() + profile.events_lost());
  }
  for (const auto& [key, value] : metrics) {
    v1::ProfileMetric* metric = sum.add_metrics();
    metric->set_name(key.first);
    metric->set_label(key.second);
    metric->set_value(value);
  }
  return sum;
}

}  // namespace

RunReport BuildReport(WalkResult walk, const std::vector<Blob>& blobs, TransferResult transfer) {
  RunReport report;
  report.blobs = blobs.size();
  report.interrupted = transfer.interrupted;
  report.failed = !transfer.error.ok();
  if (transfer.accepted) report.accepted = *std::move(transfer.accepted);
  if (!transfer.profiles.empty()) report.profile = Merge(std::move(transfer.profiles));
  AddOmissions(walk.gaps, true, &report);
  AddOmissions(walk.exclusions, false, &report);
  for (size_t i = 0; i < blobs.size(); ++i) {
    BlobReport& blob = transfer.reports[i];
    if (!blob.settled && transfer.timed_out) {
      *blob.receipt.add_gaps() = MakeOmission(Omission::TIMEOUT, 0, blobs[i].size,
                                              "the time allowed for the scan was over");
      blob.settled = true;
    }
    if (blob.settled) AddBlob(blobs[i], std::move(blob), &report);
  }
  Sort(&report);
  report.complete = report.blobs_settled == report.blobs && report.gaps == 0 && !report.failed &&
                    !report.interrupted;
  return report;
}

const char* RouteName(v1::Route route) {
  switch (route) {
    case v1::ROUTE_CPU:
      return "cpu";
    case v1::ROUTE_CUDA:
      return "cuda";
    case v1::ROUTE_METAL:
      return "metal";
    case v1::ROUTE_VULKAN:
      return "vulkan";
    default:
      return "unknown";
  }
}

const char* ReasonName(Omission::Reason reason) {
  switch (reason) {
    case Omission::BLOB_LIMIT:
      return "blob_limit";
    case Omission::READ_ERROR:
      return "read_error";
    case Omission::TIMEOUT:
      return "timeout";
    case Omission::VANISHED:
      return "vanished";
    case Omission::TRUNCATED:
      return "truncated";
    case Omission::UNDECODABLE:
      return "undecodable";
    case Omission::DECODE_LIMIT:
      return "decode_limit";
    case Omission::ALLOWLISTED_PATH:
      return "allowlisted_path";
    case Omission::BINARY:
      return "binary";
    case Omission::IGNORED_BY_VCS:
      return "ignored_by_vcs";
    case Omission::SYMLINK:
      return "symlink";
    case Omission::SPECIAL_FILE:
      return "special_file";
    default:
      return "unspecified";
  }
}

}  // namespace keysieve::client
