// OrderedRun: runs a chain of operators. For any number of workers, outputs come in the order of sequential execution.
// docs/decisions/0010-ordered-pipelines.md explains the design.
//
// Roles. The only threads are the workers and, with a load, the generator's. A worker gets an operator from the
// scheduler and works for about a time slice on the items in the operator's worklist. Items are units (ordered/unit.h)
// or groups of their records. The worker adds the finished units to the operator's reordering buffer. A thread that
// finds the exit behind the buffer free sends units on: to the next operator's worklist, or out of the pipeline.
// Workers that look for work also admit units from the sources.
//
// Bounded memory and no deadlock, with serials of the source. At most `window` units are admitted and not yet out of
// the pipeline. Every worklist and reordering buffer has room for all of these units, so no thread ever waits for room.
// The oldest of these units is always with a worker, in a worklist, or next at an exit, so some thread can always
// proceed.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ordered/egress.h"
#include "ordered/entry.h"
#include "ordered/idle.h"
#include "ordered/operator_serials.h"
#include "ordered/reorder.h"
#include "ordered/scheduler.h"
#include "ordered/stage.h"
#include "ordered/worker.h"
#include "run/run.h"

namespace lab {

// `batch`: maximum number of records of a unit; values above `kMaxBatch` count as kMaxBatch.
struct OrderedOptions : RunSettings {
  // With this many records the cost of a unit is already negligible; larger units would only increase latency.
  static constexpr std::int64_t kMaxBatch = std::int64_t{1} << 16;
  static constexpr std::int64_t kMaxWindow = std::int64_t{1} << 16;

  // Maximum number of units in flight; with serials of operators, number of slots of each reordering buffer. Rounded up
  // to a power of two.
  std::int64_t window = 128;
  std::string scheduler = "ct";            // see ordered/heuristic.cc
  std::string worklist = "homed";          // see ordered/worklist.h
  std::string reordering = "nonblocking";  // see ordered/reorder.h
  std::string serials = "source";          // one of kSerials
  // s of section 6: the time for which a worker stays at an operator. A slice is long compared with a scheduler
  // decision, which costs 1 ns a record at batch 1 (decision 0010).
  std::int64_t slice_ns = 100'000;
  std::int64_t window_ns = 10'000'000;        // w of CT: period in which operator time is counted
  std::int64_t capacity = 0;                  // C of QST, in records; 0: half of the records that may be in flight
  std::vector<std::int32_t> input_itemsizes;  // item sizes of the input columns; the int64 timestamp is first
};

// Where units get the serial numbers that order them: at the source, once for the whole pipeline, or again at each
// operator (ordered/operator_serials.h).
inline constexpr Names<2> kSerials = {"source", "operator"};

class OrderedRun final : public Run, private OrderedStage::Next {
 public:
  // Throws std::invalid_argument on options out of range.
  explicit OrderedRun(OrderedOptions options);

  // Adds the next operator, which reads the input or the outputs of the preceding one. Throws std::invalid_argument.
  void add_stage(StageSpec spec);

  // Adds a stream whose columns have the input's item sizes; see Run::add_view. Returns its index.
  std::int32_t add_stream(StreamView stream);

  // Returns an operator. Call it only before or after the run.
  OrderedStage& stage(std::size_t index) { return *stages_.at(index); }

  // Returns the number of input records whose outputs are out.
  std::int64_t events() const noexcept override { return counts().events; }
  // Returns histogram counts of the times from the first operator's start on a unit until the unit's outputs are out.
  // With a load, all units are timed. Without a load, one unit per 64 records is timed, but none in the first and the
  // last fifth of the records.
  std::vector<std::int64_t> processing_counts() const;
  StageTotals totals(std::size_t stage) const noexcept { return scheduler_.totals(stage); }
  std::size_t stages() const noexcept { return stages_.size(); }
  const StageSpec& spec(std::size_t stage) const noexcept { return stages_[stage]->spec(); }
  OrderedCounts counts() const noexcept;
  std::int64_t window() const noexcept { return options_.window; }

 private:
  // Sends units to operator `stage`, or out of the pipeline if `stage` is one past the last operator.
  struct Exit final : OrderedExit {
    Exit(OrderedRun& runtime, std::size_t stage) : runtime_(runtime), stage_(stage) {}
    void send(Units units, OrderedWorker& worker) override { runtime_.deliver(stage_, units, worker); }
    void offer(OrderedWorker& worker) override { runtime_.wake_one(worker); }
    OrderedRun& runtime_;
    std::size_t stage_;
  };
  // One operator's worklist, and the reordering buffer and exit behind the operator.
  struct Line {
    std::unique_ptr<Worklist> list;
    // Both are null with serials of operators.
    std::unique_ptr<Exit> exit;
    std::unique_ptr<Reordering> order;
    // Only for partitioned operators. Written at the preceding exit.
    std::int64_t examined_windows = 0;    // number of windows when the load was last examined
    std::int32_t overloaded_windows = 0;  // number of consecutive windows in which a bundle overloaded its worker
  };
  struct Slot {
    std::unique_ptr<OrderedWorker> worker;
    std::vector<OperatorLoad> table;  // scratch memory for the scheduler
  };

  void take_finished(std::size_t stage, Unit& unit, OrderedWorker& worker) override;
  void hand_over(std::size_t stage, OrderedWorker& worker) override;
  void deliver(std::size_t stage, Units units, OrderedWorker& worker);
  void rebundle(std::size_t stage, Units units, OrderedWorker& worker);
  bool is_overloaded(std::size_t stage);
  void wake_one(const OrderedWorker& self) noexcept {
    if (idle_.has_others(self.index)) idle_.wake_one(threads().parkers(), self.index);
  }

  const RunSettings& settings() const noexcept override { return options_; }
  void prepare() override;
  void work(std::int32_t index) override;
  std::vector<const OutputBuffer*> outputs() const override;
  void count(Counts& into) const override;
  bool numbers_by_operator() const noexcept { return options_.serials != kSerials.front(); }
  void touch(std::vector<Unit>& units);
  bool take_turn(Slot& slot, bool any);
  bool resume(OrderedWorker& worker);
  bool admit(OrderedWorker& worker);
  bool schedule(Slot& slot, bool any);
  bool finished() const noexcept;

  OrderedOptions options_;
  OrderedScheduler scheduler_;
  std::vector<std::unique_ptr<OrderedStage>> stages_;
  std::vector<Line> lines_;
  Line front_;  // precedes the first operator if this operator is partitioned
  Exit entrance_{*this, 0};
  std::vector<Unit> units_;                            // empty with serials of operators
  std::unique_ptr<OperatorSerials> operator_serials_;  // null with serials of the source
  std::unique_ptr<OrderedEntry> entry_;
  std::unique_ptr<OrderedEgress> egress_;
  IdleWorkers idle_;
  std::vector<Slot> slots_;
};

}  // namespace lab
