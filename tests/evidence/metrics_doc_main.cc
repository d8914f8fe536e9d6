// SPDX-License-Identifier: MIT
// Prints the text of docs/metrics.md.
#include <iostream>

#include "evidence/metrics_doc.h"

int main() { std::cout << keysieve::evidence::MetricsDocument(); }
