// SPDX-License-Identifier: MIT
// A rule file, read, checked and compiled: immutable and shared by every scan that uses it. The
// format is gitleaks' TOML. Unknown keys are warnings; whatever cannot be meant is an error that
// names file, line, rule and field.
//
//   auto rules = RuleSet::LoadFile("deploy/rules/default.toml", options);
//   for (const std::string& w : (*rules)->warnings()) ...
//   session.LoadTable(*CompileTable((*rules)->literals()));
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "daemon/detect/finding.h"
#include "daemon/detect/rule_plan.h"
#include "megakernel/literal.h"

namespace keysieve::detect {

// What a rule says of itself, for listings and replies.
struct RuleInfo {
  std::string id;
  std::string description;
  std::vector<std::string> tags;
};

struct FingerprintKeys {
  struct Key {
    std::string id;      // short, printed in the fingerprint
    std::string secret;  // HMAC key bytes
  };
  std::vector<Key> keys;  // first = current; empty = the published constant
};

struct RuleOptions {
  FingerprintKeys fingerprint;
  std::string default_rules;     // path that `extend.useDefault` means
  bool may_extend_files = true;  // false for rules from the wire: `extend.path` is then an error
  // Path of a rule file that the rules lie over whatever they say, and may only add to: an
  // override, a disabled rule, or an allowlist that is not for their own rules alone is then an
  // error. Empty: they stand by themselves.
  std::string must_extend;
};

// Why a blob's bytes were left out by policy.
enum class Exclusion : uint8_t { kNone, kAllowlistedPath };

struct BlobView {
  std::string_view path;    // bytes, '/'-separated
  std::string_view bytes;   // the whole blob
  std::string_view commit;  // empty if unknown
};

inline constexpr uint32_t kMaxDecodeDepth = 10;

struct ScanSettings {
  uint32_t decode_depth = 0;  // layers of encodings to look behind; UTF-16 is read at any depth
  bool inline_allow = true;   // do allow comments suppress?
};

// Bytes of a blob in which something may have gone unseen.
struct Uncovered {
  enum class Reason : uint8_t {
    kUndecodable,  // no characters in the text's encoding
    kDecodeLimit,  // encoded stretches left as they were
  };
  Reason reason = Reason::kUndecodable;
  uint64_t start = 0;  // bytes of the blob, half open
  uint64_t end = 0;
  std::string detail;
};

struct ScanOutcome {
  std::vector<Finding> findings;  // sorted by (match_start, match_end, rule)
  std::vector<Uncovered> uncovered;
};

class Fingerprinter;

class RuleSet {
 public:
  // INVALID_ARGUMENT: "<file>:<line>: rule <id>: <field>: <what is wrong and what to do>".
  static absl::StatusOr<std::shared_ptr<const RuleSet>> LoadFile(const std::string& path,
                                                                 const RuleOptions& options);
  // `name` stands for the file in messages; `extend.path` is relative to the working directory.
  static absl::StatusOr<std::shared_ptr<const RuleSet>> LoadText(std::string_view toml,
                                                                 const std::string& name,
                                                                 const RuleOptions& options);
  virtual ~RuleSet() = default;

  virtual std::span<const RuleInfo> rules() const = 0;
  virtual std::span<const std::string> warnings() const = 0;
  virtual const std::string& digest() const = 0;  // SHA-256 of the meaning, hex
  virtual const std::string& name() const = 0;

  // What names its findings.
  virtual const Fingerprinter& fingerprinter() const = 0;

  // How each rule looks at a blob, in the order of rules().
  virtual std::span<const RulePlan> plans() const { return {}; }

  // The literals whose hits Scan() needs; compile them into one table. May be empty, then every
  // rule runs over the whole blob.
  virtual std::span<const megakernel::Literal> literals() const = 0;

  // Decided by path alone, before any byte is sent to a device.
  virtual Exclusion ExcludedByPath(std::string_view path) const = 0;

  // Findings of one whole blob and of what it decodes to, suppressed ones among them. `hits` are
  // all hits of literals() in the blob, sorted. Thread-safe; pure. Call it for an empty blob too:
  // rules on paths fire there. Their findings have no secret and all places 0.
  virtual ScanOutcome ScanAll(const BlobView& blob, std::span<const megakernel::LiteralHit> hits,
                              const ScanSettings& settings) const = 0;

  // The findings of its bytes as they are.
  std::vector<Finding> Scan(const BlobView& blob,
                            std::span<const megakernel::LiteralHit> hits) const {
    return ScanAll(blob, hits, {}).findings;
  }
};

}  // namespace keysieve::detect
