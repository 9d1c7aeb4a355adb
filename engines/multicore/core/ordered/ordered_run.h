// A run of an ordered pipeline: operators in a row, whose outputs come in the order of sequential execution however
// many workers there are. docs/decisions/0010-ordered-pipelines.md says how and why so.
//
// Who does what. There are no threads but the workers, and with a load the generator's. A worker asks the scheduler for
// an operator, works on what waits for it, for about a time slice, and gives what it has finished to the operator's
// reordering buffer; whoever finds the exit behind it free sends units on, to the next operator's worklist or out.
// Units are admitted by whoever looks for work.
//
// Bounded memory, and no deadlock. At most `window` units are admitted and not yet out. Every worklist and reordering
// buffer has room for all of them, so nobody ever waits for room. The oldest unit that is not out is always in a
// worker's hands, in a worklist, or next at an exit: so somebody can go on.
//
// Set-up and results are for one thread.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "run/generator.h"
#include "log/feed.h"
#include "run/instance_threads.h"
#include "ordered/egress.h"
#include "ordered/entry.h"
#include "ordered/idle.h"
#include "ordered/reorder.h"
#include "ordered/scheduler.h"
#include "ordered/stage.h"
#include "ordered/worker.h"
#include "run/run_parts.h"
#include "run/threads.h"

namespace lab {

struct OrderedOptions {
  std::int32_t workers = 1;
  std::int64_t batch = 1;                    // records of a unit at most; above 65,536 counts as that
  std::int64_t window = 128;                 // units under way; rounded up to a power of two
  std::uint64_t ring_blocks = 64;            // blocks that a source may be ahead of the entry
  std::string scheduler = "ct";              // see ordered/heuristic.cc
  std::string worklist = "homed";            // see ordered/worklist.h
  std::string reordering = "nonblocking";    // see ordered/reorder.h
  std::int64_t slice_ns = 100'000;           // for how long a worker stays at an operator
  std::int64_t window_ns = 10'000'000;       // w of CT: over which the time spent on operators is counted
  std::int64_t capacity = 0;                 // C of QST, in records; 0: half of what may be under way
  std::vector<std::int32_t> input_itemsizes; // of the input, the int64 timestamp first
  std::vector<std::int32_t> cores;           // worker i is pinned to cores[i mod size]; empty: not pinned
  bool oversubscribed = false;               // more workers than cores: do not spin
  std::optional<LoadOptions> load;
  bool spare_core = false;
  std::int64_t reserved_rows = 0;            // output rows for which memory is touched before the run
  std::int64_t grid_steps = Recorder::kSteps;
  bool measure = true;
};

class OrderedRun : private OrderedStage::Next {
 public:
  // Throws std::invalid_argument on options out of range.
  explicit OrderedRun(OrderedOptions options);
  OrderedRun(const OrderedRun&) = delete;
  OrderedRun& operator=(const OrderedRun&) = delete;

  // Adds the next operator: it reads the input, or what the one before forwards. Throws std::invalid_argument.
  void add_stage(StageSpec spec);

  // Adds a stream; its index, which breaks ties in time, is the number of streams added before. `stream.columns` are
  // those of the input's item sizes. Throws std::invalid_argument.
  std::int32_t add_stream(StreamView stream);

  // Creates the threads; they wait for `run`. Once.
  void start();

  // Runs to the end of all streams. Returns the duration in ns. Throws std::runtime_error when an operator failed.
  std::int64_t run();

  std::int64_t rows() const noexcept { return egress_->outputs().rows(); }
  std::int64_t outputs_grown() const noexcept { return egress_->outputs_grown(); }  // see OutputPool
  void collect(std::span<void* const> columns) const;
  std::int64_t events() const noexcept { return egress_->events(); }  // input records whose outputs are out
  std::int64_t emitted() const noexcept { return generator_ ? generator_->emitted() : 0; }
  bool real_time_generator() const noexcept { return generator_ && generator_->real_time(); }

  std::vector<std::int64_t> latency_counts() const;
  std::vector<std::int64_t> warm_up_counts() const;
  std::vector<std::int64_t> service_counts() const;
  std::vector<std::int64_t> lag_counts() const;
  // From when the first operator took a unit until its outputs were out: one unit in every 64 records, all of them
  // with a load.
  std::vector<std::int64_t> processing_counts() const;
  std::vector<Progress> progress() const;
  StageTotals totals(std::size_t stage) const noexcept { return scheduler_.totals(stage); }
  std::size_t stages() const noexcept { return stages_.size(); }
  const StageSpec& spec(std::size_t stage) const noexcept { return stages_[stage]->spec(); }
  OrderedCounts counts() const noexcept;
  Counters sleeps_and_yields() const noexcept;
  std::int64_t window() const noexcept { return static_cast<std::int64_t>(units_.size()); }

 private:
  // Leads to operator `to`; to one past the last: out.
  struct Exit final : OrderedExit {
    Exit(OrderedRun& runtime, std::size_t to) : runtime_(runtime), to_(to) {}
    void send(Units units, OrderedWorker& worker) override { runtime_.deliver(to_, units, worker); }
    void offer(OrderedWorker& worker) override { runtime_.wake_one(worker); }
    OrderedRun& runtime_;
    std::size_t to_;
  };
  struct Line {  // of one operator
    std::unique_ptr<Worklist> list;
    std::unique_ptr<Exit> exit;  // behind it
    std::unique_ptr<Reordering> order;
  };
  struct Slot {
    std::unique_ptr<OrderedWorker> worker;
    std::vector<OperatorLoad> table;
  };

  void completed(std::size_t stage, Unit& unit, OrderedWorker& worker) override;
  void hand_over(std::size_t stage, OrderedWorker& worker) override;
  void deliver(std::size_t to, Units units, OrderedWorker& worker);
  void wake_one(const OrderedWorker& self) noexcept {
    if (idle_.any(self.index)) idle_.wake_one(threads_.parkers(), self.index);
  }

  void set_up();
  void touch_units();
  void work(std::int32_t index);
  bool turn(Slot& slot, bool any);
  bool admit(OrderedWorker& worker);
  bool schedule(Slot& slot, bool any);
  bool over() const noexcept;

  OrderedOptions options_;
  InstanceThreads threads_;
  OrderedScheduler scheduler_;
  std::vector<std::unique_ptr<OrderedStage>> stages_;
  std::vector<Line> lines_;
  Line front_;                         // before the first operator, where it is partitioned
  Exit entrance_{*this, 0};
  std::vector<Unit> units_;
  std::unique_ptr<OrderedEntry> entry_;
  std::unique_ptr<OrderedEgress> egress_;
  IdleWorkers idle_;
  std::vector<Slot> slots_;

  std::deque<StreamView> views_;
  std::vector<std::unique_ptr<Source>> sources_;
  std::deque<Feed> feeds_;
  std::unique_ptr<Generator> generator_;
  RunThreads run_threads_;
};

}  // namespace lab
