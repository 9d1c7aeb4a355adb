// OrderedScheduler: assigns each worker an operator and a number of records, and measures the cost of operators.
//
// Decisions use values that are slightly out of date. Only one fact must hold: an operator never has more workers than
// its limit. An atomic exchange ensures this.
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

inline constexpr std::size_t kMaxStages = 64;

struct Assignment {
  std::int32_t stage = -1;   // index of the operator; -1 for none
  std::int64_t records = 0;  // approximate number of records to process before the next decision
  bool has_more = false;     // whether there is work for another worker
};

// Totals of one operator, after the run.
struct StageTotals {
  std::int64_t rows = 0;
  std::int64_t outputs = 0;
  std::int64_t busy_ns = 0;
};

class OrderedScheduler {
 public:
  // `capacity`: C of QST, in records. `slice_ns`: time for which a worker stays at an operator. `window_ns`: length of
  // the windows in which operator time is counted.
  OrderedScheduler(Heuristic heuristic, std::int64_t capacity, std::int64_t slice_ns, std::int64_t window_ns)
      : heuristic_(heuristic),
        heuristic_options_{static_cast<double>(slice_ns), static_cast<double>(capacity)},
        slice_ns_(slice_ns),
        window_ns_(window_ns) {}

  // Adds the next operator: its worklist, and its limit of workers. Call it before the run.
  void add(const Worklist& list, std::int32_t limit);

  // Chooses an operator and makes the caller one of its workers, until `leave`. `skip`: bit mask of the operators at
  // which this worker has just found no work. `any`: choose some work even if the heuristic selects none. `table`:
  // scratch memory, which is overwritten.
  Assignment choose(std::int64_t now_ns, std::uint64_t skip, bool any, std::vector<OperatorLoad>& table);

  // Records that a worker has left the operator after `busy_ns`, in which it read `rows` and emitted `outputs` records.
  void leave(std::int32_t stage, std::int64_t busy_ns, std::int64_t rows, std::int64_t outputs);

  // Returns whether one more worker may join the operator. Call it after a push to the operator's worklist.
  bool has_room(std::size_t stage) const noexcept {
    const Load& load = loads_[stage];
    // seq_cst: follows a push; pairs with `leave`, after which a worker that finds no work looks at the list again.
    return load.workers.load(std::memory_order_seq_cst) <
           load.limit.load(std::memory_order_relaxed);  // see `raise_limit`
  }

  // Raises the operator's limit of workers; the limit never falls. Only the thread at the preceding exit may call it.
  void raise_limit(std::size_t stage, std::int32_t limit) noexcept {
    // relaxed: a worker may see the limit late; the thread that raises it looks for work itself before it sleeps.
    loads_[stage].limit.store(limit, std::memory_order_relaxed);
  }

  // Returns the number of completed windows.
  std::int64_t windows() const noexcept { return windows_.load(std::memory_order_relaxed); }  // relaxed: statistics
  // Time that workers spent in the last window at one operator and at all operators, as multiples of the window's
  // length.
  struct Busy {
    double at_stage = 0;
    double total = 0;
  };
  Busy busy(std::size_t stage) const noexcept;

  // Returns the operator's number of output records per input record, as last measured.
  double selectivity(std::size_t stage) const noexcept {
    return loads_[stage].selectivity.load(std::memory_order_relaxed);  // relaxed: statistics
  }

  StageTotals totals(std::size_t stage) const noexcept;

 private:
  // All atomics except `workers` are independent statistics, and therefore relaxed.
  struct alignas(kCacheLine) Load {
    const Worklist* list = nullptr;
    std::atomic<std::int32_t> limit{1};
    // Read at each decision and written when a worker comes or leaves; the following fields share its cache line.
    alignas(kCacheLine) std::atomic<std::int32_t> workers{0};
    // Totals since the start; a leaving worker adds to them.
    std::atomic<std::int64_t> busy_ns{0}, rows{0}, outputs{0};
    // Last measured values; the cost is below 0 before the first measurement.
    std::atomic<double> cost_ns{-1}, selectivity{1};
    // The totals at the start of the current window and of the preceding one. Written when the window changes.
    alignas(kCacheLine) std::atomic<std::int64_t> window_busy_ns{0};
    std::atomic<std::int64_t> window_rows{0}, window_outputs{0};
    std::atomic<std::int64_t> preceding_busy_ns{0}, preceding_rows{0}, preceding_outputs{0};
  };

  void read_loads(std::uint64_t skip, std::vector<OperatorLoad>& table) const;
  void estimate(Load& load) noexcept;
  void change_window(std::int64_t now_ns) noexcept;

  const Heuristic heuristic_;
  const HeuristicOptions heuristic_options_;
  const std::int64_t slice_ns_;
  const std::int64_t window_ns_;
  std::deque<Load> loads_;
  // Written by the thread that changes windows. All relaxed: statistics.
  alignas(kCacheLine) std::atomic<std::int64_t> window_end_ns_{0};
  std::atomic<std::int64_t> window_begin_ns_{0}, last_window_ns_{0}, windows_{0};
};

}  // namespace lab
