// What leaves a thread: a link to each consumer, waiting for room, and keeping promises.
//
// Why nobody waits for ever. Suppose that all threads which are not through are asleep.
//
// Promises. A thread that waits for room for a row timed t has promised t, one that waits for rows what it was
// promised, on all links but those with spilled rows. A spill is of one time, that of all rows in its full ring;
// whoever sleeps moves its spills as soon as there is room, also while it waits for room in another link. So a link
// that its consumer has emptied has no spill, and says what its producer promised.
//
// A consumer that sleeps for rows has released all that were ready. If rows are left, the first, timed s, misses the
// promise of a producer whose link is empty, hence whose promise is at most s. That producer waits for room for a row
// that is not later than s; or for rows, by the promise of a producer before it, and so on up to a source, which always
// goes on. So (*): some thread upstream waits for room for a row timed s or earlier.
//
// Let Y be the thread that waits for room for the earliest row, timed t; of those with the same t the furthest
// downstream. Its consumer C does not wait for room: the row in C's hand was ready, so it is not later than Y's promise
// t, and C is further downstream. So C sleeps for rows, and Y's ring is full of rows that are not ready. By (*) and the
// choice of Y, C's first row is timed t, as are then all in Y's ring: but then Y did not wait, it spilled
// (LayerLink::may_wait). So nobody waits for room, by (*) no rows are left, and nobody has anything to wait for.
//
// Where rows are acknowledged together (LogOptions::acknowledged_rows), room comes when the last row of the oldest such
// group is released, and that row is what LayerLink::may_wait looks at. If it is earlier than t, it is ready, as are all
// before it: C has released them, the group was acknowledged, and Y's ring was not full.
//
// Links with rows in any order make nobody wait for promises: whoever waits for room waits for a consumer that works,
// down to the sinks. Rows of one time beyond what a ring holds are kept in memory that grows; that is what an order by
// (time, producer) costs.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "layers/link.h"
#include "run/instance_threads.h"

namespace lab {

class LayerOut {
 public:
  // `unit`: rows of a hand-over, at most; `eager`: everything is said at once, since more may not come soon.
  LayerOut(Parker& parker, const InstanceThreads& threads, Counters& counts,
           std::vector<std::unique_ptr<LayerLink>> links, std::int64_t unit, bool eager);

  std::size_t size() const noexcept { return links_.size(); }
  LayerLink& link(std::size_t to) noexcept { return *links_[to]; }

  // Sends rows [from, from + rows) to one link, in blocks; all of them have ts >= what was promised. May wait; returns
  // early when the run has failed.
  void send(std::size_t to, const void* const* columns, std::int64_t from, std::int64_t rows);

  // Sends row from + i to link to[i].
  void deal(const void* const* columns, std::int64_t from, std::int64_t rows, const std::int32_t* to);

  // Sends row from + i to each link that has a bit in to[i].
  void cast(const void* const* columns, std::int64_t from, std::int64_t rows, const std::uint64_t* to);

  // Later rows, of all links, have ts >= `ts`; kEndOfTime: there are none.
  void promise(std::int64_t ts) noexcept { promised_ = std::max(promised_, ts); }

  // The thread has done `rows` more: now and then it says so.
  void did(std::int64_t rows) {
    unsaid_rows_ += rows;
    if (eager_ || unsaid_rows_ >= kRowsUnsaid) say();
  }

  // The thread has nothing to do for the moment: says all that there is to say, and moves what was spilled. Returns
  // whether some was. Before `commit` of its parker it must have been called since `prepare`.
  bool settle();

  // Whether all links are closed: the end was promised, and nothing is left.
  bool closed() const noexcept;

 private:
  // A sleeping consumer waits for at most so many rows of a busy producer, at full speed.
  static constexpr std::int64_t kRowsUnsaid = 64;

  void list(std::size_t to, std::int64_t row) noexcept {
    lists_[to * static_cast<std::size_t>(unit_) + static_cast<std::size_t>(dealt_[to]++)] =
        static_cast<std::int32_t>(row);
  }
  bool send_lists(const void* const* columns, std::int64_t from);
  void say();
  bool wait(LayerLink& link, std::int64_t ts);

  Parker& parker_;
  const InstanceThreads& threads_;
  Counters& counts_;
  const std::vector<std::unique_ptr<LayerLink>> links_;
  const std::int64_t unit_;
  const bool eager_;
  std::int64_t promised_ = LayerLink::kNothingPromised;
  std::int64_t unsaid_rows_ = 0;
  // Scratch: by link, how many rows of a block it gets, and which.
  std::vector<std::int64_t> dealt_;
  std::vector<std::int32_t> lists_;  // `unit` entries for each link
};

}  // namespace lab
