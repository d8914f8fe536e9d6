// SPDX-License-Identifier: MIT
// The plain matcher, which the others are held to.
#include "daemon/detect/matcher.h"

namespace keysieve::detect {
namespace {

class WholeBlob : public RuleMatcher {
 public:
  explicit WholeBlob(const Regex* regex) : regex_(regex) {}

  void FindAll(std::string_view text, std::span<const megakernel::LiteralHit> /*hits*/,
               std::vector<ByteRange>* matches) const override {
    const re2::StringPiece whole(text.data(), text.size());
    re2::StringPiece match;
    size_t at = 0;
    while (at <= text.size() &&
           regex_->re2().Match(whole, at, text.size(), re2::RE2::UNANCHORED, &match, 1)) {
      const size_t start = match.data() - text.data();
      const size_t end = start + match.size();
      if (end > start) matches->push_back({start, end});
      at = end > start ? end : end + 1;
    }
  }

 private:
  const Regex* regex_;
};

}  // namespace

std::unique_ptr<RuleMatcher> WholeBlobMatcher(const Regex* regex) {
  return std::make_unique<WholeBlob>(regex);
}

}  // namespace keysieve::detect
