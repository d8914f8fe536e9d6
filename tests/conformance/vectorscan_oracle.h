// SPDX-License-Identifier: MIT
// Vectorscan's literal matcher as an oracle and as the peer of the benchmark: it shares no code
// with what it checks.
#pragma once

#include <hs/hs.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "megakernel/literal.h"

namespace keysieve::test {

// Threads may share one oracle as long as each has its own scratch.
class VectorscanOracle {
 public:
  // An empty error() means that the set compiled.
  explicit VectorscanOracle(std::span<const megakernel::Literal> literals);
  ~VectorscanOracle();
  VectorscanOracle(const VectorscanOracle&) = delete;
  VectorscanOracle& operator=(const VectorscanOracle&) = delete;

  const std::string& error() const { return error_; }

  class Scratch {
   public:
    explicit Scratch(const VectorscanOracle& oracle);
    ~Scratch();
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    hs_scratch_t* get() const { return scratch_; }

   private:
    hs_scratch_t* scratch_ = nullptr;
  };

  // All hits, sorted by (start, end, pattern).
  std::vector<megakernel::LiteralHit> Matches(std::span<const uint8_t> text,
                                              const Scratch& scratch) const;
  std::vector<megakernel::LiteralHit> Matches(std::span<const uint8_t> text) const {
    return Matches(text, Scratch(*this));
  }
  // Only their number: what a benchmark times.
  uint64_t Count(std::span<const uint8_t> text, const Scratch& scratch) const;

 private:
  hs_database_t* database_ = nullptr;
  std::vector<uint32_t> lengths_;
  std::string error_;
};

}  // namespace keysieve::test
