// SPDX-License-Identifier: MIT
// Literal hits without a device, for a look at one file from the command line. Not for scanning:
// that is the megakernel's work.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "megakernel/literal.h"

namespace keysieve::detect {

// All hits, overlapping ones too, sorted.
std::vector<megakernel::LiteralHit> SearchLiterals(std::span<const megakernel::Literal> literals,
                                                   std::string_view text);

}  // namespace keysieve::detect
