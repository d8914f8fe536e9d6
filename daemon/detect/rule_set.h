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
};

// Why a blob's bytes were left out by policy.
enum class Exclusion : uint8_t { kNone, kAllowlistedPath };

struct BlobView {
  std::string_view path;    // bytes, '/'-separated
  std::string_view bytes;   // the whole blob
  std::string_view commit;  // empty if unknown
};

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

  // How each rule looks at a blob, in the order of rules().
  virtual std::span<const RulePlan> plans() const { return {}; }

  // The literals whose hits Scan() needs; compile them into one table. May be empty, then every
  // rule runs over the whole blob.
  virtual std::span<const megakernel::Literal> literals() const = 0;

  // Decided by path alone, before any byte is sent to a device.
  virtual Exclusion ExcludedByPath(std::string_view path) const = 0;

  // Findings of one whole blob, sorted by (match_start, match_end, rule). `hits` are all hits of
  // literals() in the blob, sorted. Thread-safe; pure. Call it for an empty blob too: rules on
  // paths fire there. Their findings have no secret and all places 0.
  virtual std::vector<Finding> Scan(const BlobView& blob,
                                    std::span<const megakernel::LiteralHit> hits) const = 0;
};

}  // namespace keysieve::detect
