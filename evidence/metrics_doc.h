// SPDX-License-Identifier: MIT
// The text of docs/metrics.md, made from the vocabulary so that it can't tell another story.
//
//   std::cout << MetricsDocument();
#pragma once

#include <string>

namespace keysieve::evidence {

std::string MetricsDocument();  // Markdown

}  // namespace keysieve::evidence
