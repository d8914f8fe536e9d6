// SPDX-License-Identifier: MIT
// One pass over the pattern with an explicit stack of open groups, so that neither depth nor length
// can exhaust anything: both are limited and each byte is looked at a bounded number of times.
#include "daemon/detect/regex/parse.h"

#include <utility>

#include "daemon/detect/regex/parse_class.h"
#include "evidence/base/status.h"

namespace keysieve::detect::regex {
namespace {

struct Flags {
  bool fold_case = false;
  bool multi_line = false;
  bool dot_newline = false;
  bool swap_greed = false;
};

// A group whose ')' has not come yet; the bottom one is the pattern itself.
struct Group {
  size_t position = 0;
  Flags outer;                         // restored at the ')'
  std::vector<uint32_t> alternatives;  // those already closed by a '|'
  std::vector<uint32_t> items;         // of the alternative being read
};

class Parser {
 public:
  explicit Parser(std::string_view pattern) : pattern_(pattern) { groups_.emplace_back(); }

  absl::StatusOr<Ast> Run() {
    if (pattern_.size() > kMaxPatternBytes) {
      return ParseError(kMaxPatternBytes, Cat("a pattern of ", pattern_.size(), " bytes; at most ",
                                              kMaxPatternBytes, " are read"));
    }
    while (position_ < pattern_.size()) {
      KS_RETURN_IF_ERROR(Step());
      if (ast_.nodes.size() > kMaxNodes) {
        return ParseError(position_, Cat("more than ", kMaxNodes, " parts in one pattern"));
      }
    }
    if (groups_.size() > 1) return ParseError(groups_.back().position, "a '(' without its ')'");
    ast_.root = CloseAlternation(&groups_.back());
    return std::move(ast_);
  }

 private:
  absl::Status Step() {
    const uint8_t c = pattern_[position_];
    const bool had_item = repeatable_;
    repeatable_ = false;
    switch (c) {
      case '(':
        return OpenGroup();
      case ')':
        return CloseGroup();
      case '|':
        groups_.back().alternatives.push_back(CloseItems(&groups_.back()));
        ++position_;
        return absl::OkStatus();
      case '[': {
        KS_ASSIGN_OR_RETURN(const ByteSet set,
                            ParseBracket(pattern_, &position_, flags_.fold_case, &ast_.non_ascii));
        return PushClass(set);
      }
      case '.': {
        ByteSet set = ~ByteSet();
        if (!flags_.dot_newline) set.reset('\n');
        ++position_;
        return PushClass(set);
      }
      case '^':
        return PushAssertion(flags_.multi_line ? Assertion::kLineStart : Assertion::kTextStart, 1);
      case '$':
        return PushAssertion(flags_.multi_line ? Assertion::kLineEnd : Assertion::kTextEnd, 1);
      case '\\':
        return ParseEscape();
      case '*':
        return PushRepeat(had_item, 0, kNoMax, 1);
      case '+':
        return PushRepeat(had_item, 1, kNoMax, 1);
      case '?':
        return PushRepeat(had_item, 0, 1, 1);
      case '{':
        return ParseCount(had_item);
      default:
        ++position_;
        return PushByte(c);
    }
  }

  uint32_t Add(Node node) {
    ast_.nodes.push_back(std::move(node));
    return static_cast<uint32_t>(ast_.nodes.size() - 1);
  }

  absl::Status PushClass(const ByteSet& set) {
    Node node;
    node.kind = NodeKind::kClass;
    node.set = set;
    groups_.back().items.push_back(Add(std::move(node)));
    repeatable_ = true;
    return absl::OkStatus();
  }

  absl::Status PushByte(uint8_t byte) {
    if (byte >= 0x80) ast_.non_ascii = true;
    return PushClass(OneByte(byte, flags_.fold_case));
  }

  absl::Status PushAssertion(Assertion assertion, size_t length) {
    Node node;
    node.kind = NodeKind::kAssert;
    node.assertion = assertion;
    groups_.back().items.push_back(Add(std::move(node)));
    position_ += length;
    repeatable_ = true;
    return absl::OkStatus();
  }

