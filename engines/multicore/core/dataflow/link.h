// FlowLink: carries rows from an instance on one worker to an instance on another, or on the same.
//
// A queue of chunks of columns with one writer and one reader. The queue itself has no bound: a sender never waits in
// the middle of its work. Its bound comes from the readers: a reader takes nothing while a link that it fills is
// *full*. Other readers of its worker continue (docs/decisions/0020-dataflow.md proves that no thread waits forever).
//
// Rows carry the number of their block, which does not decrease. A *promise* p states that later rows are of block p or
// a later one: markers before p have been passed. kEndOfTime: no rows follow.
//
// Layout of a chunk: column 0 is the block, column 1 with a load the due time, then the columns of the rows.
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

// Rows [base, base + rows) of columns. `due`: due times, from that of row `base` on; null without a load.
struct FlowPiece {
  const void* const* columns = nullptr;
  std::int64_t base = 0;
  std::int64_t rows = 0;
  const std::int64_t* due = nullptr;
};

class FlowLink {
 public:
  static constexpr std::int64_t kChunkRows = 1024;
  static constexpr std::int64_t kLeastRows = 4 * kChunkRows;  // rows that a link holds before it is full, at least

  // `itemsizes`: of the rows. `rows`: number of unread rows at which it is full.
  FlowLink(std::span<const std::int32_t> itemsizes, std::int64_t rows, bool due, Parker& producer, Parker& consumer);
  FlowLink(const FlowLink&) = delete;
  FlowLink& operator=(const FlowLink&) = delete;

  // The producer's part. --------------------------------------------------------------------------------------------

  // Appends rows of block `block`: those of a piece, or those listed of it.
  void append(const FlowPiece& piece, std::int64_t block) { append(piece, nullptr, piece.rows, block); }
  void append(const FlowPiece& piece, const std::int32_t* list, std::int64_t rows, std::int64_t block);

  // Publishes the appended rows, and the promise that later rows are of block `promise` or a later one.
  void flush(std::int64_t promise) noexcept;

  bool full() noexcept;

  // The consumer's part. --------------------------------------------------------------------------------------------

  // Returns rows of block `block`, at most `most`, valid until the next call; an empty piece: none now.
  FlowPiece next(std::int64_t block, std::int64_t most) noexcept;
  // After an empty `next(block)`: whether no rows of the block will ever follow.
  bool passed(std::int64_t block) const noexcept;
  // After an empty `next` for the last block: whether nothing follows.
  bool ended() const noexcept { return promised_ == kEndOfTime && row_ == end_; }

 private:
  friend struct FlowLinkProbe;  // tests/model/link_model_test.cc

  struct Chunk {
    std::int64_t first = 0;  // its first row
    Chunk* next = nullptr;   // written before a row of the next chunk is published
    std::vector<void*> columns;
    std::unique_ptr<std::byte[]> memory;
  };

  Chunk& chunk_for_more();
  std::size_t fields() const noexcept { return due_ ? 2 : 1; }  // columns before those of the rows

  const std::vector<std::int32_t> itemsizes_;
  const RowMover mover_;
  const std::int64_t most_;
  const bool due_;
  Parker& producer_;
  Parker& consumer_;

  // The producer only.
  alignas(kCacheLine) std::deque<std::unique_ptr<Chunk>> chunks_;  // oldest first
  std::int64_t appended_ = 0;
  std::int64_t shown_ = 0;
  std::int64_t said_ = -1;
  std::int64_t seen_left_ = 0;

  // Written by the producer, read by the consumer; neither decreases.
  alignas(kCacheLine) std::atomic<std::int64_t> published_{0};  // rows
  std::atomic<std::int64_t> promise_{0};

  // First row of the consumer's current chunk: earlier chunks belong to the producer again. Written by the consumer.
  alignas(kCacheLine) std::atomic<std::int64_t> left_{0};

  // The consumer only.
  alignas(kCacheLine) Chunk* at_;
  std::int64_t row_ = 0;       // first not taken
  std::int64_t end_ = 0;       // first not seen
  std::int64_t promised_ = 0;  // as loaded, before `end_` was
};

}  // namespace lab
