// SPDX-License-Identifier: MIT
// Three indexes: fingerprints, which name rule and secret; lines of ignore files, which name a
// place; and places of baseline entries whose secret was redacted.
#include "daemon/detect/suppress/ignores.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>
#include <utility>

#include "daemon/detect/ascii.h"
#include "daemon/detect/suppress/baseline_json.h"
#include "evidence/base/status.h"

namespace keysieve::detect::suppress {
namespace {

// gitleaks keeps entropy in single precision.
constexpr double kEntropySlack = 1e-5;

std::string_view Trimmed(std::string_view line) {
  constexpr std::string_view kBlank = " \t\r\f\v";
  const size_t first = line.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return line.substr(first, line.find_last_not_of(kBlank) - first + 1);
}

bool AllOf(std::string_view text, std::string_view allowed) {
  return !text.empty() && text.find_first_not_of(allowed) == std::string_view::npos;
}

// One of ours: k<key id>:<base32>.
bool IsFingerprint(std::string_view entry) {
  const size_t colon = entry.find(':');
  return colon != std::string_view::npos && colon > 1 && entry[0] == 'k' &&
         entry.size() - colon - 1 == kFingerprintCharacters &&
         AllOf(entry.substr(colon + 1), "abcdefghijklmnopqrstuvwxyz234567");
}

std::string_view KeyIdOf(std::string_view fingerprint) {
  return fingerprint.substr(1, fingerprint.find(':') - 1);
}

// As in reports: slashes, and no ./ before it.
std::string NormalPath(std::string_view path) {
  std::string out(path);
  std::replace(out.begin(), out.end(), '\\', '/');
  while (out.starts_with("./")) out.erase(0, 2);
  return out;
}

std::string Place(std::string_view path, std::string_view rule, uint64_t line) {
  return Cat(std::string(path), ":", std::string(rule), ":", line);
}

// What gitleaks and we put where a secret was: REDACTED, or with --redact=N a part and "...".
bool IsRedacted(std::string_view secret) {
  return secret.find("REDACTED") != std::string_view::npos || secret.ends_with("...");
}

}  // namespace

// Fills an Ignores. Lives for one Read().
class Reader {
 public:
  Reader(const Fingerprinter& names, Ignores* to, std::vector<std::string>* warnings)
      : names_(names), to_(to), warnings_(warnings) {}

  absl::Status Read(const Source& source) {
    if (source.format == Format::kGitleaksIgnore) {
      ReadLines(source);
      return absl::OkStatus();
    }
    const bool lines = source.format == Format::kKeysieveBaseline;
    const auto take = [&](BaselineEntry entry) {
      if (!lines || entry.type == "finding") Take(source, std::move(entry));
    };
    const absl::Status read =
        lines ? ReadBaselineLines(source.content, take) : ReadBaselineArray(source.content, take);
    if (read.ok()) return read;
    return absl::InvalidArgumentError(
        Cat(source.name, ": ", Message(read), "; a baseline is a report as ",
            lines ? "`--format jsonl` or `--write-baseline` writes" : "`--format json` writes"));
  }

  void WarnOfUnknownKeys() {
    for (const auto& [id, count] : unknown_keys_) {
      warnings_->push_back(Cat(count, " fingerprints were made with the key \"", id,
                               "\", which is not among fingerprint.keys here: they cannot be ",
                               "recognised"));
    }
  }

