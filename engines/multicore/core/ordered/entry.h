// Where units come from: makes them of what the sources have handed over, in total order, while there is room.
//
// One stream: a block is a unit, a view of the stream's columns. Several: the ordered log (log/tuple_buffer.h) says how
// their records follow each other; long runs of one stream are views, short ones are copied into a unit until it is
// full or nothing more is ready.
#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
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
    std::vector<std::int32_t> itemsizes;  // of the input, timestamp first
    std::int64_t timed_every = 1;         // one unit of so many is timed
  };

  // Units that are sent at once.
  static constexpr std::size_t kTogether = 8;

  // `feeds`: of the streams, in their order.
  OrderedEntry(Options options, std::span<Unit> units, std::deque<Feed>& feeds);

  // Admits up to `most` units, as far as there is room and sources have something: those before `out` may be used again,
  // which is read seq_cst and only grows. They go to `to`, in order; without it they are left in `worker.admitted`, in order. Where another thread is at it,
  // that one looks again. Returns whether the caller is to take another turn before it sleeps: some were admitted, or
  // others came meanwhile. Any thread.
  bool admit(const std::atomic<std::int64_t>& out, std::int64_t most, OrderedExit* to, OrderedWorker& worker);

  // Units in all, once the input is over; -1 before.
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
  std::span<const LogRun> runs_;        // of it, at hand
  std::size_t at_ = 0;                  // of these, done
  std::int64_t skip_ = 0;               // rows of the next that are done
  std::int64_t serial_ = 0;             // of the next unit

  MergeFlag flag_;                                         // who holds it admits
  alignas(kCacheLine) std::atomic<std::int64_t> end_{-1};  // written by who admits, once
};

}  // namespace lab
