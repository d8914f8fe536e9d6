// SPDX-License-Identifier: MIT
// The limits are the protocol's; checking them here names the line they are broken on.
#include "daemon/client/patterns.h"

#include <string>
#include <utility>

#include "daemon/client/escape.h"
#include "evidence/base/status.h"

namespace keysieve::client {
namespace {

constexpr size_t kLiteralBytes = 255;
constexpr size_t kPatterns = 65536;
constexpr size_t kTotalBytes = 8 << 20;

absl::StatusOr<v1::Pattern> ParseLine(std::string_view line, const PatternSyntax& syntax) {
  v1::Pattern pattern;
  pattern.set_ignore_case(syntax.ignore_case);
  if (syntax.tagged) {
    if (line.size() < 2 || line[1] != '\t' || (line[0] != 'i' && line[0] != 's')) {
      return absl::InvalidArgumentError("a tagged line begins with i or s and a tab");
    }
    pattern.set_ignore_case(line[0] == 'i');
    line.remove_prefix(2);
  }
  std::string literal(line);
  if (syntax.escaped) {
    KS_ASSIGN_OR_RETURN(literal, Unescape(line));
  }
  if (literal.empty() || literal.size() > kLiteralBytes) {
    return absl::InvalidArgumentError(
        Cat("a literal has 1 to ", kLiteralBytes, " bytes, this one has ", literal.size()));
  }
  pattern.set_literal(std::move(literal));
  return pattern;
}

}  // namespace

absl::StatusOr<std::vector<v1::Pattern>> ParsePatterns(std::string_view text,
                                                       const PatternSyntax& syntax) {
  std::vector<v1::Pattern> patterns;
  size_t total = 0;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t newline = text.find('\n');
    std::string_view line = text.substr(0, newline);
    text = newline == std::string_view::npos ? "" : text.substr(newline + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.empty()) continue;
    auto pattern = ParseLine(line, syntax);
    if (!pattern.ok()) {
      return absl::InvalidArgumentError(Cat("line ", number, ": ", Message(pattern.status())));
    }
    total += pattern->literal().size();
    patterns.push_back(*std::move(pattern));
    if (patterns.size() > kPatterns || total > kTotalBytes) {
      return absl::InvalidArgumentError(Cat("line ", number, ": at most ", kPatterns,
                                            " literals and ", kTotalBytes, " bytes in all"));
    }
  }
  if (patterns.empty()) return absl::InvalidArgumentError("there is no literal in it");
  return patterns;
}

}  // namespace keysieve::client
