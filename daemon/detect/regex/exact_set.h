// SPDX-License-Identifier: MIT
// The strings a part of a regex stands for, where they are few: the raw material of cuts. A symbol
// is a byte, or a letter in either case.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/detect/regex/ast.h"

namespace keysieve::detect::regex {

// Low eight bits the byte; kAnyCase set (and the byte lower case) if the other case matches too.
using Symbol = char16_t;
using SymbolString = std::basic_string<Symbol>;
inline constexpr Symbol kAnyCase = 0x100;

// How much an analysis may still do, counted in symbols written or compared.
class Budget {
 public:
  explicit Budget(uint64_t symbols) : left_(symbols) {}
  // False, for good, once the budget is spent.
  bool Spend(uint64_t symbols) {
    left_ = symbols > left_ ? 0 : left_ - symbols;
    return left_ > 0;
  }

 private:
  uint64_t left_;
};

// Distinct, sorted strings; together they cover the part's language (a superset is never needed).
using ExactSet = std::vector<SymbolString>;

// All strings of `a` followed by all of `b`; none if more than `max_strings` or the budget is
// spent.
std::optional<ExactSet> Product(const ExactSet& a, const ExactSet& b, size_t max_strings,
                                Budget* budget);

// The exact set of each node, in the tree's order; none where it is large or long.
std::vector<std::optional<ExactSet>> ComputeExactSets(const Ast& ast, Budget* budget);

}  // namespace keysieve::detect::regex
