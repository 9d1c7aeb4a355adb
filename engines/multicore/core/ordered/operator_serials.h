// A serial number for each operator: whoever is at an operator's exit gives every output a fresh one, and its own place
// in the next operator's worklist. docs/decisions/0032-serials-of-operators.md says where this differs from serials of
// the source, which a unit keeps through the whole pipeline.
// Source: Scaling Ordered Stream Processing on Shared-Memory Multicores, sections 3 and 4 (figures 4 and 7).
//
// A unit is here what is known to one operator by one serial number: up to a batch of consecutive records. What comes
// of them is sent as units of the next operator, of up to a batch each; of nothing comes no unit.
//
// Bounded memory, and no deadlock. An operator has at most `kWindows` windows of units that have a serial number and are
// not sent on, so its worklist and its units have room; an exit that would need more waits, and is offered. A reordering
// buffer takes units one window ahead. A worker that is refused tries again for some microseconds, then puts the unit aside
// and turns to other work, where in the paper it tries for ever: the unit that all wait for may lie in a partition that
// nobody is at, or with a worker that waits for this one's core.
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
  // Units of an operator, in windows. More than one, so that a worker may be ahead of the buffer, as in the paper.
  static constexpr std::int64_t kWindows = 2;

  struct Options {
    std::int64_t batch = 1;   // records of a unit at most
    std::int64_t window = 1;  // slots of a reordering buffer; a power of two
    bool waits = false;       // whether a worker that is refused may wait for others: each has a core
    std::string reordering;   // of kReorderings
  };

  // Who works, and who sleeps.
  struct Staff {
    OrderedScheduler& scheduler;
    IdleWorkers& idle;
    std::span<Parker> parkers;
  };

  OperatorSerials(Options options, Staff staff, OrderedEgress& egress)
      : options_(std::move(options)), staff_(staff), egress_(egress) {}

  // Adds the next operator, whose worklist has room for all its units. Before the run.
  void add(OrderedStage& stage, Worklist& list);

  // The first operator's units, which the entry fills, and up to where they may be used again.
  std::span<Unit> entered() noexcept { return lines_.front().units; }
  const std::atomic<std::int64_t>& sent() const noexcept { return lines_.front().order->next(); }

  // Units of all operators.
  std::deque<std::vector<Unit>*> units() noexcept;

  // Where the entry sends units; one thread at a time.
  OrderedExit& entrance() noexcept { return entrance_; }

  // A worker has finished a unit.
  void completed(std::size_t stage, Unit& unit, OrderedWorker& worker);

  // Tries again what this worker had put aside, and goes on at exits that had no room. Returns whether something was
  // done. Who has something aside must not sleep.
  bool resume(OrderedWorker& worker);

  // Whether nothing of `end` units from the entry is left anywhere.
  bool over(std::int64_t end) const noexcept;

 private:
  struct Line final : BoundedExit {  // of one operator
    Line(OperatorSerials& all_in, std::size_t index_in, OrderedStage& stage_in, Worklist& list_in, std::int64_t room)
        : all(all_in), index(index_in), stage(stage_in), list(list_in), units(static_cast<std::size_t>(room)) {}
    bool send(Unit& unit, OrderedWorker& worker) override { return all.send(*this, unit, worker); }
    bool has_room() const override;

    OperatorSerials& all;
    const std::size_t index;
    OrderedStage& stage;
    Worklist& list;
    std::vector<Unit> units;  // the one of serial number t is t mod their count
    std::unique_ptr<BoundedReordering> order;
    std::int64_t gone = 0;  // records of the unit that is being sent that are sent; whoever is at this exit
    // Serial numbers that are given. Written at the exit before; who has seen `next` of that come to an end sees the last.
    alignas(kCacheLine) std::atomic<std::int64_t> given{0};
  };
  struct Entrance final : OrderedExit {
    explicit Entrance(OperatorSerials& all_in) : all(all_in) {}
    void send(Units units, OrderedWorker& worker) override;
    void offer(OrderedWorker&) override {}  // the entry does not
    OperatorSerials& all;
  };

  bool send(Line& line, Unit& unit, OrderedWorker& worker);
  bool pass_on(Line& line, Unit& unit, OrderedWorker& worker);
  void push(Line& line, Unit& unit, OrderedWorker& worker);
  void wake_for(const Line& line, const OrderedWorker& worker) noexcept;

  const Options options_;
  const Staff staff_;
  OrderedEgress& egress_;
  std::deque<Line> lines_;
  Entrance entrance_{*this};
};

}  // namespace lab
