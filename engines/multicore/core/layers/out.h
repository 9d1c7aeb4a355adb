// LayerOut: the output of a thread of a query graph: a link to each consumer, waits for room, and promises.
//
// Why no thread waits forever. Suppose that all unfinished threads are asleep.
//
// Promises. A thread that waits for room for a row of time t has promised t. A thread that waits for rows has passed on
// the promise of its input. Both hold on all links except those with spilled rows. All spilled rows of a link have one
// time, that of all rows in its full ring. A sleeping thread moves its spills as soon as there is room, also while it
// waits for room in another link. So a link that its consumer has emptied has no spill, and carries its producer's
// promise.
//
// A consumer that sleeps for rows has released all ready rows. If rows are left, the first, of time s, lacks the
// promise of a producer. That producer's link is empty, so its promise is at most s. The producer waits either for room
// for a row that is not later than s, or for rows, because of the promise of a preceding producer. The same holds for
// that producer, up to a source, which always proceeds. So (*): some thread upstream waits for room for a row of time s
// or earlier.
//
// Let Y be the thread that waits for room for the earliest row, of time t; among those with the same t, the furthest
// downstream. Its consumer C does not wait for room: C's current row was ready, so it is not later than Y's promise t,
// and C is further downstream. So C sleeps for rows, and Y's ring is full of rows that are not ready. By (*) and the
// choice of Y, C's first row has time t, as do then all rows in Y's ring. But then Y did not wait; it spilled
// (LayerLink::may_wait). So no thread waits for room, by (*) no rows are left, and no thread has a reason to wait.
//
// Where rows are acknowledged together (LogOptions::acknowledged_rows), room comes when the last row of the oldest such
// group is released. LayerLink::may_wait examines that row. If it is earlier than t, it is ready, as are all rows
// before it: C has released them, the group was acknowledged, and Y's ring was not full.
//
// Links with rows in any order need no promises: a thread that waits for room waits for a working consumer, down to the
// sinks. Rows of one time beyond the size of a ring are stored in memory that grows. That is the cost of an order by
// (time, producer).
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
  // `unit`: maximum number of rows of one delivery. `eager`: whether to announce each delivery at once, because the
  // next may not come soon.
  LayerOut(Parker& parker, const InstanceThreads& threads, Counters& counts,
           std::vector<std::unique_ptr<LayerLink>> links, std::int64_t unit, bool eager);

  std::size_t size() const noexcept { return links_.size(); }
  LayerLink& link(std::size_t to) noexcept { return *links_[to]; }

  // Sends rows [from, from + rows) to one link, in blocks; all of them have ts >= the last promise. May wait; returns
  // early when the run has failed.
  void send(std::size_t to, const void* const* columns, std::int64_t from, std::int64_t rows);

  // Sends row from + i to link to[i].
  void distribute(const void* const* columns, std::int64_t from, std::int64_t rows, const std::int32_t* to);

  // Sends row from + i to link 64 * w + b if bit b of to[w * rows + i] is set.
  void multicast(const void* const* columns, std::int64_t from, std::int64_t rows, const std::uint64_t* to);

  // Promises that later rows of all links have ts >= `ts`; kEndOfTime promises that no rows follow.
  void promise(std::int64_t ts) noexcept { promised_ = std::max(promised_, ts); }

  // Counts `rows` more processed rows, and announces them if `eager` or after kRowsUnannounced rows.
  void count_rows(std::int64_t rows) {
    unannounced_rows_ += rows;
    if (eager_ || unannounced_rows_ >= kRowsUnannounced) announce();
  }

  // Announces all rows and promises, and moves spilled rows. Returns whether it moved any. A thread without work must
  // call it between `prepare` and `commit` of its parker.
  bool settle();

  // Returns whether all links are closed: the end is promised, and no spilled rows are left.
  bool closed() const noexcept;

 private:
  // At full speed, a sleeping consumer waits for at most this many rows of a busy producer.
  static constexpr std::int64_t kRowsUnannounced = 64;

  void add_to_list(std::size_t to, std::int64_t row) noexcept {
    lists_[to * static_cast<std::size_t>(unit_) + static_cast<std::size_t>(list_sizes_[to]++)] =
        static_cast<std::int32_t>(row);
  }
  bool send_lists(const void* const* columns, std::int64_t from);
  void announce();
  bool wait(LayerLink& link, std::int64_t ts);

  Parker& parker_;
  const InstanceThreads& threads_;
  Counters& counts_;
  const std::vector<std::unique_ptr<LayerLink>> links_;
  const std::int64_t unit_;
  const bool eager_;
  std::int64_t promised_ = LayerLink::kNoPromise;
  std::int64_t unannounced_rows_ = 0;
  // Scratch, by link: the number of rows of a block that go to the link, and their list.
  std::vector<std::int64_t> list_sizes_;
  std::vector<std::int32_t> lists_;  // `unit` entries for each link
};

}  // namespace lab
