// OrderedEntry: makes units from the rows that the sources have delivered, in total order, while there is room.
//
// With one stream, a unit is a block: a view of the stream's columns. With several, the ordered log
// (log/tuple_buffer.h) gives the order of their records. Long runs of one stream become views. Short runs are copied
// into a unit until it is full or no more rows are ready.
#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "log/merged_streams.h"
#include "ordered/reorder.h"
#include "ordered/unit.h"
#include "run/cacheline.h"
#include "run/feed.h"
#include "run/merge_flag.h"

namespace lab {

class OrderedEntry {
 public:
  struct Options {
    std::int64_t batch = 1;               // records of a unit at most
    std::vector<std::int32_t> itemsizes;  // of the input columns, timestamp first
    std::int64_t timed_every = 1;         // one of this many units is timed, of those with records in the range
    std::int64_t timed_begin = 0;         // of the range, in the order of entry
    std::int64_t timed_end = std::numeric_limits<std::int64_t>::max();
  };

  // Units sent in one call.
  static constexpr std::size_t kTogether = 8;

  // `feeds`: one for each stream, in stream order.
  OrderedEntry(Options options, std::span<Unit> units, std::deque<Feed>& feeds);

  // Admits up to `most` units while there is room and the sources have rows. Units before `out` are free for reuse;
  // `out` is read seq_cst and only grows. Units go to `to` in order, or without it into `worker.admitted` in order. If
  // another thread is admitting, that thread looks again. Returns whether the caller must take another turn before it
  // sleeps: units were admitted, or another thread left a note meanwhile. Any thread.
  bool admit(const std::atomic<std::int64_t>& out, std::int64_t most, OrderedExit* to, OrderedWorker& worker);

  // Total number of units once the input is over; -1 before.
  std::int64_t end() const noexcept { return end_.load(std::memory_order_seq_cst); }  // pairs with the store in `admit`

 private:
  enum class Found { kUnit, kNothing, kEnd };

  std::int64_t pass(const std::atomic<std::int64_t>& out, std::int64_t most, OrderedExit* to, OrderedWorker& worker);
  static void send(OrderedExit& to, OrderedWorker& worker);
  Found make(Unit& unit, OrderedWorker& worker);
  Found from_block(Unit& unit, OrderedWorker& worker);
  Found from_log(Unit& unit, OrderedWorker& worker);
  const LogRun* run(OrderedWorker& worker);
  void skip(std::int64_t rows) noexcept;
  void show(Unit& unit, const StreamView& view, std::int64_t begin, std::int64_t rows) const noexcept;

  const Options options_;
  const std::span<Unit> units_;
  std::deque<Feed>& feeds_;

  // Guarded by the flag.
  std::unique_ptr<LoggedOrder> order_;  // several streams
  std::span<const LogRun> runs_;        // runs of `order_` at hand
  std::size_t at_ = 0;                  // number of these runs done
  std::int64_t skip_ = 0;               // rows already done of the next run
  std::int64_t serial_ = 0;             // serial number of the next unit
  std::int64_t records_ = 0;            // admitted
  std::int64_t in_range_ = 0;           // units with records in the timed range

  MergeFlag flag_;                                         // the holder admits
  alignas(kCacheLine) std::atomic<std::int64_t> end_{-1};  // written once, by the holder of the flag
};

}  // namespace lab
