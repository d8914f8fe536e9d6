// SPDX-License-Identifier: MIT
// Reads the settings file field by field from one table, so that every known key, its reader and
// its range stand in one line. Anything else in the file is an error with its place and the nearest
// key.
#include "daemon/config/config.h"

#include <toml++/toml.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <sstream>

#include "daemon/config/places.h"
#include "daemon/config/values.h"
#include "evidence/base/status.h"

namespace keysieve::config {
namespace {

// Each reader returns what is wrong, or nothing.
using Reader = std::function<std::string(const toml::node&, Config&)>;
struct Field {
  std::string section;
  std::string key;
  Reader read;
};

std::string CheckRange(uint64_t value, uint64_t low, uint64_t high, bool size) {
  if (value >= low && value <= high) return "";
  const auto show = [size](uint64_t v) { return size ? FormatSize(v) : std::to_string(v); };
  return Cat(show(value), " is out of range; from ", show(low), " to ", show(high), " is allowed");
}

Reader Size(std::function<uint64_t&(Config&)> place, uint64_t low, uint64_t high) {
  return [=](const toml::node& node, Config& config) -> std::string {
    uint64_t value = 0;
    if (const auto text = node.value_exact<std::string>()) {
      auto parsed = ParseSize(*text);
      if (!parsed.ok()) return Message(parsed.status());
      value = *parsed;
    } else if (const auto number = node.value_exact<int64_t>(); number && *number >= 0) {
      value = static_cast<uint64_t>(*number);
    } else {
      return "must be a number of bytes or a text like \"64MiB\"";
    }
    place(config) = value;
    return CheckRange(value, low, high, true);
  };
}

Reader Count(std::function<uint32_t&(Config&)> place, uint32_t low, uint32_t high) {
  return [=](const toml::node& node, Config& config) -> std::string {
    const auto number = node.value_exact<int64_t>();
    if (!number) return "must be a whole number";
    if (*number < 0) return Cat(*number, " is negative; from ", low, " to ", high, " is allowed");
    place(config) = static_cast<uint32_t>(*number);
    return CheckRange(static_cast<uint64_t>(*number), low, high, false);
  };
}

Reader Flag(std::function<bool&(Config&)> place) {
  return [=](const toml::node& node, Config& config) -> std::string {
    const auto value = node.value_exact<bool>();
    if (!value) return "must be true or false";
    place(config) = *value;
    return "";
  };
}

Reader Text(std::function<std::string&(Config&)> place) {
  return [=](const toml::node& node, Config& config) -> std::string {
    const auto text = node.value_exact<std::string>();
    if (!text || text->empty()) return "must be a text that is not empty";
    place(config) = *text;
    return "";
  };
}

Reader Texts(std::function<std::vector<std::string>&(Config&)> place) {
  return [=](const toml::node& node, Config& config) -> std::string {
    std::vector<std::string> texts;
    if (const auto one = node.value_exact<std::string>()) texts.push_back(*one);
    if (const toml::array* list = node.as_array()) {
      for (const toml::node& item : *list) {
        const auto text = item.value_exact<std::string>();
        if (!text) return "must be a list of texts";
        texts.push_back(*text);
      }
    } else if (texts.empty()) {
      return "must be a list of texts";
    }
    place(config) = std::move(texts);
    return "";
  };
}

// A word from a fixed list; its position is the enum's value.
template <typename Enum>
Reader Word(std::function<Enum&(Config&)> place, std::vector<std::string> words) {
  return [=](const toml::node& node, Config& config) -> std::string {
    const auto text = node.value_exact<std::string>();
    std::string all;
    for (size_t i = 0; i < words.size(); ++i) {
      if (text && *text == words[i]) {
        place(config) = static_cast<Enum>(i);
        return "";
      }
      all += (i == 0 ? "" : ", ") + words[i];
    }
    return Cat(text ? "\"" + *text + "\"" : "this value", " is not known; write one of: ", all);
  };
}

std::string ReadSecretFile(const std::string& path, std::string& secret) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  if (!file || !(text << file.rdbuf())) return Cat("cannot read the key file ", path);
  secret = text.str();
  while (!secret.empty() && (secret.back() == '\n' || secret.back() == '\r')) secret.pop_back();
  return "";
}

std::string ReadFingerprintKey(const toml::table& table, FingerprintKey& key) {
  for (const auto& [name, node] : table) {
    const auto text = node.value_exact<std::string>();
    if (!text || text->empty()) return Cat("\"", name.str(), "\" must be a text");
    if (name.str() == "id") {
      key.id = *text;
    } else if (name.str() == "secret") {
      key.secret = *text;
    } else if (name.str() == "file") {
      if (auto error = ReadSecretFile(*text, key.secret); !error.empty()) return error;
    } else {
      return Cat("unknown key \"", name.str(), "\"; id, secret and file are known");
    }
  }
  if (table.contains("secret") == table.contains("file")) {
    return "each key has an id and either a secret or a file";
  }
  if (key.id.empty() || key.id.size() > 16 ||
      key.id.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") !=
          std::string::npos) {
    return Cat("the id \"", key.id, "\" must be 1 to 16 letters or digits");
  }
  if (key.secret.size() < 16) return Cat("the secret of key ", key.id, " is under 16 bytes");
  return "";
}

std::string ReadFingerprintKeys(const toml::node& node, Config& config) {
  const toml::array* list = node.as_array();
  if (list == nullptr) return "must be a list of {id, secret} or {id, file}";
  for (const toml::node& item : *list) {
    if (item.as_table() == nullptr) return "must be a list of {id, secret} or {id, file}";
    FingerprintKey key;
    if (auto error = ReadFingerprintKey(*item.as_table(), key); !error.empty()) return error;
    for (const FingerprintKey& other : config.fingerprint.keys) {
      if (other.id == key.id) return Cat("two keys have the id \"", key.id, "\"");
    }
    config.fingerprint.keys.push_back(std::move(key));
  }
  return "";
}

// A member's reference, as the readers take it.
#define KS_AT(type, member) [](Config& c) -> type& { return c.member; }

std::vector<Field> Fields() {
  using S = std::string;
  using L = std::vector<std::string>;
  const std::function<SessionPolicy&(Config&)> policy = KS_AT(SessionPolicy, session.policy);
  const std::function<RestartPolicy&(Config&)> restart = KS_AT(RestartPolicy, recovery.restart);
  const std::function<CallerRules&(Config&)> caller_rules = KS_AT(CallerRules, policy.rules);
  const std::function<LogLevel&(Config&)> level = KS_AT(LogLevel, log.level);
  const std::function<LogFormat&(Config&)> format = KS_AT(LogFormat, log.format);
  return {
      {"server", "listen", Texts(KS_AT(L, server.listen))},
      {"server", "admin_listen", Text(KS_AT(S, server.admin_listen))},
      {"limits", "blob_bytes", Size(KS_AT(uint64_t, limits.blob_bytes), kKiB, 16 * kGiB)},
      {"limits", "memory_bytes", Size(KS_AT(uint64_t, limits.memory_bytes), kMiB, 1024 * kGiB)},
      {"limits", "streams", Count(KS_AT(uint32_t, limits.streams), 1, 100000)},
      {"limits", "idle_s", Count(KS_AT(uint32_t, limits.idle_s), 1, 86400)},
      {"session", "policy", Word(policy, {"auto", "resident", "epoch"})},
      {"session", "slots", Count(KS_AT(uint32_t, session.slots), 1, 4096)},
      {"session", "workgroup", Count(KS_AT(uint32_t, session.workgroup), 1, 1024)},
      {"session", "tenants", Count(KS_AT(uint32_t, session.tenants), 1, 1024)},
      {"session", "table_bytes", Size(KS_AT(uint64_t, session.table_bytes), 64 * kKiB, 4 * kGiB)},
      {"session", "batch_bytes", Size(KS_AT(uint64_t, session.batch_bytes), 64 * kKiB, kGiB)},
      {"session", "batches", Count(KS_AT(uint32_t, session.batches), 1, 16)},
      {"rules", "file", Text(KS_AT(S, rules.file))},
      {"decode", "depth", Count(KS_AT(uint32_t, decode.depth), 0, 10)},
      {"policy", "inline_allow", Flag(KS_AT(bool, policy.inline_allow))},
      {"policy", "ignores", Flag(KS_AT(bool, policy.ignores))},
      {"policy", "rules", Word(caller_rules, {"none", "extend", "any"})},
      {"backend", "name", Text(KS_AT(S, backend.name))},
      {"backend", "devices", Texts(KS_AT(L, backend.devices))},
      {"cpu", "threads", Count(KS_AT(uint32_t, cpu.threads), 0, 1024)},
      {"recovery", "restart", Word(restart, {"never", "exec"})},
      {"recovery", "max_wait_s", Count(KS_AT(uint32_t, recovery.max_wait_s), 1, 86400)},
      {"recovery", "watchdog_s", Count(KS_AT(uint32_t, recovery.watchdog_s), 0, 3600)},
      {"fingerprint", "keys", ReadFingerprintKeys},
      {"metrics", "tenants", Count(KS_AT(uint32_t, metrics.tenants), 1, 100000)},
      {"log", "level", Word(level, {"debug", "info", "warning", "error"})},
      {"log", "format", Word(format, {"auto", "json", "journal"})},
  };
}
#undef KS_AT

std::string Suggestion(std::string_view word, const std::vector<std::string>& known) {
  const auto nearest = Nearest(word, known);
  return nearest ? Cat("; did you mean ", *nearest, "?") : "";
}

std::string Place(const std::string& name, const toml::source_region& region) {
  return Cat(name, ":", region.begin.line, ": ");
}

absl::Status ReadSection(const toml::table& table, const std::string& section,
                         const std::string& name, const std::vector<Field>& fields,
                         Config& config) {
  std::vector<std::string> known;
  for (const Field& f : fields) {
    if (f.section == section) known.push_back(section + "." + f.key);
  }
  for (const auto& [key, node] : table) {
    const std::string full = section + "." + std::string(key.str());
    const Field* field = nullptr;
    for (const Field& f : fields) {
      if (f.section + "." + f.key == full) field = &f;
    }
    const std::string where = Place(name, key.source()) + full + ": ";
    if (field == nullptr) {
      return absl::InvalidArgumentError(Cat(where, "unknown key", Suggestion(full, known)));
    }
    if (const std::string error = field->read(node, config); !error.empty()) {
      return absl::InvalidArgumentError(where + error);
    }
  }
  return absl::OkStatus();
}

absl::Status ReadFile(const toml::table& root, const std::string& name, Config& config) {
  const std::vector<Field> fields = Fields();
  std::vector<std::string> sections;
  for (const Field& f : fields) {
    if (sections.empty() || sections.back() != f.section) sections.push_back(f.section);
  }
  for (const auto& [key, node] : root) {
    const std::string section(key.str());
    const std::string where = Place(name, key.source());
    if (std::find(sections.begin(), sections.end(), section) == sections.end()) {
      return absl::InvalidArgumentError(
          Cat(where, section, ": unknown key", Suggestion(section, sections)));
    }
    if (node.as_table() == nullptr) {
      return absl::InvalidArgumentError(Cat(where, section, ": must be a table, [", section, "]"));
    }
    KS_RETURN_IF_ERROR(ReadSection(*node.as_table(), section, name, fields, config));
  }
  return absl::OkStatus();
}

absl::Status ApplyOverrides(const Overrides& overrides, Config& config) {
  if (!overrides.listen.empty()) config.server.listen = overrides.listen;
  if (overrides.admin_listen) config.server.admin_listen = *overrides.admin_listen;
  if (!overrides.rules.empty()) config.rules.file = overrides.rules;
  if (!overrides.backend.empty()) config.backend.name = overrides.backend;
  if (!overrides.devices.empty()) config.backend.devices = overrides.devices;
  if (config.server.listen.empty()) config.server.listen = {"unix:" + DefaultSocketPath()};
  if (config.server.admin_listen == "off") config.server.admin_listen.clear();
  if (config.rules.file.empty()) config.rules.file = FindDefaultRules();
  if (config.rules.file.empty()) {
    std::string places;
    for (const std::string& place : DefaultRulesPlaces()) places += "\n  " + place;
    return absl::InvalidArgumentError(
        "rules.file: no rule file named and none found; use --rules FILE. Looked for:" + places);
  }
  return absl::OkStatus();
}

// What no single key can tell.
absl::Status CheckWhole(const std::string& name, const Config& config) {
  const std::string where = name.empty() ? "" : name + ": ";
  for (const std::string& listen : config.server.listen) {
    if (auto address = ParseAddress(listen); !address.ok()) {
      return absl::InvalidArgumentError(where + "server.listen: " + Message(address.status()));
    }
  }
  if (!config.server.admin_listen.empty()) {
    auto address = ParseAddress(config.server.admin_listen);
    if (!address.ok() || address->is_unix()) {
      return absl::InvalidArgumentError(Cat(where, "server.admin_listen: \"",
                                            config.server.admin_listen,
                                            "\" is neither host:port nor off"));
    }
  }
  const std::vector<std::string> backends = {"auto", "cpu", "vulkan", "cuda", "metal"};
  if (std::find(backends.begin(), backends.end(), config.backend.name) == backends.end()) {
    return absl::InvalidArgumentError(
        Cat(where, "backend.name: \"", config.backend.name,
            "\" is not known; auto, cpu, vulkan, cuda and metal are"));
  }
  if (config.limits.memory_bytes < config.limits.blob_bytes) {
    return absl::InvalidArgumentError(
        Cat(where, "limits.memory_bytes: ", FormatSize(config.limits.memory_bytes),
            " cannot hold one blob of limits.blob_bytes = ", FormatSize(config.limits.blob_bytes),
            "; raise the one or lower the other"));
  }
  const auto& s = config.session;
  if (s.slots % s.workgroup != 0 && s.workgroup % s.slots != 0) {
    return absl::InvalidArgumentError(Cat(where, "session.slots: ", s.slots,
                                          " and session.workgroup = ", s.workgroup,
                                          " do not divide one another"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Config> ParseConfig(std::string_view text, const std::string& name,
                                   const Overrides& overrides) {
  Config config;
  try {
    const toml::table root = toml::parse(text, name);
    KS_RETURN_IF_ERROR(ReadFile(root, name, config));
  } catch (const toml::parse_error& error) {
    return absl::InvalidArgumentError(Place(name, error.source()) +
                                      std::string(error.description()));
  }
  KS_RETURN_IF_ERROR(ApplyOverrides(overrides, config));
  KS_RETURN_IF_ERROR(CheckWhole(name, config));
  return config;
}

absl::StatusOr<Config> LoadConfig(const Overrides& overrides) {
  if (overrides.file.empty()) return ParseConfig("", "", overrides);
  std::ifstream file(overrides.file, std::ios::binary);
  std::stringstream text;
  if (file) text << file.rdbuf();
  if (!file) {
    return absl::NotFoundError(Cat("--config: cannot read ", overrides.file));
  }
  return ParseConfig(text.str(), overrides.file, overrides);
}

}  // namespace keysieve::config