  // Wraps the last item; `length` is the operator's own, a '?' behind it not counted.
  absl::Status PushRepeat(bool had_item, int32_t min, int32_t max, size_t length) {
    if (!had_item) return ParseError(position_, "a repetition with nothing to repeat");
    position_ += length;
    Node node;
    node.kind = NodeKind::kRepeat;
    node.greedy = !flags_.swap_greed;
    if (position_ < pattern_.size() && pattern_[position_] == '?') {
      node.greedy = !node.greedy;
      ++position_;
    }
    node.min = min;
    node.max = max;
    uint32_t& item = groups_.back().items.back();
    node.children = {item};
    item = Add(std::move(node));
    return absl::OkStatus();
  }

  // Reads a count without leading zeros at `*i`; -1 if none stands there.
  int32_t ReadCount(size_t* i) const {
    auto is_digit = [&](size_t at) {
      return at < pattern_.size() && pattern_[at] >= '0' && pattern_[at] <= '9';
    };
    if (!is_digit(*i) || (pattern_[*i] == '0' && is_digit(*i + 1))) return -1;
    int32_t value = 0;
    for (; is_digit(*i); ++*i) {
      if (value <= kMaxRepeat) value = value * 10 + (pattern_[*i] - '0');
    }
    return value;
  }

  // {n}, {n,} or {n,m}; anything else is the byte '{'.
  absl::Status ParseCount(bool had_item) {
    size_t i = position_ + 1;
    const int32_t min = ReadCount(&i);
    int32_t max = min;
    bool is_count = min >= 0;
    if (is_count && i < pattern_.size() && pattern_[i] == ',') {
      ++i;
      max = kNoMax;
      if (i < pattern_.size() && pattern_[i] != '}') {
        max = ReadCount(&i);
        is_count = max >= 0;
      }
    }
    if (!is_count || i >= pattern_.size() || pattern_[i] != '}') {
      ++position_;
      return PushByte('{');
    }
    if (min > kMaxRepeat || max > kMaxRepeat) {
      return ParseError(position_, Cat("a repeat count above ", kMaxRepeat));
    }
    if (max != kNoMax && max < min) return ParseError(position_, "a repeat's counts are swapped");
    return PushRepeat(had_item, min, max, i + 1 - position_);
  }

  absl::Status ParseEscape() {
    const size_t start = position_;
    const char c = start + 1 < pattern_.size() ? pattern_[start + 1] : '\0';
    ByteSet set;
    switch (c) {
      case 'A':
        return PushAssertion(Assertion::kTextStart, 2);
      case 'z':
        return PushAssertion(Assertion::kTextEnd, 2);
      case 'b':
        return PushAssertion(Assertion::kWordBoundary, 2);
      case 'B':
        return PushAssertion(Assertion::kNotWordBoundary, 2);
      case 'C':
        position_ += 2;
        return PushClass(~ByteSet());
      case 'Q':
        return ParseQuoted();
      default:
        break;
    }
    if (PerlClass(c, &set)) {
      position_ += 2;
      return PushClass(set);
    }
    KS_ASSIGN_OR_RETURN(const uint8_t byte, ParseEscapedByte(pattern_, &position_));
    return PushByte(byte);
  }

  // \Q...\E, or to the pattern's end.
  absl::Status ParseQuoted() {
    position_ += 2;
    while (position_ < pattern_.size()) {
      const std::string_view rest = pattern_.substr(position_);
      if (rest.starts_with("\\E")) {
        position_ += 2;
        return absl::OkStatus();
      }
      ++position_;
      KS_RETURN_IF_ERROR(PushByte(rest[0]));
    }
    return absl::OkStatus();
  }

  absl::Status OpenGroup() {
    const size_t start = position_++;
    Group group;
    group.position = start;
    group.outer = flags_;
    const std::string_view rest = pattern_.substr(position_);
    if (rest.starts_with("?P<") || rest.starts_with("?<")) {
      KS_RETURN_IF_ERROR(SkipName(rest[1] == 'P' ? 3 : 2));
    } else if (rest.starts_with("?")) {
      ++position_;
      KS_ASSIGN_OR_RETURN(const bool opens, ParseFlags(start));
      if (!opens) return absl::OkStatus();
    }
    if (groups_.size() > kMaxGroupDepth) {
      return ParseError(start, Cat("groups nest deeper than ", kMaxGroupDepth));
    }
    groups_.push_back(std::move(group));
    return absl::OkStatus();
  }

