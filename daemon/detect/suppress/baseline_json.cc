// SPDX-License-Identifier: MIT
// A SAX handler that looks at the fields of the outermost objects and passes over everything below.
#include "daemon/detect/suppress/baseline_json.h"

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "evidence/base/status.h"

namespace keysieve::detect::suppress {
namespace {

using Json = nlohmann::json;

struct TextField {
  const char* name;
  std::string BaselineEntry::*place;
};
constexpr std::array<TextField, 8> kTexts = {
    {{"type", &BaselineEntry::type},
     {"RuleID", &BaselineEntry::rule},
     {"rule_id", &BaselineEntry::rule},
     {"Secret", &BaselineEntry::secret},
     {"File", &BaselineEntry::file},
     {"path", &BaselineEntry::file},
     {"KeysieveFingerprint", &BaselineEntry::fingerprint},
     {"keysieve_fingerprint", &BaselineEntry::fingerprint}}};

struct CountField {
  const char* name;
  uint32_t BaselineEntry::*place;
};
constexpr std::array<CountField, 3> kCounts = {{{"StartLine", &BaselineEntry::start_line},
                                                {"EndLine", &BaselineEntry::end_line},
                                                {"StartColumn", &BaselineEntry::start_column}}};

class Handler : public nlohmann::json_sax<Json> {
 public:
  // `depth`: of the objects that are entries, 1 for an object alone, 2 for those of an array.
  Handler(int depth, const TakeEntry& take) : entry_depth_(depth), take_(take) {}

  const std::string& problem() const { return problem_; }

  bool null() override { return Scalar(); }
  bool boolean(bool) override { return Scalar(); }
  bool number_integer(number_integer_t value) override {
    return Number(static_cast<double>(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return Number(static_cast<double>(value));
  }
  bool number_float(number_float_t value, const string_t&) override { return Number(value); }
  bool binary(binary_t&) override { return Scalar(); }
  bool string(string_t& value) override {
    if (AtField()) {
      for (const TextField& field : kTexts) {
        if (key_ == field.name) entry_.*field.place = std::move(value);
      }
    }
    return Scalar();
  }
  bool key(string_t& value) override {
    if (depth_ == entry_depth_) key_ = std::move(value);
    return true;
  }
  bool start_object(std::size_t) override {
    if (depth_ + 1 < entry_depth_) return Not("is no list of findings");
    ++depth_;
    if (depth_ == entry_depth_) {
      entry_ = {};
      in_entry_ = true;
    }
    return true;
  }
  bool end_object() override {
    if (depth_-- == entry_depth_ && in_entry_) {
      in_entry_ = false;
      take_(std::move(entry_));
    }
    return true;
  }
  bool start_array(std::size_t) override {
    if (depth_ == 0 && entry_depth_ == 1) return Not("is no object");
    if (depth_ + 1 == entry_depth_ && depth_ > 0) return Not("has an entry that is no object");
    ++depth_;
    return true;
  }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const Json::exception&) override {
    // The parser's own words may quote the text, which may hold secrets.
    problem_ = Cat("is no JSON at byte ", position);
    return false;
  }

 private:
  bool AtField() const { return in_entry_ && depth_ == entry_depth_; }
  bool Scalar() { return depth_ >= entry_depth_ || Not("has an entry that is no object"); }
  bool Number(double value) {
    if (AtField()) {
      if (key_ == "Entropy" || key_ == "entropy") entry_.entropy = value;
      for (const CountField& field : kCounts) {
        if (key_ != field.name) continue;
        if (value >= 0 && value <= 4294967295.0) {
          entry_.*field.place = static_cast<uint32_t>(value);
        }
      }
    }
    return Scalar();
  }
  bool Not(const char* what) {
    problem_ = what;
    return false;
  }

  const int entry_depth_;
  const TakeEntry& take_;
  int depth_ = 0;
  bool in_entry_ = false;
  std::string key_;
  BaselineEntry entry_;
  std::string problem_;
};

std::string Parse(std::string_view json, int depth, const TakeEntry& take) {
  Handler handler(depth, take);
  if (Json::sax_parse(json.begin(), json.end(), &handler)) return "";
  return handler.problem().empty() ? "is no JSON" : handler.problem();
}

}  // namespace

absl::Status ReadBaselineArray(std::string_view json, const TakeEntry& take) {
  const std::string problem = Parse(json, 2, take);
  return problem.empty() ? absl::OkStatus() : absl::InvalidArgumentError(problem);
}

absl::Status ReadBaselineLines(std::string_view json, const TakeEntry& take) {
  uint64_t number = 0;
  while (!json.empty()) {
    ++number;
    const size_t end = std::min(json.find('\n'), json.size());
    const std::string_view line = json.substr(0, end);
    json.remove_prefix(std::min(end + 1, json.size()));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const std::string problem = Parse(line, 1, take);
    if (!problem.empty()) return absl::InvalidArgumentError(Cat("line ", number, " ", problem));
  }
  return absl::OkStatus();
}

}  // namespace keysieve::detect::suppress
