// SPDX-License-Identifier: MIT
#include "tests/conformance/vectorscan_oracle.h"

#include <algorithm>

namespace keysieve::test {

using megakernel::Literal;
using megakernel::LiteralHit;

VectorscanOracle::VectorscanOracle(std::span<const Literal> literals) {
  std::vector<const char*> expressions;
  std::vector<unsigned> flags, ids;
  std::vector<size_t> lengths;
  for (const Literal& literal : literals) {
    expressions.push_back(literal.bytes.data());
    flags.push_back(literal.ignore_case ? HS_FLAG_CASELESS : 0);
    ids.push_back(static_cast<unsigned>(ids.size()));
    lengths.push_back(literal.bytes.size());
    lengths_.push_back(static_cast<uint32_t>(literal.bytes.size()));
  }
  hs_compile_error_t* error = nullptr;
  if (hs_compile_lit_multi(expressions.data(), flags.data(), ids.data(), lengths.data(),
                           static_cast<unsigned>(ids.size()), HS_MODE_BLOCK, nullptr, &database_,
                           &error) != HS_SUCCESS) {
    error_ = error != nullptr ? error->message : "unknown";
    hs_free_compile_error(error);
  }
}

VectorscanOracle::~VectorscanOracle() { hs_free_database(database_); }

VectorscanOracle::Scratch::Scratch(const VectorscanOracle& oracle) {
  hs_alloc_scratch(oracle.database_, &scratch_);
}

VectorscanOracle::Scratch::~Scratch() { hs_free_scratch(scratch_); }

std::vector<LiteralHit> VectorscanOracle::Matches(std::span<const uint8_t> text,
                                                  const Scratch& scratch) const {
  struct Context {
    const std::vector<uint32_t>& lengths;
    std::vector<LiteralHit> hits;
  } context{lengths_, {}};
  const auto on_match = [](unsigned id, unsigned long long, unsigned long long to, unsigned,
                           void* opaque) {
    auto& c = *static_cast<Context*>(opaque);
    c.hits.push_back({to - c.lengths[id], to, id});
    return 0;
  };
  hs_scan(database_, reinterpret_cast<const char*>(text.data()), static_cast<unsigned>(text.size()),
          0, scratch.get(), on_match, &context);
  std::sort(context.hits.begin(), context.hits.end());
  return std::move(context.hits);
}

uint64_t VectorscanOracle::Count(std::span<const uint8_t> text, const Scratch& scratch) const {
  uint64_t count = 0;
  const auto on_match = [](unsigned, unsigned long long, unsigned long long, unsigned,
                           void* opaque) {
    ++*static_cast<uint64_t*>(opaque);
    return 0;
  };
  hs_scan(database_, reinterpret_cast<const char*>(text.data()), static_cast<unsigned>(text.size()),
          0, scratch.get(), on_match, &count);
  return count;
}

}  // namespace keysieve::test
