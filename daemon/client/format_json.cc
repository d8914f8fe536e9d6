// SPDX-License-Identifier: MIT
// JSON is built in order and dumped with invalid UTF-8 replaced, so that any byte in a path or a
// match still gives a document every parser takes.
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "daemon/client/escape.h"
#include "daemon/client/formats.h"

namespace keysieve::client {
namespace {

using Json = nlohmann::ordered_json;

std::string Dump(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

// `name`, and where the bytes are not text, `name`_base64 beside it.
void PutBytes(const std::string& name, const std::string& bytes, Json* to) {
  (*to)[name] = bytes;
  if (!IsUtf8(bytes)) (*to)[name + "_base64"] = Base64(bytes);
}

Json StringList(const google::protobuf::RepeatedPtrField<std::string>& list) {
  Json array = Json::array();
  for (const std::string& item : list) array.push_back(item);
  return array;
}

// The rule's tags, and gitleaks' two kinds for what was decoded.
Json GitleaksTags(const v1::Finding& finding) {
  Json tags = StringList(finding.tags());
  for (const std::string& step : finding.decode_path()) tags.push_back("decoded:" + step);
  const int depth = finding.decode_path_size();
  if (depth > 0) tags.push_back("decode-depth:" + std::to_string(depth));
  return tags;
}

Json GitleaksFinding(const v1::Finding& finding) {
  return Json{{"RuleID", finding.rule_id()},
              {"Description", finding.description()},
              {"StartLine", finding.start_line()},
              {"EndLine", finding.end_line()},
              {"StartColumn", finding.start_column()},
              {"EndColumn", finding.end_column()},
              {"Match", finding.match()},
              {"Secret", finding.secret()},
              {"File", finding.path()},
              {"SymlinkFile", ""},
              {"Commit", finding.commit()},
              {"Entropy", finding.entropy()},
              {"Author", ""},
              {"Email", ""},
              {"Date", ""},
              {"Message", ""},
              {"Tags", GitleaksTags(finding)},
              {"Fingerprint", finding.fingerprint()},
              {"KeysieveFingerprint", finding.keysieve_fingerprint()}};
}

Json FindingRecord(const v1::Finding& finding) {
  Json record{{"type", "finding"}, {"rule_id", finding.rule_id()}};
  record["description"] = finding.description();
  PutBytes("path", finding.path(), &record);
  record["start"] = finding.start();
  record["end"] = finding.end();
  record["secret_start"] = finding.secret_start();
  record["secret_end"] = finding.secret_end();
  record["start_line"] = finding.start_line();
  record["end_line"] = finding.end_line();
  record["start_column"] = finding.start_column();
  record["end_column"] = finding.end_column();
  PutBytes("match", finding.match(), &record);
  PutBytes("secret", finding.secret(), &record);
  record["entropy"] = finding.entropy();
  record["tags"] = StringList(finding.tags());
  record["decode_path"] = StringList(finding.decode_path());
  record["commit"] = finding.commit();
  record["fingerprint"] = finding.fingerprint();
  record["keysieve_fingerprint"] = finding.keysieve_fingerprint();
  if (!finding.suppressed_by().empty()) record["suppressed_by"] = finding.suppressed_by();
  return record;
}

Json Omissions(const google::protobuf::RepeatedPtrField<v1::Omission>& list) {
  Json array = Json::array();
  for (const v1::Omission& omission : list) {
    array.push_back(Json{{"reason", ReasonName(omission.reason())},
                         {"start", omission.start()},
                         {"end", omission.end()},
                         {"detail", omission.detail()}});
  }
  return array;
}

Json ReceiptRecord(const BlobNote& note) {
  const v1::Receipt& receipt = note.receipt;
  Json record{{"type", "receipt"}};
  PutBytes("path", note.path, &record);
  record["blob_bytes"] = receipt.blob_bytes();
  record["scanned_bytes"] = receipt.scanned_bytes();
  if (receipt.route() != v1::ROUTE_UNSPECIFIED) record["route"] = RouteName(receipt.route());
  record["recovered"] = receipt.recovered();
  if (!receipt.route_reason().empty()) record["route_reason"] = receipt.route_reason();
  record["gaps"] = Omissions(receipt.gaps());
  record["exclusions"] = Omissions(receipt.exclusions());
  return record;
}

Json ProfileRecord(const v1::Profile& profile) {
  Json metrics = Json::array();
  for (const v1::ProfileMetric& metric : profile.metrics()) {
    Json one{{"name", metric.name()}};
    if (!metric.label().empty()) one["label"] = metric.label();
    one["value"] = metric.value();
    metrics.push_back(std::move(one));
  }
  Json events = Json::array();
  for (const v1::ProfileEvent& event : profile.events()) {
    events.push_back(Json{{"name", event.name()},
                          {"backend", event.backend()},
                          {"device", event.device()},
                          {"value", event.value()},
                          {"detail", event.detail()}});
  }
  Json record{
      {"type", "profile"},
      {"device_seconds", Json(std::map<std::string, double>(profile.device_seconds().begin(),
                                                            profile.device_seconds().end()))},
      {"metrics", metrics},
      {"events", events},
      {"events_lost", profile.events_lost()}};
  if (!profile.unavailable().empty()) record["unavailable"] = profile.unavailable();
  return record;
}

Json SummaryRecord(const RunReport& report, int exit_code) {
  Json record{{"type", "summary"},
              {"complete", report.complete},
              {"findings", report.reported},
              {"suppressed", report.suppressed},
              {"blobs", report.blobs},
              {"blobs_answered", report.blobs_settled},
              {"bytes", report.bytes},
              {"scanned_bytes", report.scanned_bytes},
              {"gaps", report.gaps},
              {"exclusions", report.exclusions},
              {"recovered_blobs", report.recovered},
              {"route_bytes", Json(report.route_bytes)},
              {"rule_set", report.accepted.rule_set},
              {"rule_digest", report.accepted.rule_digest},
              {"scan_id", report.accepted.scan_id},
              {"daemon_version", report.accepted.daemon_version},
              {"wall_seconds", report.wall_seconds},
              {"exit_code", exit_code}};
  if (report.failed) record["failure"] = report.failure;
  return record;
}

}  // namespace

std::string FindingsAsJson(const RunReport& report) {
  Json array = Json::array();
  for (const v1::Finding& finding : report.findings) {
    if (finding.suppressed_by().empty()) array.push_back(GitleaksFinding(finding));
  }
  return Dump(array, 1) + "\n";
}

std::string FindingsAsBaseline(const RunReport& report) {
  std::string out;
  std::set<std::string> written;
  for (const v1::Finding& finding : report.findings) {
    if (finding.suppressed_by().ends_with(":allow")) continue;
    if (!written.insert(finding.keysieve_fingerprint()).second) continue;
    Json record{{"type", "finding"}, {"rule_id", finding.rule_id()}};
    PutBytes("path", finding.path(), &record);
    record["start_line"] = finding.start_line();
    record["keysieve_fingerprint"] = finding.keysieve_fingerprint();
    out += Dump(record, -1) + "\n";
  }
  return out;
}

std::string ReportAsJsonLines(const RunReport& report, int exit_code) {
  std::string out;
  for (const v1::Finding& finding : report.findings) out += Dump(FindingRecord(finding), -1) + "\n";
  for (const BlobNote& note : report.notes) out += Dump(ReceiptRecord(note), -1) + "\n";
  if (report.profile) out += Dump(ProfileRecord(*report.profile), -1) + "\n";
  return out + Dump(SummaryRecord(report, exit_code), -1) + "\n";
}

std::string HitsAsJson(const RunReport& report, const std::vector<std::string>& patterns) {
  Json array = Json::array();
  for (const LiteralHit& hit : report.hits) {
    Json record = Json::object();
    PutBytes("path", hit.path, &record);
    record["start"] = hit.match.start();
    record["end"] = hit.match.end();
    record["pattern"] = hit.match.pattern_id();
    PutBytes("literal", patterns.at(hit.match.pattern_id()), &record);
    array.push_back(std::move(record));
  }
  return Dump(array, 1) + "\n";
}

}  // namespace keysieve::client
