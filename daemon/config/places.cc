// SPDX-License-Identifier: MIT
// The default socket and the default rules; see places.h.
#include "daemon/config/places.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace keysieve::config {

std::string DefaultSocketPath() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  const std::string base = runtime != nullptr && *runtime == '/' ? runtime : "/run";
  return base + "/keysieve/keysieve.sock";
}

std::vector<std::string> DefaultRulesPlaces() {
  std::vector<std::string> places;
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) {
    const auto prefix = self.parent_path().parent_path();
    places.push_back((prefix / "share/keysieve/rules/default.toml").string());
  }
  places.push_back("/usr/share/keysieve/rules/default.toml");
  places.push_back(KEYSIEVE_SOURCE_RULES);
  return places;
}

std::string FindDefaultRules() {
  for (const std::string& place : DefaultRulesPlaces()) {
    std::error_code error;
    if (std::filesystem::is_regular_file(place, error)) return place;
  }
  return "";
}

}  // namespace keysieve::config
