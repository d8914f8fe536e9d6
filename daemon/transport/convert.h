// SPDX-License-Identifier: MIT
// Between the protocol's messages and the pipeline's plain data. Chunks' bytes are moved, not
// copied.
#pragma once

#include <keysieve/v1/scan.pb.h>

#include <string>
#include <vector>

#include "daemon/scan_types.h"

namespace keysieve::transport {

pipeline::ScanOptions FromProto(v1::ScanOptions&& options);
pipeline::MatchOptions FromProto(v1::MatchOptions&& options);
std::vector<pipeline::Chunk> FromProto(v1::ChunkBatch&& batch);

void ToProto(const pipeline::Accepted& accepted, v1::Accepted* out);
void ToProto(const pipeline::Accepted& accepted, v1::MatchAccepted* out);
void ToProto(pipeline::BlobResult&& result, v1::BlobResult* out);
void ToProto(const pipeline::HitsResult& result, v1::MatchBlob* out);
void ToProto(const pipeline::Summary& summary, v1::Summary* out);
void ToProto(const pipeline::Receipt& receipt, v1::Receipt* out);

// gitleaks' name of a finding: [commit:]path:rule:line.
std::string GitleaksFingerprint(const std::string& commit, const std::string& path,
                                const std::string& rule, uint32_t line);

}  // namespace keysieve::transport