  // The name of a (?P<name>...) group, `prefix` bytes further on.
  absl::Status SkipName(size_t prefix) {
    const size_t start = position_;
    position_ += prefix;
    const size_t first = position_;
    auto is_word = [](uint8_t c) {
      return c == '_' || (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
    };
    while (position_ < pattern_.size() && is_word(pattern_[position_])) ++position_;
    if (position_ == first && position_ < pattern_.size() &&
        (pattern_[position_] == '=' || pattern_[position_] == '!')) {
      return ParseError(start, "lookaround is not RE2 syntax");
    }
    if (position_ == first || position_ >= pattern_.size() || pattern_[position_] != '>') {
      return ParseError(start, "a group's name is letters, digits and '_', closed by '>'");
    }
    ++position_;
    return absl::OkStatus();
  }

  // Behind "(?": flags up to ')' (false) or up to ':' which opens a group (true).
  absl::StatusOr<bool> ParseFlags(size_t start) {
    Flags flags = flags_;
    bool value = true;
    bool any = false;  // a letter stands behind the last '-', or there is no '-'
    for (; position_ < pattern_.size(); any = true) {
      switch (pattern_[position_++]) {
        case 'i':
          flags.fold_case = value;
          break;
        case 'm':
          flags.multi_line = value;
          break;
        case 's':
          flags.dot_newline = value;
          break;
        case 'U':
          flags.swap_greed = value;
          break;
        case '-':
          if (!value) return ParseError(start, "a second '-' among a group's flags");
          value = false;
          any = false;
          continue;
        case ':':
        case ')':
          if (!value && !any) return ParseError(start, "a '-' without a flag behind it");
          flags_ = flags;
          return pattern_[position_ - 1] == ':';
        case '=':
        case '!':
          return ParseError(start, "lookaround is not RE2 syntax");
        default:
          return ParseError(start, "an unknown flag; RE2 knows i, m, s and U");
      }
    }
    return ParseError(start, "a '(' without its ')'");
  }

  absl::Status CloseGroup() {
    if (groups_.size() == 1) return ParseError(position_, "a ')' without its '('");
    Group group = std::move(groups_.back());
    groups_.pop_back();
    flags_ = group.outer;
    const uint32_t node = CloseAlternation(&group);
    groups_.back().items.push_back(node);
    ++position_;
    repeatable_ = true;
    return absl::OkStatus();
  }

  // One node for the items read since the last '|'. Sequences inside sequences are spliced in.
  uint32_t CloseItems(Group* group) {
    std::vector<uint32_t> items = std::exchange(group->items, {});
    if (items.empty()) return Add(Node());
    if (items.size() == 1) return items[0];
    Node node;
    node.kind = NodeKind::kCat;
    for (const uint32_t item : items) {
      const Node& child = ast_.nodes[item];
      if (child.kind == NodeKind::kCat) {
        node.children.insert(node.children.end(), child.children.begin(), child.children.end());
      } else {
        node.children.push_back(item);
      }
    }
    return Add(std::move(node));
  }

  // Alternatives that are one byte each become a class: which of them is preferred cannot matter.
  uint32_t CloseAlternation(Group* group) {
    group->alternatives.push_back(CloseItems(group));
    if (group->alternatives.size() == 1) return group->alternatives[0];
    Node node;
    bool all_classes = true;
    for (const uint32_t child : group->alternatives) {
      all_classes = all_classes && ast_.nodes[child].kind == NodeKind::kClass;
      node.set |= ast_.nodes[child].set;
    }
    node.kind = all_classes ? NodeKind::kClass : NodeKind::kAlt;
    if (!all_classes) {
      node.set.reset();
      node.children = std::move(group->alternatives);
    }
    return Add(std::move(node));
  }

  std::string_view pattern_;
  size_t position_ = 0;
  Flags flags_;
  std::vector<Group> groups_;
  bool repeatable_ = false;  // the last thing read was an item that an operator may repeat
  Ast ast_;
};

}  // namespace

absl::StatusOr<Ast> ParseRegex(std::string_view pattern) { return Parser(pattern).Run(); }

}  // namespace keysieve::detect::regex
