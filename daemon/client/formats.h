// SPDX-License-Identifier: MIT
// The reports, as text a person reads or a program parses. Pure functions of the report: what they
// return is printed by someone else.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/client/report.h"

namespace keysieve::client {

// A block for each finding that is not suppressed. Bytes are escaped for terminals.
std::string FindingsAsText(const RunReport& report, bool color);

// gitleaks' array, its field names and order, KeysieveFingerprint last. Bytes that are not UTF-8
// become U+FFFD; suppressed findings are left out. It cannot say that a scan was incomplete.
std::string FindingsAsJson(const RunReport& report);

// A record a line: findings (suppressed ones too, with the reason), receipts of blobs with
// something to tell, and the summary last. Where bytes are not UTF-8, a field of the same name with
// _base64 added holds them exactly.
std::string ReportAsJsonLines(const RunReport& report, int exit_code);

// What `--baseline` takes: a line a finding, each once, in a settled order, with its fingerprint
// and where it stood, and no secret. Findings that a comment allows are left out, known ones stay
// in. A moved secret is no change.
std::string FindingsAsBaseline(const RunReport& report);

// path:start:end:literal, a hit a line. `patterns` are indexed by pattern id.
std::string HitsAsText(const RunReport& report, const std::vector<std::string>& patterns);
std::string HitsAsJson(const RunReport& report, const std::vector<std::string>& patterns);

// What accelerators did for the run, a line a number and then the events in order; empty if no
// profile was asked for.
std::string ProfileLines(const RunReport& report);

// One sentence: whether everything was scanned, how much, on which route, and what came of it.
// `noun` is what is counted: "finding" or "match".
std::string CompletenessSentence(const RunReport& report, std::string_view noun);

// A line a gap, `limit` at most and then how many more.
std::string GapLines(const RunReport& report, size_t limit);
// A line a reason with how many, or with `each` a line an exclusion.
std::string ExclusionLines(const RunReport& report, bool each);

}  // namespace keysieve::client
