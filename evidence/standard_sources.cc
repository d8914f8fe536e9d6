// SPDX-License-Identifier: MIT
// /proc/self and the build.
#include "evidence/standard_sources.h"

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <system_error>

namespace keysieve::evidence {
namespace {

void Add(std::string_view name, std::optional<double> value, std::vector<MetricFamily>& families) {
  if (!value) return;
  MetricFamily family = ServiceFamily(name);
  family.samples.push_back({.value = *value});
  families.push_back(std::move(family));
}

// Fields of /proc/self/stat from the third on. The second, the program's name, may hold anything,
// so counting begins after its last parenthesis.
std::vector<std::string> StatFields() {
  std::ifstream file("/proc/self/stat");
  const std::string line((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::size_t end = line.rfind(')');
  if (end == std::string::npos) return {};
  std::istringstream rest(line.substr(end + 1));
  return {std::istream_iterator<std::string>(rest), std::istream_iterator<std::string>()};
}

// `field` as proc(5) numbers it.
std::optional<double> Field(const std::vector<std::string>& fields, std::size_t field) {
  if (field - 3 >= fields.size()) return std::nullopt;
  std::istringstream text(fields[field - 3]);
  double value = 0;
  if (!(text >> value)) return std::nullopt;
  return value;
}

std::optional<double> Scaled(std::optional<double> value, double factor) {
  if (!value) return std::nullopt;
  return *value * factor;
}

double Seconds(const timespec& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double SecondsPerTick() { return 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK)); }

// /proc/stat has the time of boot, but may be hidden; the clocks tell it too.
std::optional<double> StartTime() {
  const std::optional<double> start_ticks = Field(StatFields(), 22);
  timespec now{};
  timespec since_boot{};
  if (!start_ticks || clock_gettime(CLOCK_REALTIME, &now) != 0 ||
      clock_gettime(CLOCK_BOOTTIME, &since_boot) != 0) {
    return std::nullopt;
  }
  return Seconds(now) - Seconds(since_boot) + *start_ticks * SecondsPerTick();
}

std::optional<double> OpenFiles() {
  std::error_code error;
  std::filesystem::directory_iterator entries("/proc/self/fd", error);
  if (error) return std::nullopt;
  // The listing itself holds one descriptor open.
  return static_cast<double>(std::distance(begin(entries), end(entries)) - 1);
}

std::optional<double> MostFiles() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::nullopt;
  return static_cast<double>(limit.rlim_cur);
}

}  // namespace

ProcessSource::ProcessSource() : start_time_(StartTime()) {}

void ProcessSource::Collect(std::vector<MetricFamily>& families) const {
  const std::vector<std::string> fields = StatFields();
  const std::optional<double> user = Field(fields, 14);
  const std::optional<double> system = Field(fields, 15);
  if (user && system)
    Add("process_cpu_seconds_total", (*user + *system) * SecondsPerTick(), families);
  Add("process_threads", Field(fields, 20), families);
  Add("process_start_time_seconds", start_time_, families);
  Add("process_virtual_memory_bytes", Field(fields, 23), families);
  Add("process_resident_memory_bytes",
      Scaled(Field(fields, 24), static_cast<double>(sysconf(_SC_PAGESIZE))), families);
  Add("process_open_fds", OpenFiles(), families);
  Add("process_max_fds", MostFiles(), families);
}

void BuildInfoSource::Collect(std::vector<MetricFamily>& families) const {
  MetricFamily family = ServiceFamily("keysieve_build_info");
  family.samples.push_back({.labels = {{"version", info_.version},
                                       {"revision", info_.revision},
                                       {"compiler", info_.compiler}},
                            .value = 1});
  families.push_back(std::move(family));
}

}  // namespace keysieve::evidence
