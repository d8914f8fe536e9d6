// SPDX-License-Identifier: MIT
// Field by field; see convert.h.
#include "daemon/transport/convert.h"

#include "evidence/base/status.h"
#include "evidence/context_report.h"
#include "evidence/utf8.h"

namespace keysieve::transport {
namespace {

v1::Route ToProto(backends::BackendKind kind) {
  switch (kind) {
    case backends::BackendKind::kCpu:
      return v1::ROUTE_CPU;
    case backends::BackendKind::kCuda:
      return v1::ROUTE_CUDA;
    case backends::BackendKind::kMetal:
      return v1::ROUTE_METAL;
    case backends::BackendKind::kVulkan:
      return v1::ROUTE_VULKAN;
  }
  return v1::ROUTE_UNSPECIFIED;
}

detect::suppress::Format FromProto(v1::IgnoreSource::Format format) {
  using detect::suppress::Format;
  switch (format) {
    case v1::IgnoreSource::GITLEAKS_BASELINE:
      return Format::kGitleaksBaseline;
    case v1::IgnoreSource::KEYSIEVE_BASELINE:
      return Format::kKeysieveBaseline;
    default:
      return Format::kGitleaksIgnore;
  }
}

void Fill(uint64_t blob_bytes, v1::Limits* limits) {
  limits->set_chunk_bytes(pipeline::kMaxChunkBytes);
  limits->set_message_bytes(pipeline::kMaxMessageBytes);
  limits->set_blob_bytes(blob_bytes);
  limits->set_path_bytes(pipeline::kMaxPathBytes);
}

void Fill(const pipeline::Omission& omission, v1::Omission* out) {
  out->set_reason(static_cast<v1::Omission::Reason>(omission.reason));
  out->set_start(omission.start);
  out->set_end(omission.end);
  out->set_detail(evidence::ValidUtf8(omission.detail));
}

void Fill(const pipeline::BlobResult& blob, detect::Finding&& finding, v1::Finding* out) {
  const detect::RuleInfo& rule = blob.rules->rules()[finding.rule];
  out->set_rule_id(rule.id);
  out->set_description(rule.description);
  out->set_path(blob.path);
  out->set_start(finding.match_start);
  out->set_end(finding.match_end);
  out->set_secret_start(finding.secret_start);
  out->set_secret_end(finding.secret_end);
  out->set_start_line(finding.start_line);
  out->set_end_line(finding.end_line);
  out->set_start_column(finding.start_column);
  out->set_end_column(finding.end_column);
  out->set_match(std::move(finding.match));
  out->set_secret(std::move(finding.secret));
  out->set_entropy(finding.entropy);
  for (const std::string& tag : rule.tags) out->add_tags(tag);
  if (finding.checksum != detect::ChecksumResult::kUnchecked) {
    out->add_tags(detect::TagOf(finding.checksum));
  }
  out->set_fingerprint(GitleaksFingerprint(blob.commit, blob.path, rule.id, finding.start_line));
  out->set_keysieve_fingerprint(finding.fingerprint);
  for (std::string& step : finding.decode_path) out->add_decode_path(std::move(step));
  out->set_suppressed_by(evidence::ValidUtf8(finding.suppressed_by));
  out->set_commit(blob.commit);
}

void Fill(const pipeline::Profile& profile, v1::Profile* out) {
  out->set_unavailable(profile.unavailable);
  for (const auto& [backend, ns] : profile.device_ns) {
    (*out->mutable_device_seconds())[backend] = static_cast<double>(ns) / 1e9;
  }
  for (const evidence::NamedValue& value : evidence::NamedCounters(profile.record.counters)) {
    v1::ProfileMetric* metric = out->add_metrics();
    metric->set_name(value.name);
    metric->set_label(std::string(value.label));
    metric->set_value(value.value);
  }
  for (const evidence::JournalEntry& entry : profile.record.journal) {
    const evidence::NamedEntry named = evidence::Describe(entry);
    v1::ProfileEvent* event = out->add_events();
    event->set_name(std::string(named.name));
    event->set_backend(std::string(named.backend));
    event->set_device(named.device);
    event->set_value(named.value);
    event->set_detail(std::string(named.detail));
  }
  out->set_events_lost(profile.record.journal_lost);
}

}  // namespace

pipeline::ScanOptions FromProto(v1::ScanOptions&& options) {
  pipeline::ScanOptions out;
  if (options.has_rule_toml()) {
    out.rule_toml = std::move(*options.mutable_rule_toml());
  } else {
    out.rule_set = options.rule_set();
  }
  out.show_secrets = options.show_secrets();
  out.label = options.label();
  out.profile = options.profile();
  if (options.has_decode_depth()) out.decode_depth = options.decode_depth();
  for (v1::IgnoreSource& source : *options.mutable_ignores()) {
    out.ignores.push_back({.name = source.name().substr(0, pipeline::kMaxPathBytes),
                           .format = FromProto(source.format()),
                           .content = std::move(*source.mutable_content())});
  }
  return out;
}

pipeline::MatchOptions FromProto(v1::MatchOptions&& options) {
  pipeline::MatchOptions out;
  out.rule_set = options.rule_set();
  out.patterns.reserve(static_cast<size_t>(options.patterns_size()));
  for (v1::Pattern& pattern : *options.mutable_patterns()) {
    out.patterns.push_back({std::move(*pattern.mutable_literal()), pattern.ignore_case()});
  }
  return out;
}

std::vector<pipeline::Chunk> FromProto(v1::ChunkBatch&& batch) {
  std::vector<pipeline::Chunk> chunks;
  chunks.reserve(static_cast<size_t>(batch.chunks_size()));
  for (v1::Chunk& chunk : *batch.mutable_chunks()) {
    pipeline::Chunk out;
    out.blob_id = chunk.blob_id();
    out.path = std::move(*chunk.mutable_path());
    if (chunk.has_declared_size()) out.declared_size = chunk.declared_size();
    out.offset = chunk.offset();
    out.last = chunk.last();
    if (chunk.has_metadata()) out.commit = chunk.metadata().commit();
    out.by_reference = chunk.has_region();
    out.data = std::move(*chunk.mutable_data());
    chunks.push_back(std::move(out));
  }
  return chunks;
}

void ToProto(const pipeline::Accepted& accepted, v1::Accepted* out) {
  out->set_scan_id(accepted.scan_id);
  Fill(accepted.blob_bytes, out->mutable_limits());
  out->set_rule_digest(accepted.rule_digest);
  out->set_rule_count(accepted.rule_count);
  out->set_daemon_version(KEYSIEVE_VERSION);
  out->set_rule_set(evidence::ValidUtf8(accepted.rule_set));
  for (const std::string& warning : accepted.warnings) {
    out->add_warnings(evidence::ValidUtf8(warning));
  }
}

void ToProto(const pipeline::Accepted& accepted, v1::MatchAccepted* out) {
  out->set_scan_id(accepted.scan_id);
  Fill(accepted.blob_bytes, out->mutable_limits());
  out->set_table_digest(accepted.rule_digest);
  out->set_pattern_count(accepted.rule_count);
  for (const megakernel::Literal& literal : accepted.literals) {
    v1::Pattern* pattern = out->add_patterns();
    pattern->set_literal(literal.bytes);
    pattern->set_ignore_case(literal.ignore_case);
  }
}

void ToProto(const pipeline::Receipt& receipt, v1::Receipt* out) {
  out->set_blob_bytes(receipt.blob_bytes);
  out->set_scanned_bytes(receipt.scanned_bytes);
  out->set_route(WasScanned(receipt) ? ToProto(receipt.route) : v1::ROUTE_UNSPECIFIED);
  out->set_recovered(receipt.recovered);
  out->set_route_reason(evidence::ValidUtf8(receipt.route_reason));
  for (const auto& gap : receipt.gaps) Fill(gap, out->add_gaps());
  for (const auto& exclusion : receipt.exclusions) Fill(exclusion, out->add_exclusions());
}

void ToProto(pipeline::BlobResult&& result, v1::BlobResult* out) {
  out->set_blob_id(result.blob_id);
  for (detect::Finding& finding : result.findings) {
    Fill(result, std::move(finding), out->add_findings());
  }
  ToProto(result.receipt, out->mutable_receipt());
}

void ToProto(const pipeline::HitsResult& result, v1::MatchBlob* out) {
  out->set_blob_id(result.blob_id);
  out->mutable_matches()->Reserve(static_cast<int>(result.hits.size()));
  for (const megakernel::LiteralHit& hit : result.hits) {
    v1::LiteralMatch* match = out->add_matches();
    match->set_pattern_id(hit.pattern);
    match->set_start(hit.start);
    match->set_end(hit.end);
  }
  out->set_last(result.last);
  if (result.receipt != nullptr) ToProto(*result.receipt, out->mutable_receipt());
}

void ToProto(const pipeline::Summary& summary, v1::Summary* out) {
  out->set_scan_id(summary.scan_id);
  out->set_blobs(summary.blobs);
  out->set_bytes(summary.bytes);
  out->set_scanned_bytes(summary.scanned_bytes);
  out->set_findings(summary.findings);
  out->set_suppressed(summary.suppressed);
  out->set_gaps(summary.gaps);
  out->set_exclusions(summary.exclusions);
  out->set_complete(summary.complete);
  for (const auto& [route, bytes] : summary.route_bytes)
    (*out->mutable_route_bytes())[route] = bytes;
  out->set_rule_digest(summary.rule_digest);
  out->set_wall_seconds(summary.wall_seconds);
  if (summary.profile) Fill(*summary.profile, out->mutable_profile());
}

std::string GitleaksFingerprint(const std::string& commit, const std::string& path,
                                const std::string& rule, uint32_t line) {
  const std::string where = evidence::ValidUtf8(path);
  return commit.empty() ? Cat(where, ":", rule, ":", line)
                        : Cat(commit, ":", where, ":", rule, ":", line);
}

}  // namespace keysieve::transport
