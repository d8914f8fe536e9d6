// SPDX-License-Identifier: MIT
// What every match of a regex must contain. A cut is a set of literals of which each match holds at
// least one, with the distances that turn a literal's hit into the window its matches lie in. It
// may come from anywhere in the regex; of all sets found, the one whose literals are rarest in
// ordinary source text is taken. Where no literal is required there may still be a run of bytes of
// one class.
//
//   auto ast = ParseRegex(R"((?i)\bkey[0-9a-f]{4,40}-secret)");
//   Analysis a = Analyze(*ast, Profile::Default());
//   a.cut->literals;            // {"-secret", ignore_case}
//   a.cut->before, a.cut->after // 43, 7: a match lies in [hit - 43, hit + 7)
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "daemon/detect/regex/ast.h"
#include "daemon/detect/regex/prefix.h"
#include "daemon/detect/regex/profile.h"
#include "daemon/detect/regex/widths.h"
#include "megakernel/literal.h"

namespace keysieve::detect::regex {

inline constexpr size_t kMinLiteralBytes = 3;
inline constexpr size_t kMaxCutLiteralBytes = 24;
inline constexpr size_t kMaxCutLiterals = 256;
inline constexpr uint64_t kMaxConfirmBytes = 160;
inline constexpr uint64_t kMaxPrefixBytes = 512;

// Every match [s, e), by whatever path through the regex, holds an occurrence [p, q) of one of
// `literals` with s <= p, q <= e, p - s <= before and e - p <= after; and at that same p, if there
// is a `confirm`, it matches (anchored there, with the whole text as its context).
struct Cut {
  std::vector<megakernel::Literal> literals;  // 1 to kMaxCutLiterals, none the start of another
  uint64_t before = 0;                        // bytes; kUnbounded = no limit
  uint64_t after = 0;
  double hits_per_mb = 0;  // of all literals together, estimated
  std::optional<Prefix> confirm;
};

// Every match [s, e) holds at least `min_bytes` neighbouring bytes of `set`, the first of them at p
// with p - s <= before and e - p <= after.
struct RunProbe {
  ByteSet set;
  uint64_t min_bytes = 0;
  uint64_t before = 0;
  uint64_t after = 0;
};

struct Analysis {
  Widths width;                  // of the whole regex
  std::optional<Cut> cut;        // none: no literal of kMinLiteralBytes or more is required
  std::optional<RunProbe> run;   // the longest required run, of 2 bytes or more
  std::optional<Prefix> prefix;  // of the whole regex, where its width is unbounded
  std::optional<ByteSet> first;  // what matches begin with; none if one may be empty
};

// Pure: the same tree and profile give the same answer. Thread-safe. Work and memory are bounded
// whatever the tree (some 50 ms and 16 MB at worst); what the bound leaves out only makes a cut
// less rare, never wrong.
Analysis Analyze(const Ast& ast, const Profile& profile);

}  // namespace keysieve::detect::regex
