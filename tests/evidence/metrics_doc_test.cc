// SPDX-License-Identifier: MIT
// The committed page is the generated one, and it has every row.
#include "evidence/metrics_doc.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "evidence/vocabulary.h"

namespace keysieve::evidence {
namespace {

TEST(MetricsDocument, IsTheCommittedPage) {
  std::ifstream file(std::string(KS_SOURCE_DIR) + "/docs/metrics.md");
  ASSERT_TRUE(file) << "docs/metrics.md is missing";
  const std::string page((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_EQ(page, MetricsDocument()) << "run ks_metrics_doc > docs/metrics.md and commit the page";
}

TEST(MetricsDocument, HasEveryName) {
  const std::string page = MetricsDocument();
  const auto has = [&page](const std::string& name) {
    return page.find("`" + name + "`") != std::string::npos;
  };
#define KS_COUNTER(id, name, ...) EXPECT_TRUE(has("keysieve_gpu_" name)) << name;
#define KS_DISTRIBUTION(id, name, ...) EXPECT_TRUE(has("keysieve_gpu_" name)) << name;
#define KS_GAUGE(id, name, ...) EXPECT_TRUE(has("keysieve_gpu_" name)) << name;
#define KS_EVENT(id, name, ...) EXPECT_TRUE(has(name)) << name;
#define KS_ANNOTATION(id, name, ...) EXPECT_TRUE(has("keysieve_gpu_" name)) << name;
#define KS_CAPABILITY(id, number, name, ...) EXPECT_TRUE(has(name)) << name;
#define KS_INFO(name, ...) EXPECT_TRUE(has("keysieve_gpu_" name)) << name;
#define KS_SERVICE(name, ...) EXPECT_TRUE(has(name)) << name;
#include "evidence/vocabulary.inl"
}

}  // namespace
}  // namespace keysieve::evidence
