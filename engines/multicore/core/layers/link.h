// LayerLink: carries rows from one thread of a query graph to another, in a bounded ring of columns.
//
// Layout: row r is item r & mask of every column; the first column is the timestamp. Only the producer writes. Rows are
// valid from `released` up to the published end. The slot of row r may be overwritten once r is released.
//
// A link is either a queue or a source of an ordered log (log/tuple_buffer.h). The log then stores both positions.
//
// Promises. Rows of a link come in order of time, and the producer promises a lower bound: a frontier f promises that
// later rows have ts >= f. A thread that merges several links waits for promises. A producer must therefore send
// promises even without rows, before it sleeps for any reason (layers/out.h).
//
// Waking. A consumer that is awake sees published rows without a wake-up. A later `wake` wakes a sleeping consumer and publishes the
// promises made meanwhile. A consumer wakes its producer when half of the ring is free, or before it sleeps itself.
// On each side a store precedes a load of the other side's store, so all of these accesses are sequentially consistent
// (run/parker.h).
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "log/order_log_merge.h"
#include "log/tuple_buffer.h"
#include "run/cacheline.h"
#include "run/column_ring.h"
#include "run/parker.h"
#include "run/sink.h"
#include "run/spill.h"

namespace lab {

class LayerLink {
 public:
  enum class Kind {
    kQueue,      // the only input of its consumer
    kMerged,     // one of several queues whose rows the consumer puts in order
    kLogged,     // a source of a log
    kUnordered,  // a queue of rows in any order
  };
  static constexpr std::int64_t kNoPromise = std::numeric_limits<std::int64_t>::min();

  // `log`: null unless `kind` is kLogged; the link becomes its next source. `rows`: size of the ring, a power of two,
  // at least 2. `spill`: limit of spilled rows. `acknowledged_rows`: LogOptions::acknowledged_rows, or 0 if rows are
  // not acknowledged in groups. Throws std::invalid_argument.
  LayerLink(Kind kind, std::vector<std::int32_t> itemsizes, std::int64_t rows, TupleBuffer* log, Parker& producer,
            Parker& consumer, Spill spill = Spill(), std::int64_t acknowledged_rows = 0);
  LayerLink(const LayerLink&) = delete;
  LayerLink& operator=(const LayerLink&) = delete;

  const std::vector<std::int32_t>& itemsizes() const noexcept { return itemsizes_; }
  std::int64_t size() const noexcept { return ring_.size(); }

  // The producer's part. --------------------------------------------------------------------------------------------

  // Returns the number of rows that may be appended. The number is refreshed only if it was below `min_rows`.
  std::int64_t room(std::int64_t min_rows) noexcept;

  // Returns whether `rows` rows fit and no spilled rows precede them.
  bool fits(std::int64_t rows) noexcept { return spilled_rows() == 0 && room(rows) >= rows; }

  // Appends rows [from, from + rows) of columns, for which there must be room; all have ts >= the last promise.
  void append(const void* const* columns, std::int64_t from, std::int64_t rows) noexcept;
  // Appends rows from + list[i].
  void append(const void* const* columns, std::int64_t from, const std::int32_t* list, std::int64_t rows) noexcept;

  // Publishes appended rows to a consumer that is awake. Like `wake`, it throws std::bad_alloc if a ScaleGate cannot
  // allocate a node.
  void publish();

  // Promises that later rows have ts >= `promised`, or >= the first spilled row's ts if that is earlier, and wakes a
  // sleeping consumer that has work. kEndOfTime promises that no rows follow, and closes the link. With `help`, also
  // merges for a consumer that is awake but lags behind. Promises never decrease.
  void wake(std::int64_t promised, bool help);
  bool closed() const noexcept { return closed_; }

  // Returns whether the thread may wait, with a full ring, for room for a row of time `ts`. The release of the oldest
  // row makes room; where rows are acknowledged in groups, the release of the last row of the oldest group does. If
  // that row has time `ts`, its release may depend on a promise that becomes possible only if this thread continues.
  // The result is then false, and the caller must spill.
  bool may_wait(std::int64_t ts) noexcept;

