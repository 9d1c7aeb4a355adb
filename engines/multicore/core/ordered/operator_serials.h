// OperatorSerials: gives each operator of an OrderedRun its own serial numbers. The thread at an operator's exit
// numbers the outputs and pushes them to the next operator's worklist.
// docs/decisions/0032-serials-of-operators.md compares this with serials of the source, which a unit keeps through the
// whole pipeline.
// Source: Scaling Ordered Stream Processing on Shared-Memory Multicores, sections 3 and 4 (figures 4 and 7).
//
// Here a unit is up to a batch of consecutive records with one serial number at one operator. The outputs of a unit
// become units of the next operator, of up to a batch each. A unit without outputs ends.
//
// Bounded memory and no deadlock. At most `kWindows` windows of an operator's units are numbered and not yet sent on,
// so its worklist and its units have room. An exit that needs more room stops, and makes an offer
// (ordered/bounded_reorder.h). A reordering buffer accepts units one window ahead. If the buffer refuses a unit, the
// worker retries for some microseconds, then puts the unit aside and turns to other work. In the paper the worker
// retries forever. That could deadlock: all workers might wait for a unit in a partition without a worker, or for a
// unit whose worker needs this worker's core.
#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ordered/bounded_reorder.h"
#include "ordered/egress.h"
#include "ordered/entry.h"
#include "ordered/idle.h"
#include "ordered/scheduler.h"
#include "ordered/stage.h"
#include "ordered/worklist.h"
#include "run/cacheline.h"
#include "run/parker.h"

namespace lab {

class OperatorSerials {
 public:
  // Number of windows of units per operator. With more than one, a worker may be ahead of the buffer, as in the paper.
  static constexpr std::int64_t kWindows = 2;

  struct Options {
    std::int64_t batch = 1;   // maximum number of records of a unit
    std::int64_t window = 1;  // slots of a reordering buffer; a power of two
    bool may_wait = false;    // whether a worker may retry a refused unit for a while, because each worker has a core
    std::string reordering;   // one of kReorderings
  };

  // The workers' scheduler, and the means to wake workers.
  struct Staff {
    OrderedScheduler& scheduler;
    IdleWorkers& idle;
    std::span<Parker> parkers;
  };

  OperatorSerials(Options options, Staff staff, OrderedEgress& egress)
      : options_(std::move(options)), staff_(staff), egress_(egress) {}

  // Adds the next operator, whose worklist must have room for all its units. Call it before the run.
  void add(OrderedStage& stage, Worklist& list);

  // Returns the first operator's units, which the entry fills.
  std::span<Unit> entry_units() noexcept { return lines_.front().units; }
  // Returns the serial number before which the first operator's units are free for reuse.
  const std::atomic<std::int64_t>& sent() const noexcept { return lines_.front().order->next(); }

  // Returns the units of all operators.
  std::deque<std::vector<Unit>*> units() noexcept;

  // Returns the exit to which the entry sends units. One thread at a time may use it.
  OrderedExit& entrance() noexcept { return entrance_; }

  // Takes a unit that a worker has finished.
  void take_finished(std::size_t stage, Unit& unit, OrderedWorker& worker);

  // Retries the units that this worker has put aside, and resumes exits that had no room. Returns whether it made
  // progress. A worker with units aside must not sleep.
  bool resume(OrderedWorker& worker);

  // Returns whether all of the `end` units from the entry have left the pipeline.
  bool finished(std::int64_t end) const noexcept;

 private:
  // One operator with its worklist, units and reordering buffer.
  struct Line final : BoundedExit {
    Line(OperatorSerials& owner_in, std::size_t index_in, OrderedStage& stage_in, Worklist& list_in, std::int64_t room)
        : owner(owner_in), index(index_in), stage(stage_in), list(list_in), units(static_cast<std::size_t>(room)) {}
    bool send(Unit& unit, OrderedWorker& worker) override { return owner.send(*this, unit, worker); }
    bool has_room() const override;

    OperatorSerials& owner;
    const std::size_t index;
    OrderedStage& stage;
    Worklist& list;
    std::vector<Unit> units;  // the unit of serial number t is units[t mod size]
    std::unique_ptr<BoundedReordering> order;
    std::int64_t sent_records = 0;  // records already sent of the current unit; written by the thread at this exit
    // Number of serial numbers issued. Written at the preceding exit. A reader that sees the preceding operator's
    // `order->next()` reach the end also sees the last value.
    alignas(kCacheLine) std::atomic<std::int64_t> issued{0};
  };
  struct Entrance final : OrderedExit {
    explicit Entrance(OperatorSerials& owner_in) : owner(owner_in) {}
    void send(Units units, OrderedWorker& worker) override;
    void offer(OrderedWorker&) override {}  // the entry makes no offers
    OperatorSerials& owner;
  };

  bool send(Line& line, Unit& unit, OrderedWorker& worker);
  bool send_pieces(Line& line, Unit& unit, OrderedWorker& worker);
  void push(Line& line, Unit& unit, OrderedWorker& worker);
  void wake_for(const Line& line, const OrderedWorker& worker) noexcept;

  const Options options_;
  const Staff staff_;
  OrderedEgress& egress_;
  std::deque<Line> lines_;
  Entrance entrance_{*this};
};

}  // namespace lab
