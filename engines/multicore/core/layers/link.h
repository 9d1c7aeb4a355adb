// LayerLink: carries rows from one thread of a query graph to another, in a bounded ring of columns.
//
// Layout: row r is item r & mask of every column; the first column is the timestamp. Only the producer writes. Valid
// rows: from `released` up to the published end. The slot of row r may be overwritten once r is released.
//
// A link is a queue, or one of the sources of an ordered log (log/tuple_buffer.h), which then stores both positions.
//
// Promises. Rows of a link come in order of time, and the producer promises a lower bound: a frontier f promises that
// later rows have ts >= f. A thread that merges several links waits for promises. Promises must therefore go out even
// without rows: before a thread sleeps, for any reason (layers/out.h).
//
// Waking. A consumer that is awake sees published rows. A later `wake` wakes a sleeping consumer and publishes the
// promises made meanwhile. A consumer wakes its producer when half of the ring is free, or before it sleeps itself.
// Each of these is a store/load pair on both sides, hence sequentially consistent (run/parker.h).
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
    kMerged,     // one of several queues that its consumer puts in order
    kLogged,     // a source of a log
    kUnordered,  // a queue of rows in any order
  };
  static constexpr std::int64_t kNoPromise = std::numeric_limits<std::int64_t>::min();

  // `log`: only with kLogged, else null; the link becomes its next source. `rows`: a power of two, at least 2. `spill`:
  // the limit of rows kept back. `acknowledged_rows`: as in the log's options. Throws std::invalid_argument.
  LayerLink(Kind kind, std::vector<std::int32_t> itemsizes, std::int64_t rows, TupleBuffer* log, Parker& producer,
            Parker& consumer, Spill spill = Spill(), std::int64_t acknowledged_rows = 0);
  LayerLink(const LayerLink&) = delete;
  LayerLink& operator=(const LayerLink&) = delete;

  const std::vector<std::int32_t>& itemsizes() const noexcept { return itemsizes_; }
  std::int64_t size() const noexcept { return ring_.size(); }

  // The producer's part. --------------------------------------------------------------------------------------------

  // Returns the number of rows that may be appended; a result of at least `least` may be out of date.
  std::int64_t room(std::int64_t least) noexcept;

  // Returns whether `rows` rows fit and no spilled rows precede them.
  bool fits(std::int64_t rows) noexcept { return spilled_rows() == 0 && room(rows) >= rows; }

  // Appends rows [from, from + rows) of columns, for which there must be room; all have ts >= the last promise.
  void append(const void* const* columns, std::int64_t from, std::int64_t rows) noexcept;
  // Appends rows from + list[i].
  void append(const void* const* columns, std::int64_t from, const std::int32_t* list, std::int64_t rows) noexcept;

  // Publishes appended rows to a consumer that is awake. Like `wake`, it may lack memory for a node of ScaleGate
  // (std::bad_alloc), which ends the run with that error.
  void publish();

  // Promises that later rows have ts >= `promised`, as far as spilled rows permit, and wakes a sleeping consumer that
  // has work. kEndOfTime: no rows follow, and the link is closed. `help`: also merges for a consumer that is awake but
  // behind. Promises never decrease.
  void wake(std::int64_t promised, bool help);
  bool closed() const noexcept { return closed_; }

  // Returns whether the thread may wait, with a full ring, for room for a row of time `ts`. Room needs the release of
  // the oldest row; where rows are acknowledged together, of the last row of the oldest group. False if that row has
  // time `ts`: it may wait for a promise that only this thread could make possible, by continuing. Rows are then
  // spilled.
  bool may_wait(std::int64_t ts) noexcept;

  // `spill` keeps rows back, in memory that grows. `drain` appends them while there is room, and returns their number.
  // `spill` throws std::runtime_error above the limit of rows kept back.
  void spill(const void* const* columns, std::int64_t from, std::int64_t rows);
  std::int64_t drain();
  std::int64_t spilled_rows() const noexcept { return spilled_ == nullptr ? 0 : spilled_->waiting(); }
  const Spill& spill() const noexcept { return spill_; }
  std::int64_t merges() const noexcept { return merges_; }  // merges that the producer made for the consumer

  // `announce_wait`: between `prepare` and `commit` of the producer's parker, before it looks for room. `cancel_wait`:
  // once it is awake again.
  void announce_wait() noexcept {
    full_at_.store(end_ - size(), std::memory_order_seq_cst);  // pairs with `released_to`
  }
  void cancel_wait() noexcept {
    full_at_.store(kNoneWaits, std::memory_order_relaxed);  // a superfluous notification is harmless
  }

  // The consumer's part. --------------------------------------------------------------------------------------------

  const LogColumns& rows() const noexcept { return rows_; }
  void* const* columns() const noexcept { return ring_.columns(); }
  const SourceLine& line() const noexcept { return line_; }  // queues: the published positions
  int source() const noexcept { return source_; }

  // Queues: releases the rows before `row`.
  void release(std::int64_t row) noexcept {
    // release: the rows were read; seq_cst: the producer may be about to sleep. Pairs with the load in `room`.
    released_.store(row, std::memory_order_seq_cst);
    released_to(row, size() / 2);
  }
  // Logs: notes that the rows before `row` were released.
  void released_in_log(std::int64_t row) noexcept {
    released_in_log_ = row;
    released_to(row, size() / 2);  // that release was sequentially consistent; pairs with the store in `announce_wait`
  }
  // Called when the consumer is about to sleep: wakes a producer that waits for more room than there is, if there is
  // any.
  void relieve() noexcept;

 private:
  static constexpr std::int64_t kNoneWaits = std::numeric_limits<std::int64_t>::max();

  void released_to(std::int64_t row, std::int64_t room) noexcept {
    const std::int64_t full = full_at_.load(std::memory_order_seq_cst);  // pairs with the store in `announce_wait`
    if (full != kNoneWaits && row - full >= room) producer_.notify();
  }
  std::int64_t released() noexcept;
  std::int64_t promisable(std::int64_t promised) const noexcept;
  std::int64_t ts_at(std::int64_t row) const noexcept { return ring_.ts()[ring_.item_of(row)]; }

  // Set once.
  const Kind kind_;
  const std::vector<std::int32_t> itemsizes_;
  TupleBuffer* const log_;
  const std::int64_t acknowledged_rows_;  // rows acknowledged at a time
  int source_ = -1;
  Parker& producer_;
  Parker& consumer_;
  ColumnRing ring_;
  LogColumns rows_;  // columns of the ring in the form of logs and mergers

  // The producer only.
  alignas(kCacheLine) std::int64_t end_ = 0;  // first row not appended
  std::int64_t published_ = 0;                // first row not published
  std::int64_t room_end_ = 0;                 // rows below this may be appended without a look at the consumer
  std::int64_t frontier_ = kNoPromise;        // last promise on this link
  bool unannounced_ = false;                  // rows or promises since the last `wake`
  bool closed_ = false;
  std::unique_ptr<OutputBuffer> spilled_;  // null until the first spill
  Spill spill_;
  std::int64_t merges_ = 0;

  SourceLine line_;  // queues; written by the producer, read by the consumer

  // Queues: first row not released. Written by the consumer, read by the producer; never decreases.
  alignas(kCacheLine) std::atomic<std::int64_t> released_{0};
  std::int64_t released_in_log_ = 0;  // the same for logs; consumer only: the log's positions are for producers
  // The producer waits for room: the value of `released` at which the ring is full. Written by the producer, read by
  // the consumer.
  alignas(kCacheLine) std::atomic<std::int64_t> full_at_{kNoneWaits};
};

}  // namespace lab
