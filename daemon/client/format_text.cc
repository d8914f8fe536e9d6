// SPDX-License-Identifier: MIT
// Text for people. The only colours are the terminal's own, so that they suit its theme.
#include <iomanip>
#include <map>
#include <sstream>

#include "daemon/client/escape.h"
#include "daemon/client/formats.h"
#include "daemon/client/units.h"
#include "evidence/base/status.h"

namespace keysieve::client {
namespace {

struct Palette {
  const char* place = "";
  const char* rule = "";
  const char* dim = "";
  const char* off = "";
};

Palette PaletteFor(bool color) {
  if (!color) return {};
  return {"\x1b[1m", "\x1b[31m", "\x1b[2m", "\x1b[0m"};
}

std::string RouteText(const RunReport& report) {
  if (report.route_bytes.empty()) return "";
  std::ostringstream out;
  out << " on ";
  const char* separator = "";
  for (const auto& [route, bytes] : report.route_bytes) {
    out << separator << route;
    if (report.route_bytes.size() > 1) out << " (" << BytesText(bytes) << ")";
    separator = " and ";
  }
  return out.str();
}

std::string OmissionText(const std::string& path, const v1::Omission& omission) {
  std::string text = EscapeForTerminal(path) + ": " + ReasonName(omission.reason());
  if (omission.end() > omission.start()) {
    text += Cat(", bytes ", omission.start(), " to ", omission.end());
  }
  if (!omission.detail().empty()) text += ": " + EscapeForTerminal(omission.detail());
  return text;
}

}  // namespace

std::string FindingsAsText(const RunReport& report, bool color) {
  const Palette paint = PaletteFor(color);
  std::ostringstream out;
  for (const v1::Finding& finding : report.findings) {
    if (!finding.suppressed_by().empty()) continue;
    out << paint.place << EscapeForTerminal(finding.path()) << ":" << finding.start_line() << ":"
        << finding.start_column() << paint.off << "\n  rule         " << paint.rule
        << EscapeForTerminal(finding.rule_id()) << paint.off;
    if (!finding.description().empty()) out << "  " << EscapeForTerminal(finding.description());
    out << "\n  match        " << EscapeForTerminal(finding.match());
    if (finding.secret() != finding.match() && !finding.secret().empty()) {
      out << "\n  secret       " << EscapeForTerminal(finding.secret());
    }
    for (const std::string& step : finding.decode_path()) {
      out << "\n  decoded      " << EscapeForTerminal(step);
    }
    out << "\n  fingerprint  " << paint.dim << EscapeForTerminal(finding.keysieve_fingerprint())
        << paint.off << "\n\n";
  }
  return out.str();
}

std::string ProfileLines(const RunReport& report) {
  if (!report.profile) return "";
  const v1::Profile& profile = *report.profile;
  std::ostringstream out;
  if (!profile.unavailable().empty()) {
    out << "profile: unavailable: " << EscapeForTerminal(profile.unavailable()) << "\n";
  }
  const std::map<std::string, double> seconds(profile.device_seconds().begin(),
                                              profile.device_seconds().end());
  for (const auto& [backend, charged] : seconds) {
    out << "profile: device_seconds{" << EscapeForTerminal(backend) << "} " << charged << "\n";
  }
  out << std::setprecision(12);
  for (const v1::ProfileMetric& metric : profile.metrics()) {
    out << "profile: " << EscapeForTerminal(metric.name());
    if (!metric.label().empty()) out << "{" << EscapeForTerminal(metric.label()) << "}";
    out << " " << metric.value() << "\n";
  }
  for (const v1::ProfileEvent& event : profile.events()) {
    out << "profile: " << EscapeForTerminal(event.backend()) << ":" << event.device() << " "
        << EscapeForTerminal(event.name());
    if (event.value() != 0) out << " " << event.value();
    if (!event.detail().empty()) out << " (" << EscapeForTerminal(event.detail()) << ")";
    out << "\n";
  }
  if (profile.events_lost() > 0) {
    out << "profile: " << profile.events_lost() << " more events were not kept\n";
  }
  return out.str();
}

std::string HitsAsText(const RunReport& report, const std::vector<std::string>& patterns) {
  std::ostringstream out;
  for (const LiteralHit& hit : report.hits) {
    out << EscapeForTerminal(hit.path) << ":" << hit.match.start() << ":" << hit.match.end() << ":"
        << EscapeLiteral(patterns.at(hit.match.pattern_id())) << "\n";
  }
  return out.str();
}

std::string CompletenessSentence(const RunReport& report, std::string_view noun) {
  std::ostringstream out;
  if (report.complete) {
    out << "complete: all of " << CountText(report.blobs, "file");
  } else {
    out << "INCOMPLETE: ";
    if (report.interrupted) out << "interrupted; ";
    if (report.failed) out << "the service failed; ";
    if (report.blobs_settled < report.blobs) {
      out << report.blobs - report.blobs_settled << " of " << CountText(report.blobs, "file")
          << " not scanned";
    } else {
      out << CountText(report.blobs, "file");
    }
    out << ", " << CountText(report.gaps, "gap");
  }
  out << "; " << BytesText(report.scanned_bytes) << " scanned" << RouteText(report) << " in "
      << SecondsText(report.wall_seconds) << "; " << CountText(report.reported, noun);
  if (report.suppressed > 0) out << ", " << report.suppressed << " suppressed";
  if (report.recovered > 0) {
    out << "; " << CountText(report.recovered, "file") << " recovered on the cpu after a fault";
  }
  return out.str();
}

std::string GapLines(const RunReport& report, size_t limit) {
  std::ostringstream out;
  size_t shown = 0;
  for (const BlobNote& note : report.notes) {
    for (const v1::Omission& gap : note.receipt.gaps()) {
      if (shown++ < limit) out << "gap: " << OmissionText(note.path, gap) << "\n";
    }
  }
  if (shown > limit) {
    out << "gap: " << shown - limit << " more; --format jsonl lists all of them\n";
  }
  return out.str();
}

std::string ExclusionLines(const RunReport& report, bool each) {
  std::ostringstream out;
  std::map<std::string, uint64_t> counts;
  for (const BlobNote& note : report.notes) {
    for (const v1::Omission& exclusion : note.receipt.exclusions()) {
      if (each) out << "excluded: " << OmissionText(note.path, exclusion) << "\n";
      counts[ReasonName(exclusion.reason())] += 1;
    }
  }
  if (each || counts.empty()) return out.str();
  out << "excluded:";
  const char* separator = " ";
  for (const auto& [reason, count] : counts) {
    out << separator << count << " " << reason;
    separator = ", ";
  }
  out << "; --verbose lists them\n";
  return out.str();
}

}  // namespace keysieve::client
