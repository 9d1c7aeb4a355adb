// A link: the way of rows from an instance on one worker to one on another, or on the same.
//
// A queue of chunks of columns with one writer and one reader. It has no bound of its own: whoever sends never waits in
// the middle of its work. What bounds it is that a reader takes nothing while a link that it fills is *full*; other
// readers of its worker go on (docs/decisions/0020-dataflow.md says why nobody waits for ever).
//
// Rows carry the number of their block, which does not decrease. A *promise* p says that later rows are of block p or a
// later one: markers before p have been passed. kEndOfTime: there are no more.
//
// Layout of a chunk: column 0 is the block, column 1 with a load when the row was due, then those of the rows.
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

// Rows [base, base + rows) of columns; `due`: when row base was due, and those behind it; null without a load.
struct FlowPiece {
  const void* const* columns = nullptr;
  std::int64_t base = 0;
  std::int64_t rows = 0;
  const std::int64_t* due = nullptr;
};

class FlowLink {
 public:
  static constexpr std::int64_t kChunkRows = 1024;
  static constexpr std::int64_t kLeastRows = 4 * kChunkRows;  // that a link holds before it is full

  // `itemsizes`: of the rows. `rows`: from how many unread rows on it is full.
  FlowLink(std::span<const std::int32_t> itemsizes, std::int64_t rows, bool due, Parker& producer, Parker& consumer);
  FlowLink(const FlowLink&) = delete;
  FlowLink& operator=(const FlowLink&) = delete;

  // The producer's. ---------------------------------------------------------------------------------------------

  // Appends rows of block `block`: those of a piece, or those of its rows that a list names.
  void append(const FlowPiece& piece, std::int64_t block) { append(piece, nullptr, piece.rows, block); }
  void append(const FlowPiece& piece, const std::int32_t* list, std::int64_t rows, std::int64_t block);

  // Shows what was appended, and that later rows are of block `promise` or a later one.
  void flush(std::int64_t promise) noexcept;

  bool full() noexcept;

  // The consumer's. ---------------------------------------------------------------------------------------------

  // Rows of block `block`, at most `most`, which stay until the next call; none: there are none now.
  FlowPiece next(std::int64_t block, std::int64_t most) noexcept;
  // Once `next(block)` has returned nothing: whether it always will.
  bool passed(std::int64_t block) const noexcept;
  // Once `next` has returned nothing for the last block: whether there is nothing more.
  bool ended() const noexcept { return promised_ == kEndOfTime && row_ == end_; }

 private:
  friend struct FlowLinkProbe;  // tests/model/link_model_test.cc

  struct Chunk {
    std::int64_t first = 0;  // its first row
    Chunk* next = nullptr;   // written before a row of that is published
    std::vector<void*> columns;
    std::unique_ptr<std::byte[]> memory;
  };

  Chunk& chunk_for_more();
  std::size_t fields() const noexcept { return due_ ? 2 : 1; }  // before those of the rows

  const std::vector<std::int32_t> itemsizes_;
  const RowMover mover_;
  const std::int64_t most_;
  const bool due_;
  Parker& producer_;
  Parker& consumer_;

  // The producer's own.
  alignas(kCacheLine) std::deque<std::unique_ptr<Chunk>> chunks_;  // oldest first
  std::int64_t appended_ = 0;
  std::int64_t shown_ = 0;
  std::int64_t said_ = -1;
  std::int64_t seen_left_ = 0;

  // Written by the producer, read by the consumer; neither decreases.
  alignas(kCacheLine) std::atomic<std::int64_t> published_{0};  // rows
  std::atomic<std::int64_t> promise_{0};

  // First row of the chunk that the consumer is in: earlier ones are the producer's again. Written by the consumer.
  alignas(kCacheLine) std::atomic<std::int64_t> left_{0};

  // The consumer's own.
  alignas(kCacheLine) Chunk* at_;
  std::int64_t row_ = 0;       // first not taken
  std::int64_t end_ = 0;       // first not seen
  std::int64_t promised_ = 0;  // as seen, before `end_` was
};

}  // namespace lab
