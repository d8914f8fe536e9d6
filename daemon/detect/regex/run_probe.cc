// SPDX-License-Identifier: MIT
// Required runs bottom up. Of two runs the one is better that random bytes would less likely hold.
#include "daemon/detect/regex/run_probe.h"

#include <algorithm>
#include <cmath>

namespace keysieve::detect::regex {
namespace {

constexpr size_t kMaxMerged = 32;  // neighbouring parts joined into one run

using Run = std::optional<RunProbe>;

double Bits(const RunProbe& run) {
  return static_cast<double>(run.min_bytes) *
         std::log2(256.0 / std::max<double>(1, run.set.count()));
}

void Offer(const RunProbe& run, Run* best) {
  if (run.min_bytes > 0 && (!*best || Bits(run) > Bits(**best))) *best = run;
}

class Finder {
 public:
  Finder(const Ast& ast, const std::vector<Widths>& widths)
      : ast_(ast), widths_(widths), runs_(ast.nodes.size()) {}

  Run Find() {
    for (uint32_t i = 0; i <= ast_.root; ++i) runs_[i] = OfNode(i);
    Run run = runs_[ast_.root];
    return run && run->min_bytes >= 2 ? run : std::nullopt;
  }

 private:
  Run OfNode(uint32_t id) const {
    const Node& node = ast_.nodes[id];
    switch (node.kind) {
      case NodeKind::kEmpty:
      case NodeKind::kAssert:
        return std::nullopt;
      case NodeKind::kClass:
        return RunProbe{node.set, 1, 0, 1};
      case NodeKind::kCat:
        return OfCat(node);
      case NodeKind::kAlt:
        return OfAlt(node);
      case NodeKind::kRepeat:
        return OfRepeat(node, id);
    }
    return std::nullopt;
  }

  // The class that every byte of `id` belongs to, if it is one class or a repeat of one.
  const ByteSet* OnlyClass(uint32_t id) const {
    const Node& node = ast_.nodes[id];
    if (node.kind == NodeKind::kClass) return &node.set;
    if (node.kind != NodeKind::kRepeat) return nullptr;
    const Node& child = ast_.nodes[node.children[0]];
    return child.kind == NodeKind::kClass ? &child.set : nullptr;
  }

  Run OfCat(const Node& node) const {
    const std::vector<uint32_t>& parts = node.children;
    std::vector<uint64_t> behind(parts.size() + 1, 0);  // most bytes from part i to the end
    for (size_t i = parts.size(); i-- > 0;) {
      behind[i] = AddWidth(widths_[parts[i]].max, behind[i + 1]);
    }
    Run best;
    uint64_t ahead = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      if (runs_[parts[i]]) {
        RunProbe run = *runs_[parts[i]];
        run.before = AddWidth(run.before, ahead);
        run.after = AddWidth(run.after, behind[i + 1]);
        Offer(run, &best);
      }
      RunProbe joined{.before = ahead, .after = behind[i]};
      for (size_t j = i; j < parts.size() && j < i + kMaxMerged; ++j) {
        const ByteSet* set = OnlyClass(parts[j]);
        // A byte the run's class lacks would widen it to no gain: hex digits behind "ab_".
        const bool nested =
            set != nullptr && ((joined.set & *set) == *set || (joined.set & *set) == joined.set);
        if (!nested) break;
        joined.set |= *set;
        joined.min_bytes = AddWidth(joined.min_bytes, widths_[parts[j]].min);
        Offer(joined, &best);
      }
      ahead = AddWidth(ahead, widths_[parts[i]].max);
    }
    return best;
  }

  Run OfAlt(const Node& node) const {
    RunProbe all{.min_bytes = kUnbounded};
    for (const uint32_t child : node.children) {
      if (!runs_[child]) return std::nullopt;
      all.set |= runs_[child]->set;
      all.min_bytes = std::min(all.min_bytes, runs_[child]->min_bytes);
      all.before = std::max(all.before, runs_[child]->before);
      all.after = std::max(all.after, runs_[child]->after);
    }
    return all;
  }

  Run OfRepeat(const Node& node, uint32_t id) const {
    if (node.min == 0) return std::nullopt;
    if (const ByteSet* set = OnlyClass(id)) {
      return RunProbe{*set, widths_[id].min, 0, widths_[id].max};
    }
    Run run = runs_[node.children[0]];  // of the first turn; the others follow
    if (run) {
      const uint64_t more = node.max == kNoMax ? kUnbounded : static_cast<uint64_t>(node.max) - 1;
      run->after = AddWidth(run->after, MultiplyWidth(more, widths_[node.children[0]].max));
    }
    return run;
  }

  const Ast& ast_;
  const std::vector<Widths>& widths_;
  std::vector<Run> runs_;
};

}  // namespace

std::optional<RunProbe> FindRunProbe(const Ast& ast, const std::vector<Widths>& widths) {
  return Finder(ast, widths).Find();
}

}  // namespace keysieve::detect::regex
