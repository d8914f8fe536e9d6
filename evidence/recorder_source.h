// SPDX-License-Identifier: MIT
// The accelerator families, made from a Recorder by the vocabulary's rows. A device that has had no
// submission contributes nothing; without any such device there are no families at all.
//
//   RecorderSource source(recorder);
//   exporter.AddSource(&source);
#pragma once

#include <vector>

#include "evidence/metric_source.h"
#include "evidence/recorder.h"

namespace keysieve::evidence {

class RecorderSource final : public MetricSource {
 public:
  explicit RecorderSource(const Recorder& recorder) : recorder_(recorder) {}  // borrowed

  void Collect(std::vector<MetricFamily>& families) const override;

 private:
  const Recorder& recorder_;
};

}  // namespace keysieve::evidence