  // `spill` stores rows in memory that grows; it throws std::runtime_error above the limit of spilled rows. `drain`
  // appends spilled rows while there is room, and returns their number.
  void spill(const void* const* columns, std::int64_t from, std::int64_t rows);
  std::int64_t drain();
  std::int64_t spilled_rows() const noexcept { return spilled_ == nullptr ? 0 : spilled_->waiting(); }
  const Spill& spill() const noexcept { return spill_; }
  std::int64_t merges() const noexcept { return merges_; }  // number of merges by the producer for the consumer

  // The producer calls `announce_wait` between `prepare` and `commit` of its parker, before it looks for room. It calls
  // `cancel_wait` once it is awake again.
  void announce_wait() noexcept {
    full_at_.store(end_ - size(), std::memory_order_seq_cst);  // pairs with `released_to`
  }
  void cancel_wait() noexcept {
    full_at_.store(kNoWait, std::memory_order_relaxed);  // a superfluous notification is harmless
  }

  // The consumer's part. --------------------------------------------------------------------------------------------

  const LogColumns& rows() const noexcept { return rows_; }
  void* const* columns() const noexcept { return ring_.columns(); }
  const SourceLine& line() const noexcept { return line_; }  // the published positions of a queue
  int source() const noexcept { return source_; }

  // Releases the rows of a queue before `row`.
  void release(std::int64_t row) noexcept {
    // release: the rows were read; seq_cst: the producer may be about to sleep. Pairs with the load in `room`.
    released_.store(row, std::memory_order_seq_cst);
    released_to(row, size() / 2);
  }
  // Notes that the log has released the rows before `row`.
  void released_in_log(std::int64_t row) noexcept {
    released_in_log_ = row;
    released_to(row, size() / 2);  // the log's release is sequentially consistent; pairs with `announce_wait`
  }
  // Wakes a producer that waits for room, if a row is free. The consumer must call it before the consumer sleeps.
  void relieve() noexcept;

 private:
  static constexpr std::int64_t kNoWait = std::numeric_limits<std::int64_t>::max();

  void released_to(std::int64_t row, std::int64_t room) noexcept {
    const std::int64_t full = full_at_.load(std::memory_order_seq_cst);  // pairs with the store in `announce_wait`
    if (full != kNoWait && row - full >= room) producer_.notify();
  }
  std::int64_t released() noexcept;
  std::int64_t promisable(std::int64_t promised) const noexcept;
  std::int64_t ts_at(std::int64_t row) const noexcept { return ring_.ts()[ring_.item_of(row)]; }

  // Set at construction.
  const Kind kind_;
  const std::vector<std::int32_t> itemsizes_;
  TupleBuffer* const log_;
  const std::int64_t acknowledged_rows_;  // number of rows of a group that is acknowledged together; 1 without groups
  int source_ = -1;
  Parker& producer_;
  Parker& consumer_;
  ColumnRing ring_;
  LogColumns rows_;  // the ring, as logs and mergers read it

  // Only the producer uses these fields, up to `merges_`.
  alignas(kCacheLine) std::int64_t end_ = 0;  // first row not appended
  std::int64_t published_ = 0;                // first row not published
  std::int64_t room_end_ = 0;                 // rows below this may be appended without a look at the consumer
  std::int64_t frontier_ = kNoPromise;        // last promise on this link
  bool unannounced_ = false;                  // whether there are rows or promises since the last `wake`
  bool closed_ = false;
  std::unique_ptr<OutputBuffer> spilled_;  // null until the first spill
  Spill spill_;
  std::int64_t merges_ = 0;

  SourceLine line_;  // used by queues; written by the producer, read by the consumer

  // First row of a queue that is not released. Written by the consumer, read by the producer; never decreases.
  alignas(kCacheLine) std::atomic<std::int64_t> released_{0};
  // For a log's source: the first row not released. Only the consumer uses it; producers use the log's own positions.
  std::int64_t released_in_log_ = 0;
  // While the producer waits for room: the value of `released_` at which the ring is full; otherwise kNoWait. Written
  // by the producer, read by the consumer.
  alignas(kCacheLine) std::atomic<std::int64_t> full_at_{kNoWait};
};

}  // namespace lab
