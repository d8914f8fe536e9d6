// SPDX-License-Identifier: MIT
// The daemon's settings: one immutable struct, built once from a TOML file and the command line and
// then passed by const reference. This room reads and checks; it opens nothing but the files named.
//
//   auto config = LoadConfig({.file = "/etc/keysieve/keysieved.toml", .listen =
//   {"unix:/run/k.sock"}}); if (!config.ok()) ...   // "keysieved.toml:7: limits.blob_byte: unknown
//   key; did you mean ..."
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace keysieve::config {

inline constexpr uint64_t kKiB = 1024;
inline constexpr uint64_t kMiB = 1024 * kKiB;
inline constexpr uint64_t kGiB = 1024 * kMiB;

enum class SessionPolicy : uint8_t { kAuto, kResident, kEpoch };
enum class RestartPolicy : uint8_t { kNever, kExec };
enum class CallerRules : uint8_t { kNone, kExtend, kAny };
enum class LogLevel : uint8_t { kDebug, kInfo, kWarning, kError };
enum class LogFormat : uint8_t { kAuto, kJson, kJournal };

struct FingerprintKey {
  std::string id;      // printed in fingerprints; letters and digits, 16 at most
  std::string secret;  // HMAC key bytes, never logged
};

struct Config {
  struct Server {
    std::vector<std::string> listen;              // "unix:/path" or "host:port"; never empty
    std::string admin_listen = "127.0.0.1:9464";  // empty = off
  } server;
  struct Limits {
    uint64_t blob_bytes = 64 * kMiB;     // of one blob
    uint64_t memory_bytes = 512 * kMiB;  // of all blobs held at once
    uint32_t streams = 1024;             // open at once
    uint32_t idle_s = 60;                // silence that ends a stream, seconds
  } limits;
  struct Session {
    SessionPolicy policy = SessionPolicy::kAuto;
    uint32_t slots = 256;
    uint32_t workgroup = 256;
    uint32_t tenants = 64;
    uint64_t table_bytes = 32 * kMiB;
    uint64_t batch_bytes = 8 * kMiB;
    uint32_t batches = 4;  // in flight, per device
  } session;
  struct Rules {
    std::string file;  // never empty
  } rules;
  struct Decode {
    uint32_t depth = 5;  // layers of encodings to look behind; a scan may ask for fewer
  } decode;
  struct Policy {
    bool inline_allow = true;                  // allow comments in the scanned text suppress
    bool ignores = true;                       // callers may send baselines and ignore files
    CallerRules rules = CallerRules::kExtend;  // what rules others than the daemon's user may send
  } policy;
  struct Backend {
    std::string name = "auto";
    std::vector<std::string> devices;  // indices or UUIDs; empty = all
  } backend;
  struct Cpu {
    uint32_t threads = 0;  // 0 = one per hardware thread
  } cpu;
  struct Recovery {
    RestartPolicy restart = RestartPolicy::kNever;
    uint32_t max_wait_s = 30;  // for scans under way, before a restart cuts them short
    uint32_t watchdog_s = 0;   // of one epoch; 0 = by the device
  } recovery;
  struct Fingerprint {
    std::vector<FingerprintKey> keys;  // first = current; empty = the published constant
  } fingerprint;
  struct Metrics {
    uint32_t tenants = 100;  // distinct tenant labels
  } metrics;
  struct Log {
    LogLevel level = LogLevel::kInfo;
    LogFormat format = LogFormat::kAuto;
  } log;
};

// What the command line says; it wins over the file. Absent or empty = not given.
struct Overrides {
  std::string file;
  std::vector<std::string> listen;
  std::optional<std::string> admin_listen;
  std::string rules;
  std::string backend;
  std::vector<std::string> devices;
};

// Reads the file (if one is named), applies the overrides, fills in the defaults that depend on the
// machine and checks ranges. INVALID_ARGUMENT names file, line and key, or the flag; NOT_FOUND if
// the file cannot be read.
absl::StatusOr<Config> LoadConfig(const Overrides& overrides);

// The same with the file's text given; `name` stands for it in messages.
absl::StatusOr<Config> ParseConfig(std::string_view toml, const std::string& name,
                                   const Overrides& overrides);

}  // namespace keysieve::config
