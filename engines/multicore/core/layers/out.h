// LayerOut: the outputs of a thread of a query graph. It sends rows over a link to each consumer, waits for room, and
// makes promises.
//
// Why no thread waits forever. Suppose that all unfinished threads are asleep.
//
// Promises. A thread that waits for room for a row of time t has promised t. A thread that waits for rows has passed on
// the promise of its input. Both hold on all links except those with spilled rows. All spilled rows of a link have one
// time, which is also the time of all rows in the link's full ring. A sleeping thread moves its spilled rows as soon as
// there is room, also while it waits for room in another link. So a link that its consumer has emptied has no spilled
// rows, and carries its producer's promise.
//
// A consumer that sleeps for rows has released all ready rows. If rows are left, the first of them, of time s, lacks
// the promise of a producer P. P's link is empty, so P's promise is at most s. P waits either for room for a row that
// is not later than s, or for rows, because one of P's own producers promises at most s. The same holds for that
// producer, and so on up to a source, which always proceeds. So (*): some thread upstream waits for room for a row of
// time s or earlier.
//
// Among the threads that wait for room, let Y be the thread with the earliest row, of time t. If several threads have
// this t, let Y be the thread furthest downstream. Y's consumer C does not wait for room: C's current row was ready, so
// it is not later than Y's promise t, and C is further downstream than Y. So C sleeps for rows, and Y's ring is full of
// rows that are not ready. By (*) and the choice of Y, C's first row has time t, as do then all rows in Y's ring. But
// in this case Y does not wait; it spills (LayerLink::may_wait). So no thread waits for room. By (*) no rows are left,
// and no thread has a reason to wait.
//
// Where rows are acknowledged in groups (LogOptions::acknowledged_rows), the release of the last row of the oldest
// group makes room. LayerLink::may_wait examines this row. Suppose that it is earlier than t. Then it is ready, as are
// all rows before it. So C has released them, the group is acknowledged, and Y's ring is not full.
//
// Links with rows in any order need no promises: a thread that waits for room waits for a working consumer, down to the
// sinks. If more rows have one time than a ring can hold, they are stored in memory that grows. This is the cost of an
// order by (time, producer).
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
  // next delivery may come much later.
  LayerOut(Parker& parker, const InstanceThreads& threads, Counters& counts,
           std::vector<std::unique_ptr<LayerLink>> links, std::int64_t unit, bool eager);

  std::size_t size() const noexcept { return links_.size(); }
  LayerLink& link(std::size_t to) noexcept { return *links_[to]; }

  // Sends rows [from, from + rows) to one link, in blocks. All rows must have ts >= the last promise. May wait; returns
  // early if the run has failed.
  void send(std::size_t to, const void* const* columns, std::int64_t from, std::int64_t rows);

  // Sends row from + i to link to[i].
  void distribute(const void* const* columns, std::int64_t from, std::int64_t rows, const std::int32_t* to);

  // Sends row from + i to link 64 * w + b if bit b of to[w * rows + i] is set.
  void multicast(const void* const* columns, std::int64_t from, std::int64_t rows, const std::uint64_t* to);

  // Promises that later rows of all links have ts >= `ts`; kEndOfTime promises that no rows follow.
  void promise(std::int64_t ts) noexcept { promised_ = std::max(promised_, ts); }

  // Counts `rows` more processed rows. Announces the outputs at once if `eager`, otherwise after kRowsUnannounced rows.
  void count_rows(std::int64_t rows) {
    unannounced_rows_ += rows;
    if (eager_ || unannounced_rows_ >= kRowsUnannounced) announce();
  }

  // Announces all rows and promises, and moves spilled rows into rings with room. Returns whether it moved any rows. A
  // thread without work must call it between `prepare` and `commit` of its parker.
  bool settle();

  // Returns whether all links are closed: the end of the rows is promised, and no spilled rows are left.
  bool closed() const noexcept;

 private:
  // At full speed, a busy producer processes at most this many rows before it wakes a sleeping consumer.
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
  // Scratch memory by link: the number of rows of a block that go to the link, and the list of these rows.
  std::vector<std::int64_t> list_sizes_;
  std::vector<std::int32_t> lists_;  // `unit` entries per link
};

}  // namespace lab
