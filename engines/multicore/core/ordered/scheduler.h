// Tells workers which operator to work on, and for how many records; measures what operators cost.
//
// Everything that a decision looks at is a value of a moment ago. What must not be wrong is decided by one exchange:
// that no more workers are at an operator than it allows.
// Source: Scaling Ordered Stream Processing on Shared-Memory Multicores, sections 2.2 and 6.
#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "ordered/heuristic.h"
#include "ordered/worklist.h"
#include "run/cacheline.h"

namespace lab {

inline constexpr std::size_t kMostStages = 64;

struct Assignment {
  std::int32_t stage = -1;   // -1: none
  std::int64_t records = 0;  // about so many, then ask again
  bool more = false;         // there is work for another worker
};

// Of one operator, after the run.
struct StageTotals {
  std::int64_t rows = 0;
  std::int64_t outputs = 0;
  std::int64_t busy_ns = 0;
};

class OrderedScheduler {
 public:
  // `window_ns`: length of the windows in which the time spent on operators is counted.
  OrderedScheduler(std::unique_ptr<Heuristic> heuristic, std::int64_t slice_ns, std::int64_t window_ns)
      : heuristic_(std::move(heuristic)), slice_ns_(slice_ns), window_ns_(window_ns) {}

  // Adds the next operator: what waits for it, and how many workers may be at it. Before the run.
  void add(const Worklist& list, std::int32_t limit);

  // Chooses an operator and makes the caller one of its workers, until `leave`. `skip`: operators, a bit each, that
  // this worker has just found nothing to do for. `any`: overrule a heuristic that declines what there is.
  Assignment choose(std::int64_t now_ns, std::uint64_t skip, bool any, std::vector<OperatorLoad>& table);

  // The worker has spent so long on so much.
  void leave(std::int32_t stage, std::int64_t busy_ns, std::int64_t rows, std::int64_t outputs);

  // Whether one more worker may turn to the operator, which has just been given something.
  bool has_room(std::size_t stage) const noexcept {
    const Load& load = loads_[stage];
    // seq_cst: behind a push; pairs with `leave`, behind which who finds nothing looks at the list again.
    return load.workers.load(std::memory_order_seq_cst) < load.limit.load(std::memory_order_relaxed);  // see `allow`
  }

  // From now on so many workers may be at the operator: never fewer than before. Its exit before.
  void allow(std::size_t stage, std::int32_t limit) noexcept {
    // relaxed: who sees it late does not come yet; the worker that allows it looks for work itself before it sleeps.
    loads_[stage].limit.store(limit, std::memory_order_relaxed);
  }

  // How many windows are over, and of the last of them, how many workers' time was spent on an operator and on all.
  std::int64_t windows() const noexcept { return windows_.load(std::memory_order_relaxed); }  // relaxed: statistics
  struct Busy {
    double own = 0;
    double all = 0;
  };
  Busy busy(std::size_t stage) const noexcept;

  // Records that one record of the operator becomes, as far as known.
  double selectivity(std::size_t stage) const noexcept {
    return loads_[stage].selectivity.load(std::memory_order_relaxed);  // relaxed: statistics
  }

  StageTotals totals(std::size_t stage) const noexcept;

 private:
  // All atomics but `workers` are statistics, each right by itself, and relaxed for that.
  struct alignas(kCacheLine) Load {
    const Worklist* list = nullptr;
    std::atomic<std::int32_t> limit{1};
    // Read at each decision and written whenever a worker comes or leaves: on one line.
    alignas(kCacheLine) std::atomic<std::int32_t> workers{0};
    // Since the start; added to when a worker leaves.
    std::atomic<std::int64_t> busy_ns{0}, rows{0}, outputs{0};
    // What was last known; a cost below 0: nothing yet.
    std::atomic<double> cost_ns{-1}, selectivity{1};
    // Written where windows change: the same at the start of the current window and of the one before.
    alignas(kCacheLine) std::atomic<std::int64_t> window_busy_ns{0};
    std::atomic<std::int64_t> window_rows{0}, window_outputs{0};
    std::atomic<std::int64_t> old_busy_ns{0}, old_rows{0}, old_outputs{0};
  };

  void look(std::uint64_t skip, std::vector<OperatorLoad>& table) const;
  void estimate(Load& load) noexcept;
  void change_window(std::int64_t now_ns) noexcept;

  std::unique_ptr<Heuristic> heuristic_;
  const LastInPipeline any_{HeuristicOptions{}};
  const std::int64_t slice_ns_;
  const std::int64_t window_ns_;
  std::deque<Load> loads_;
  // Written by who changes windows. Relaxed, all: statistics.
  alignas(kCacheLine) std::atomic<std::int64_t> window_end_ns_{0};
  std::atomic<std::int64_t> window_begin_ns_{0}, last_window_ns_{0}, windows_{0};
};

}  // namespace lab
