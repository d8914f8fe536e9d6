// SPDX-License-Identifier: MIT
// Reads a table's literals back out of it, for routes that match with something else than the
// table's own filter and for tests.
//
//   std::vector<Literal> literals = LiteralsOf(table);   // the list it was compiled from
#pragma once

#include <vector>

#include "megakernel/literal.h"
#include "megakernel/table.h"

namespace keysieve::megakernel {

// In the order of their ids; letters of literals that ignore case come in lower case. `table` was
// compiled or validated.
std::vector<Literal> LiteralsOf(const Table& table);

}  // namespace keysieve::megakernel
