// SPDX-License-Identifier: MIT
// Opens a session on a backend's first adapter, if there is one, and scans texts with it.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/device.h"
#include "megakernel/session.h"

namespace keysieve::test {

using PieceHits = std::vector<std::vector<megakernel::LiteralHit>>;

// One of the ways to come to the same hits.
struct Way {
  const char* name;
  backends::BackendKind backend;
  megakernel::MatchRoute route = megakernel::MatchRoute::kTuned;
  megakernel::SessionPolicy policy = megakernel::SessionPolicy::kEpoch;
  std::chrono::milliseconds park_after{1000};
};

class SessionHarness {
 public:
  // `poison`: overwrite the hit queue before every epoch. The tuned route of a table is ready when
  // it has been loaded.
  SessionHarness(const Way& way, const megakernel::Geometry& geometry, bool poison = false);
  ~SessionHarness();

  // Why there is no session; empty if there is one. An absent adapter is a skip, anything else
  // a failure.
  const std::string& absent() const { return absent_; }
  const std::string& failure() const { return failure_; }

  megakernel::Session& session() { return *session_; }
  // Adds a failure to the running test and returns what it can if anything goes wrong.
  megakernel::TableHandle Load(std::span<const megakernel::Literal> literals);
  PieceHits Scan(megakernel::TableHandle table, std::span<const megakernel::Piece> pieces);
  megakernel::BatchResult ScanBatch(megakernel::TableHandle table,
                                    std::span<const megakernel::Piece> pieces);
  megakernel::BatchResult Take();

 private:
  std::string absent_, failure_;
  std::unique_ptr<backends::Device> device_;
  std::unique_ptr<backends::Device> poisoner_;
  std::unique_ptr<megakernel::Session> session_;
};

// One piece that owns all of `text`.
megakernel::Piece WholePiece(const std::string& text);

}  // namespace keysieve::test
