// OrderedEntry: the start of an OrderedRun's pipeline. While there is room, it makes units (ordered/unit.h) from the
// rows that the sources have delivered, in total order.
//
// With one stream, a unit is a block: a view of the stream's columns. With several streams, the ordered log
// (log/tuple_buffer.h) orders their records. Long runs of one stream become views. Short runs are copied into a unit
// until the unit is full or no more rows are ready.
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
    std::int64_t batch = 1;               // maximum number of records of a unit
    std::vector<std::int32_t> itemsizes;  // item sizes of the input columns; the timestamp is first
    // One unit in `timed_every` is timed, among the units with records in [timed_begin, timed_end). Records are counted
    // in the order of entry.
    std::int64_t timed_every = 1;
    std::int64_t timed_begin = 0;
    std::int64_t timed_end = std::numeric_limits<std::int64_t>::max();
  };

  // Maximum number of units sent in one call.
  static constexpr std::size_t kUnitsPerSend = 8;

  // `feeds`: one per stream, in stream order.
  OrderedEntry(Options options, std::span<Unit> units, std::deque<Feed>& feeds);

  // Admits up to `max_units` units while there is room and the sources have rows. Units with serial numbers below
  // `done` are free for reuse; `done` is read seq_cst and never decreases. Units go in order to `exit`, or to
  // `worker.admitted` if `exit` is null. If another thread is already admitting, the caller only leaves a note, and
  // that thread looks for rows again. Returns whether the caller must take another turn before it sleeps, because units
  // were admitted or another thread left a note. Any thread may call it.
  bool admit(const std::atomic<std::int64_t>& done, std::int64_t max_units, OrderedExit* exit, OrderedWorker& worker);

  // Returns the total number of units once the input has ended; -1 before.
  std::int64_t end() const noexcept { return end_.load(std::memory_order_seq_cst); }  // pairs with the store in `admit`

 private:
  enum class Outcome { kUnit, kNothing, kEnd };

  std::int64_t pass(const std::atomic<std::int64_t>& done, std::int64_t max_units, OrderedExit* exit,
                    OrderedWorker& worker);
  static void send(OrderedExit& exit, OrderedWorker& worker);
  Outcome make_unit(Unit& unit, OrderedWorker& worker);
  Outcome fill_from_block(Unit& unit, OrderedWorker& worker);
  Outcome fill_from_log(Unit& unit, OrderedWorker& worker);
  const LogRun* next_run(OrderedWorker& worker);
  void pass_rows(std::int64_t rows) noexcept;
  void point_columns(Unit& unit, const StreamView& view, std::int64_t begin, std::int64_t rows) const noexcept;

  const Options options_;
  const std::span<Unit> units_;
  std::deque<Feed>& feeds_;

  // Guarded by the flag.
  std::unique_ptr<LoggedOrder> order_;  // null with one stream
  std::span<const LogRun> runs_;        // runs of `order_` that are read and not released
  std::size_t passed_runs_ = 0;         // number of runs in `runs_` that are passed
  std::int64_t run_offset_ = 0;         // number of rows of the next run that are passed
  std::int64_t serial_ = 0;             // serial number of the next unit
  std::int64_t records_ = 0;            // number of records admitted
  std::int64_t units_in_range_ = 0;     // number of units with records in the timed range

  MergeFlag flag_;                                         // the holder may admit units
  alignas(kCacheLine) std::atomic<std::int64_t> end_{-1};  // written once, by the holder of the flag
};

}  // namespace lab
