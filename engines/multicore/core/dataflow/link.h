// FlowLink: carries rows from one instance (dataflow/instance.h) to another, on the same or another worker.
//
// A link is a queue of chunks of columns with one writer and one reader. The queue is unbounded, so a sender never
// waits in the middle of its work. Instead, the reader that feeds an instance takes nothing while a link that the
// instance fills is *full*. Other readers of that worker continue. docs/decisions/0020-dataflow.md proves that no
// thread waits forever.
//
// Rows carry the number of their block (dataflow/markers.h), which never decreases. A *promise* p states that later
// rows are of block p or of later blocks, so markers before p have been passed. The promise kEndOfTime states that no
// rows follow.
//
// Layout of a chunk: the column of blocks, with a load the column of due times, then the columns of the rows.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "run/cacheline.h"
#include "run/column_ring.h"
#include "run/event_key.h"
#include "run/parker.h"

namespace lab {

// Rows [base, base + rows) of columns. `due`: due times from row `base` on; null without a load.
struct FlowPiece {
  const void* const* columns = nullptr;
  std::int64_t base = 0;
  std::int64_t rows = 0;
  const std::int64_t* due = nullptr;
};

class FlowLink {
 public:
  static constexpr std::int64_t kChunkRows = 1024;
  static constexpr std::int64_t kMinRows = 4 * kChunkRows;  // a smaller `rows` below counts as this

  // `itemsizes`: item sizes of the rows. `rows`: number of unread rows above which the link is full.
  FlowLink(std::span<const std::int32_t> itemsizes, std::int64_t rows, bool has_due, Parker& producer,
           Parker& consumer);
  FlowLink(const FlowLink&) = delete;
  FlowLink& operator=(const FlowLink&) = delete;

  // The producer's part. --------------------------------------------------------------------------------------------

  // Both append rows to block `block`: all rows of a piece, or the `rows` rows whose numbers are in `list`.
  void append(const FlowPiece& piece, std::int64_t block) { append(piece, nullptr, piece.rows, block); }
  void append(const FlowPiece& piece, const std::int32_t* list, std::int64_t rows, std::int64_t block);

  // Publishes the appended rows, and the promise that later rows are of block `promise` or a later one.
  void flush(std::int64_t promise) noexcept;

  bool full() noexcept;

  // The consumer's part. --------------------------------------------------------------------------------------------

  // Returns at most `max_rows` rows of block `block`, valid until the next call. Returns an empty piece if none are
  // available.
  FlowPiece next(std::int64_t block, std::int64_t max_rows) noexcept;
  // After an empty `next(block)`, returns whether no rows of the block will ever follow.
  bool passed(std::int64_t block) const noexcept;
  // After an empty `next` for the last block, returns whether nothing follows.
  bool ended() const noexcept { return seen_promise_ == kEndOfTime && row_ == end_; }

 private:
  friend struct FlowLinkProbe;  // tests/model/link_model_test.cc

  struct Chunk {
    std::int64_t first = 0;  // number of its first row
    Chunk* next = nullptr;   // written before a row of the next chunk is published
    std::vector<void*> columns;
    std::unique_ptr<std::byte[]> memory;
  };

  Chunk& add_chunk();
  std::size_t fields() const noexcept { return has_due_ ? 2 : 1; }  // number of columns before the rows' columns

  const std::vector<std::int32_t> itemsizes_;
  const RowMover mover_;
  const std::int64_t full_rows_;  // number of unread rows above which the link is full
  const bool has_due_;
  Parker& producer_;
  Parker& consumer_;

  // Only for the producer.
  alignas(kCacheLine) std::deque<std::unique_ptr<Chunk>> chunks_;  // oldest first
  std::int64_t appended_ = 0;                                      // number of rows appended
  std::int64_t flushed_rows_ = 0;                                  // last stored value of `published_`
  std::int64_t flushed_promise_ = -1;                              // last stored value of `promise_`
  std::int64_t seen_released_ = 0;                                 // last loaded value of `released_`

  // Written by the producer, read by the consumer; neither decreases.
  alignas(kCacheLine) std::atomic<std::int64_t> published_{0};  // number of rows
  std::atomic<std::int64_t> promise_{0};

  // First row of the consumer's current chunk; earlier chunks belong to the producer again. Written by the consumer.
  alignas(kCacheLine) std::atomic<std::int64_t> released_{0};

  // Only for the consumer.
  alignas(kCacheLine) Chunk* chunk_;
  std::int64_t row_ = 0;           // first row not taken
  std::int64_t end_ = 0;           // first row not seen
  std::int64_t seen_promise_ = 0;  // value of `promise_` loaded before `end_`
};

}  // namespace lab