 private:
  void ReadLines(const Source& source) {
    std::string_view rest = source.content;
    for (uint64_t number = 1; !rest.empty(); ++number) {
      const size_t end = std::min(rest.find('\n'), rest.size());
      const std::string_view line = Trimmed(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (line.empty() || line[0] == '#') continue;
      const std::string by = Cat(source.name, ":", number);
      if (IsFingerprint(line)) {
        AddFingerprint(line, by);
      } else if (!AddLine(line, by)) {
        warnings_->push_back(Cat(by, ": is neither [commit:]path:rule:line nor a fingerprint; it ",
                                 "suppresses nothing"));
      }
    }
  }

  // Paths may hold colons, rules and lines may not.
  bool AddLine(std::string_view line, const std::string& by) {
    const size_t last = line.rfind(':');
    if (last == std::string_view::npos || last == 0) return false;
    const size_t middle = line.rfind(':', last - 1);
    if (middle == std::string_view::npos || middle == 0 || middle + 1 == last) return false;
    if (!AllOf(line.substr(last + 1), "0123456789")) return false;
    std::string_view path = line.substr(0, middle);
    std::string commit;
    const size_t colon = path.find(':');
    if (colon != std::string_view::npos && colon >= 7 &&
        AllOf(path.substr(0, colon), "0123456789abcdefABCDEF")) {
      commit = LowerAscii(path.substr(0, colon)) + ":";
      path.remove_prefix(colon + 1);
    }
    to_->by_line_.emplace(Cat(commit, NormalPath(path), std::string(line.substr(middle))), by);
    return true;
  }

  void AddFingerprint(std::string_view fingerprint, const std::string& by) {
    if (!names_.Knows(KeyIdOf(fingerprint))) ++unknown_keys_[std::string(KeyIdOf(fingerprint))];
    to_->by_fingerprint_.emplace(fingerprint, by);
  }

  void Take(const Source& source, BaselineEntry entry) {
    if (IsFingerprint(entry.fingerprint)) return AddFingerprint(entry.fingerprint, source.name);
    if (entry.rule.empty()) return;
    if (!IsRedacted(entry.secret)) {
      // A rule on paths has no secret: the path is what it found.
      const std::string& what = entry.secret.empty() ? entry.file : entry.secret;
      to_->by_fingerprint_.emplace(names_.Of(entry.rule, what), source.name);
      return;
    }
    ++to_->redacted_entries_;
    to_->by_place_[Place(NormalPath(entry.file), entry.rule, entry.start_line)].push_back(
        {entry.start_column, entry.end_line, entry.entropy, source.name});
  }

  const Fingerprinter& names_;
  Ignores* to_;
  std::vector<std::string>* warnings_;
  std::unordered_map<std::string, uint64_t> unknown_keys_;
};

absl::StatusOr<std::shared_ptr<const Ignores>> Ignores::Read(std::span<const Source> sources,
                                                             const Fingerprinter& names,
                                                             std::vector<std::string>* warnings) {
  if (sources.size() > kMaxIgnoreSources) {
    return absl::InvalidArgumentError(Cat(sources.size(), " baselines and ignore files; ",
                                          kMaxIgnoreSources, " is the limit: join some"));
  }
  uint64_t bytes = 0;
  for (const Source& source : sources) bytes += source.content.size();
  if (bytes > kMaxIgnoreBytes) {
    return absl::InvalidArgumentError(Cat("baselines and ignore files of ", bytes,
                                          " bytes together; ", kMaxIgnoreBytes,
                                          " is the limit: write a smaller baseline"));
  }
  auto ignores = std::make_shared<Ignores>();
  Reader reader(names, ignores.get(), warnings);
  for (const Source& source : sources) KS_RETURN_IF_ERROR(reader.Read(source));
  reader.WarnOfUnknownKeys();
  return std::shared_ptr<const Ignores>(std::move(ignores));
}

std::string Ignores::KnownAs(std::string_view path, std::string_view commit,
                             const std::string& rule, std::span<const std::string> fingerprints,
                             const Finding& finding) const {
  for (const std::string& fingerprint : fingerprints) {
    const auto known = by_fingerprint_.find(fingerprint);
    if (known != by_fingerprint_.end()) return known->second;
  }
  if (by_line_.empty() && by_place_.empty()) return "";
  const std::string place = Place(path, rule, finding.start_line);
  auto line = by_line_.find(place);
  if (line == by_line_.end() && !commit.empty()) {
    line = by_line_.find(Cat(LowerAscii(commit), ":", place));
  }
  if (line != by_line_.end()) return line->second;
  const auto redacted = by_place_.find(place);
  if (redacted == by_place_.end()) return "";
  for (const Redacted& entry : redacted->second) {
    // gitleaks counts one column too many after a file's first line.
    const bool there = entry.start_column == finding.start_column ||
                       (finding.start_line > 1 && entry.start_column == finding.start_column + 1);
    if (there && entry.end_line == finding.end_line &&
        std::abs(entry.entropy - finding.entropy) <= kEntropySlack) {
      return entry.by;
    }
  }
  return "";
}

void Ignores::Mark(std::string_view path, std::string_view commit, const RuleSet& rules,
                   std::span<Finding> findings) const {
  const std::string normal = NormalPath(path);
  for (Finding& finding : findings) {
    if (!finding.suppressed_by.empty()) continue;
    const std::string& rule = rules.rules()[finding.rule].id;
    const std::string_view what = finding.secret.empty() ? path : finding.secret;
    finding.suppressed_by =
        KnownAs(normal, commit, rule, rules.fingerprinter().AllOf(rule, what), finding);
  }
}

}  // namespace keysieve::detect::suppress
