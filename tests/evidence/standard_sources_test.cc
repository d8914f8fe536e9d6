// SPDX-License-Identifier: MIT
// The process' own metrics against other ways of asking the kernel, and UTF-8 against the RFC.
#include "evidence/standard_sources.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>
#include <map>
#include <set>
#include <string>

#include "evidence/utf8.h"

namespace keysieve::evidence {
namespace {

std::map<std::string, double> Collect(const MetricSource& source) {
  std::vector<MetricFamily> families;
  source.Collect(families);
  std::map<std::string, double> values;
  for (const MetricFamily& family : families) {
    EXPECT_EQ(family.samples.size(), 1u) << family.name;
    values[family.name] = family.samples[0].value;
  }
  return values;
}

TEST(ProcessSource, HasEveryProcessRowOfTheVocabulary) {
  const auto values = Collect(ProcessSource());
  for (const ServiceRow& row : kServiceRows) {
    if (row.name.starts_with("process_")) {
      EXPECT_TRUE(values.contains(std::string(row.name))) << row.name;
    }
  }
}

TEST(ProcessSource, CountsDescriptorsAsTheyOpenAndClose) {
  const ProcessSource source;
  const double before = Collect(source).at("process_open_fds");
  const int a = open("/dev/null", O_RDONLY);
  const int b = open("/dev/null", O_RDONLY);
  EXPECT_EQ(Collect(source).at("process_open_fds"), before + 2);
  close(a);
  close(b);
  EXPECT_EQ(Collect(source).at("process_open_fds"), before);
}

TEST(ProcessSource, CountsNoMoreDescriptorsThanAreOpen) {
  double open_fds = 0;
  for (int fd = 0; fd < 4096; ++fd) open_fds += fcntl(fd, F_GETFD) != -1;
  EXPECT_EQ(Collect(ProcessSource()).at("process_open_fds"), open_fds);
}

TEST(ProcessSource, AgreesWithTheKernelsOtherAnswers) {
  const ProcessSource source;
  rusage before{};
  getrusage(RUSAGE_SELF, &before);
  const auto values = Collect(source);
  rusage after{};
  getrusage(RUSAGE_SELF, &after);
  const auto cpu = [](const rusage& usage) {
    return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
  };
  // Two counts of ticks, each rounded down to a hundredth of a second.
  EXPECT_GE(values.at("process_cpu_seconds_total"), cpu(before) - 0.021);
  EXPECT_LE(values.at("process_cpu_seconds_total"), cpu(after) + 0.021);
  EXPECT_GT(values.at("process_resident_memory_bytes"), 0);
  EXPECT_LE(values.at("process_resident_memory_bytes"), values.at("process_virtual_memory_bytes"));
  EXPECT_EQ(values.at("process_threads"), 1);
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  EXPECT_EQ(values.at("process_max_fds"), static_cast<double>(limit.rlim_cur));
}

TEST(ProcessSource, StartedBeforeNowAndAfterItsParentAndDoesNotMove) {
  const ProcessSource source;
  const double start = Collect(source).at("process_start_time_seconds");
  EXPECT_LE(start, static_cast<double>(time(nullptr)) + 1);
  EXPECT_GT(start, static_cast<double>(time(nullptr)) - 3600);
  EXPECT_EQ(Collect(source).at("process_start_time_seconds"), start);
}

TEST(BuildInfoSource, IsOneWithItsLabels) {
  std::vector<MetricFamily> families;
  BuildInfoSource({.version = "1", .revision = "2", .compiler = "3"}).Collect(families);
  ASSERT_EQ(families.size(), 1u);
  EXPECT_EQ(families[0].name, "keysieve_build_info");
  EXPECT_EQ(families[0].samples[0].value, 1);
  EXPECT_EQ(families[0].samples[0].labels.size(), 3u);
}

TEST(Utf8, KeepsWhatIsWellFormed) {
  for (const char* text :
       {"", "plain", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
        "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_EQ(ValidUtf8(text), text);
  }
}

TEST(Utf8, ReplacesEachByteThatBelongsToNoSequence) {
  const std::string bad = "\xef\xbf\xbd";
  EXPECT_EQ(ValidUtf8("\x80"), bad);
  EXPECT_EQ(ValidUtf8("\xc0\xaf"), bad + bad);            // overlong
  EXPECT_EQ(ValidUtf8("\xe0\x9f\xbf"), bad + bad + bad);  // overlong
  EXPECT_EQ(ValidUtf8("\xed\xa0\x80"), bad + bad + bad);  // surrogate
  EXPECT_EQ(ValidUtf8("\xf4\x90\x80\x80"), bad + bad + bad + bad);
  EXPECT_EQ(ValidUtf8("a\xe2\x82"), "a" + bad + bad);  // cut short
  EXPECT_EQ(ValidUtf8("\xffz"), bad + "z");
  EXPECT_EQ(ValidUtf8(std::string("\xc3\x28", 2)), bad + "(");
}

}  // namespace
}  // namespace keysieve::evidence
