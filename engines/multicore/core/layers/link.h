// A link: the way of rows from one thread to another, in a bounded ring of columns.
//
// Layout: row r is item r & mask of every column; the first is the timestamp. Written by the producer only. Valid:
// rows from `released` up to the end that was published; the slot of row r may be overwritten once it is released.
//
// A link is a queue, or one of the sources of an ordered log (log/tuple_buffer.h), which then keeps both positions.
//
// Promises. Rows of a link come in order of time, and the producer says from when on they will: a frontier f promises
// that later rows have ts >= f. Whoever merges several links waits for promises, so these must go out also when rows
// do not: before a thread sleeps, for whatever reason (layers/out.h).
//
// Waking. Rows that are published are seen by a consumer that is awake; `wake` after it wakes one that is not, and says
// what was promised meanwhile. A consumer wakes its producer when half of the ring is free, or before it sleeps itself.
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
    kQueue,      // its consumer reads nothing else
    kMerged,     // a queue whose consumer puts several in order
    kLogged,     // a source of a log
    kUnordered,  // a queue of rows in any order
  };
  static constexpr std::int64_t kNothingPromised = std::numeric_limits<std::int64_t>::min();

  // `log`: of kLogged, null else; the link becomes its next source. `rows`: a power of two, at least 2.
  // Throws std::invalid_argument. `spill`: how many rows may be kept back. `acknowledged_rows`: of the log's options.
  LayerLink(Kind kind, std::vector<std::int32_t> itemsizes, std::int64_t rows, TupleBuffer* log, Parker& producer,
            Parker& consumer, Spill spill = Spill(), std::int64_t acknowledged_rows = 0);
  LayerLink(const LayerLink&) = delete;
  LayerLink& operator=(const LayerLink&) = delete;

  const std::vector<std::int32_t>& itemsizes() const noexcept { return itemsizes_; }
  std::int64_t size() const noexcept { return ring_.size(); }

  // The producer's. ---------------------------------------------------------------------------------------------

  // Returns how many rows may be appended; an answer from `wanted` on may be what there was before.
  std::int64_t room(std::int64_t wanted) noexcept;

  // Whether so many rows fit, and nothing waits before them.
  bool fits(std::int64_t rows) noexcept { return spilled_rows() == 0 && room(rows) >= rows; }

  // Appends rows [from, from + rows) of columns, for which there must be room; all have ts >= what was promised.
  void append(const void* const* columns, std::int64_t from, std::int64_t rows) noexcept;
  // Appends the rows from + list[i].
  void append(const void* const* columns, std::int64_t from, const std::int32_t* list, std::int64_t rows) noexcept;

  // Shows what was appended to a consumer that is awake. As `wake`, it may find no memory for a node of ScaleGate
  // (std::bad_alloc), which ends the run with that error.
  void publish();

  // Says that later rows have ts >= `promised`, as far as spilled rows let it (kEndOfTime: there are none, the link is
  // closed), and wakes a consumer that sleeps and has something to do. `help`: merges also for one that is awake, where
  // it is behind. Promises never decrease.
  void wake(std::int64_t promised, bool help);
  bool closed() const noexcept { return closed_; }

  // Whether the thread may wait, with a full ring, for room for a row of this time. False where the row that must go
  // before there is any has that time: it may be waiting for a promise that only this very thread could make possible, by
  // going on. Then rows are spilled. It is the oldest; where rows are acknowledged together, the last of the first of them.
  bool may_wait(std::int64_t ts) noexcept;

  // Keeps rows back, in memory that grows; `drain` appends them, as far as there is room, and returns how many. Throws
  // std::runtime_error when more are kept back than may.
  void spill(const void* const* columns, std::int64_t from, std::int64_t rows);
  std::int64_t drain();
  std::int64_t spilled_rows() const noexcept { return spilled_ == nullptr ? 0 : spilled_->waiting(); }
  const Spill& spill() const noexcept { return spill_; }
  std::int64_t merges() const noexcept { return merges_; }  // that the producer made for the consumer

  // Between `prepare` and `commit` of the producer's parker, before it looks for room; and when it is awake again.
  void want_room() noexcept { full_at_.store(end_ - size(), std::memory_order_seq_cst); }  // pairs with `released_to`
  void unwant_room() noexcept {
    full_at_.store(kNobodyWaits, std::memory_order_relaxed);  // a notification too many is harmless
  }

  // The consumer's. ---------------------------------------------------------------------------------------------

  const LogColumns& rows() const noexcept { return rows_; }
  void* const* columns() const noexcept { return ring_.columns(); }
  const SourceLine& line() const noexcept { return line_; }  // queues: what was published
  int source() const noexcept { return source_; }

  // Queues: rows before `row` are done with.
  void release(std::int64_t row) noexcept {
    // release: the rows were read; seq_cst: the producer may be about to sleep. Pairs with the load in `room`.
    released_.store(row, std::memory_order_seq_cst);
    released_to(row, size() / 2);
  }
  // Logs: rows before `row` were released.
  void released_in_log(std::int64_t row) noexcept {
    released_in_log_ = row;
    released_to(row, size() / 2);  // that release was sequentially consistent; pairs with the store in `want_room`
  }
  // The consumer is about to sleep: wakes a producer that waits for more room than there is, if there is any.
  void relieve() noexcept;

 private:
  static constexpr std::int64_t kNobodyWaits = std::numeric_limits<std::int64_t>::max();

  void released_to(std::int64_t row, std::int64_t room) noexcept {
    const std::int64_t full = full_at_.load(std::memory_order_seq_cst);  // pairs with the store in `want_room`
    if (full != kNobodyWaits && row - full >= room) producer_.notify();
  }
  std::int64_t released() noexcept;
  std::int64_t promisable(std::int64_t promised) const noexcept;
  std::int64_t ts_at(std::int64_t row) const noexcept { return ring_.ts()[ring_.item_of(row)]; }

  // Set once.
  const Kind kind_;
  const std::vector<std::int32_t> itemsizes_;
  TupleBuffer* const log_;
  const std::int64_t given_back_;  // rows at a time
  int source_ = -1;
  Parker& producer_;
  Parker& consumer_;
  ColumnRing ring_;
  LogColumns rows_;  // of the ring, as logs and mergers take it

  // The producer's own.
  alignas(kCacheLine) std::int64_t end_ = 0;  // first row not appended
  std::int64_t published_ = 0;                // first row not published
  std::int64_t room_end_ = 0;                 // rows below this may be appended without a look at the consumer
  std::int64_t frontier_ = kNothingPromised;  // said on this link
  bool unsaid_ = false;                       // something since the last `wake`
  bool closed_ = false;
  std::unique_ptr<OutputBuffer> spilled_;  // null until the first
  Spill spill_;
  std::int64_t merges_ = 0;

  SourceLine line_;  // queues; written by the producer, read by the consumer

  // Queues: first row not released. Written by the consumer, read by the producer; never decreases.
  alignas(kCacheLine) std::atomic<std::int64_t> released_{0};
  std::int64_t released_in_log_ = 0;  // likewise of logs; the consumer's own: what the log says is for producers
  // The producer waits for room: the value of `released` at which the ring is full. Written by it, read by the
  // consumer.
  alignas(kCacheLine) std::atomic<std::int64_t> full_at_{kNobodyWaits};
};

}  // namespace lab
