// SPDX-License-Identifier: MIT
// Where things are on this machine when nobody says: the socket and the rule file.
#pragma once

#include <string>
#include <vector>

namespace keysieve::config {

// $XDG_RUNTIME_DIR/keysieve/keysieve.sock, or /run/keysieve/keysieve.sock where that is unset.
std::string DefaultSocketPath();

// Where the default rules are looked for, in order: beside the running program
// (../share/keysieve/rules), /usr/share/keysieve/rules, the source tree this was built from.
std::vector<std::string> DefaultRulesPlaces();
// The first of those that exists, else empty.
std::string FindDefaultRules();

}  // namespace keysieve::config
