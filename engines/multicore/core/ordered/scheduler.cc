// Implements the scheduler; see ordered/scheduler.h.
#include "ordered/scheduler.h"

#include <algorithm>
#include <limits>

namespace lab {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;  // for statistics, which order nothing

// Assumed cost of a record before the first measurement. It matters only in comparisons, since the first worker takes
// one record.
constexpr double kAssumedCostNs = 1'000;

// Maximum number of records of one assignment: far above any slice, and exact as a double.
constexpr double kMaxRecords = 1e9;

// The clock cannot resolve smaller costs.
constexpr double kMinCostNs = 0.1;

}  // namespace

void OrderedScheduler::add(const Worklist& list, std::int32_t limit) {
  Load& load = loads_.emplace_back();
  load.list = &list;
  load.limit.store(limit, kRelaxed);  // before the run
}

void OrderedScheduler::read_loads(std::uint64_t skip, std::vector<OperatorLoad>& table) const {
  table.resize(loads_.size());
  for (std::size_t i = 0; i < loads_.size(); ++i) {
    const Load& load = loads_[i];
    OperatorLoad& row = table[i];
    const std::int32_t workers = load.workers.load(kRelaxed);  // relaxed: `choose` checks it again
    row.workers = workers;
    const std::int32_t limit = load.limit.load(kRelaxed);
    row.limit = limit;
    row.schedulable = (skip >> i & 1) == 0 && workers < limit && !load.list->empty();
    row.queued = static_cast<double>(load.list->queued());
    const double cost_ns = load.cost_ns.load(kRelaxed);
    row.cost_ns = cost_ns < 0 ? kAssumedCostNs : cost_ns;
    row.selectivity = load.selectivity.load(kRelaxed);
    row.window_ns = static_cast<double>(load.busy_ns.load(kRelaxed) - load.window_busy_ns.load(kRelaxed));
  }
}

Assignment OrderedScheduler::choose(std::int64_t now_ns, std::uint64_t skip, bool any,
                                    std::vector<OperatorLoad>& table) {
  if (now_ns >= window_end_ns_.load(kRelaxed)) change_window(now_ns);
  for (;;) {
    read_loads(skip, table);
    std::int32_t stage = heuristic_(table, heuristic_options_);
    if (stage < 0 && any) stage = last_in_pipeline(table, heuristic_options_);
    if (stage < 0) return {};
    const auto index = static_cast<std::size_t>(stage);
    Load& load = loads_[index];
    std::int32_t workers = load.workers.load(kRelaxed);  // relaxed: the exchange checks it
    const std::int32_t limit = load.limit.load(kRelaxed);
    bool joined = false;
    while (workers < limit && !joined) {
      // acquire: the state of an operator that takes one worker at a time; pairs with the release in `leave`.
      joined = load.workers.compare_exchange_weak(workers, workers + 1, std::memory_order_acquire, kRelaxed);
    }
    if (!joined) {  // other workers were faster
      skip |= std::uint64_t{1} << index;
      continue;
    }
    Assignment result;
    result.stage = stage;
    const double cost_ns = load.cost_ns.load(kRelaxed);
    const double records = cost_ns < 0 ? 1 : static_cast<double>(slice_ns_) / cost_ns;
    result.records = static_cast<std::int64_t>(std::clamp(records, 1.0, kMaxRecords));
    for (std::size_t i = 0; i < table.size(); ++i) {
      // The caller may empty its own operator, which therefore counts only if it holds more than the caller's share.
      if (i == index) {
        result.has_more |= workers + 1 < limit && table[i].queued > records;
      } else {
        result.has_more |= table[i].schedulable;
      }
    }
    return result;
  }
}

void OrderedScheduler::leave(std::int32_t stage, std::int64_t busy_ns, std::int64_t rows, std::int64_t outputs) {
  Load& load = loads_[static_cast<std::size_t>(stage)];
  if (rows != 0) {
    load.busy_ns.fetch_add(busy_ns, kRelaxed);
    load.rows.fetch_add(rows, kRelaxed);
    if (outputs != 0) load.outputs.fetch_add(outputs, kRelaxed);
    estimate(load);
  }
  // release: the state; pairs with the exchange in `choose`. seq_cst: before a look at the list; pairs with `has_room`.
  load.workers.fetch_sub(1, std::memory_order_seq_cst);
}

// Sets the operator's cost and selectivity to their averages over the current and the preceding window.
void OrderedScheduler::estimate(Load& load) noexcept {
  const std::int64_t rows = load.rows.load(kRelaxed) - load.preceding_rows.load(kRelaxed);
  if (rows <= 0) return;
  const auto count = static_cast<double>(rows);
  const auto busy_ns = static_cast<double>(load.busy_ns.load(kRelaxed) - load.preceding_busy_ns.load(kRelaxed));
  const auto outputs = static_cast<double>(load.outputs.load(kRelaxed) - load.preceding_outputs.load(kRelaxed));
  load.cost_ns.store(std::max(kMinCostNs, busy_ns / count), kRelaxed);
  load.selectivity.store(std::max(0.0, outputs / count), kRelaxed);
}

// Starts the next window if the current one has ended.
void OrderedScheduler::change_window(std::int64_t now_ns) noexcept {
  std::int64_t end_ns = window_end_ns_.load(kRelaxed);
  // relaxed: the exchange decides only which thread changes the window; all written values are statistics.
  if (now_ns < end_ns || !window_end_ns_.compare_exchange_strong(end_ns, now_ns + window_ns_, kRelaxed)) return;
  for (Load& load : loads_) {
    load.preceding_busy_ns.store(load.window_busy_ns.load(kRelaxed), kRelaxed);
    load.preceding_rows.store(load.window_rows.load(kRelaxed), kRelaxed);
    load.preceding_outputs.store(load.window_outputs.load(kRelaxed), kRelaxed);
    load.window_busy_ns.store(load.busy_ns.load(kRelaxed), kRelaxed);
    load.window_rows.store(load.rows.load(kRelaxed), kRelaxed);
    load.window_outputs.store(load.outputs.load(kRelaxed), kRelaxed);
  }
  last_window_ns_.store(now_ns - window_begin_ns_.exchange(now_ns, kRelaxed), kRelaxed);
  windows_.fetch_add(1, kRelaxed);
}

OrderedScheduler::Busy OrderedScheduler::busy(std::size_t stage) const noexcept {
  Busy result;
  const auto window_ns = static_cast<double>(std::max<std::int64_t>(1, last_window_ns_.load(kRelaxed)));
  for (std::size_t i = 0; i < loads_.size(); ++i) {
    const Load& load = loads_[i];
    const auto spent_ns =
        static_cast<double>(load.window_busy_ns.load(kRelaxed) - load.preceding_busy_ns.load(kRelaxed));
    result.total += spent_ns / window_ns;
    if (i == stage) result.at_stage = spent_ns / window_ns;
  }
  return result;
}

StageTotals OrderedScheduler::totals(std::size_t stage) const noexcept {
  const Load& load = loads_[stage];
  return {load.rows.load(kRelaxed), load.outputs.load(kRelaxed), load.busy_ns.load(kRelaxed)};
}

}  // namespace lab
