// OutputBuffer, merge_outputs: the output buffer of a worker, and the merge of all buffers into one sequence after the
// run.
//
// Each worker appends to its own chunks, without synchronization. A *segment* is a range of rows. It records the
// mailbox (dgs/mailbox.h) that emitted the rows and the stream whose events caused them. After the run, `merge_outputs`
// merges the sequences of all (mailbox, stream) pairs by event time. Each sequence stays in order of emission: a late
// row has the key of the latest row before it in its sequence. So no sort hides disorder. Ties go by stream, then by
// the position of the first event of the segment. No segment spans an ordering event, so that position decides between
// dependent rows.
//
// Between two operators of a query no merge follows; the next operator takes outputs during the run
// (oplus/chain_log.h).
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "run/cacheline.h"
#include "run/kernel.h"
#include "run/output_pool.h"
#include "run/spill.h"

namespace lab {

// Consecutive rows that one mailbox emitted for events of one stream. They stay in place until their buffer is
// destroyed, and no thread writes them again.
struct OutputPiece {
  void* const* columns;      // one array for each field
  std::int64_t begin, end;   // rows [begin, end) of the arrays
  std::int64_t first_event;  // position in the stream of the first event that may have caused them
  std::int32_t stream;
  std::int32_t mailbox;
};

class alignas(kCacheLine) OutputBuffer {
 public:
  static constexpr std::size_t kChunkBytes = OutputPool::kChunkBytes;

  static constexpr std::int64_t kFirstSegments = 64;  // number of segments stored outside chunks

  // Creates a private pool. `itemsizes`: bytes of each output field; the first is the int64 timestamp. `largest`:
  // maximum number of records that one event may emit. `chunk_bytes`: a power of two, at least 4096.
  explicit OutputBuffer(std::vector<std::int32_t> itemsizes, std::int64_t largest = 1,
                        std::size_t chunk_bytes = kChunkBytes);
  // Shares a pool with other buffers. Takes a touched first chunk at once.
  explicit OutputBuffer(std::shared_ptr<OutputPool> pool);

  // Returns the emitter for the next kernel call, with room for at least `min_rows` records, up to `chunk_rows`.
  Emit* open(std::int64_t min_rows) {
    if (emit_.capacity - emit_.count < min_rows) grow();
    call_begin_ = emit_.count;
    return &emit_;
  }

  // Records the rows of the kernel call since `open`, which events of `stream` from position `first_event` on caused.
  // Returns their number. `fresh`: whether the mailbox has passed an ordering event since its last record.
  std::int64_t close(std::int32_t mailbox, std::int32_t stream, std::int64_t first_event, bool fresh) {
    const std::int64_t added = emit_.count - call_begin_;
    if (added != 0) add_rows(mailbox, stream, first_event, added, fresh);
    return added;
  }

  // Counts recorded rows beyond the declared maximum of the program, for which the buffer had room.
  void refuse(std::int64_t records) noexcept { emit_.refused += records; }

  // The alternative to `merge_outputs`: a consumer takes the outputs during the run, oldest first, between kernel
  // calls. The buffer reuses the memory of taken rows.
  struct Piece {
    void* const* columns;  // one array for each field
    std::int64_t row;      // rows [row, row + rows) of the arrays
    std::int64_t rows;
  };
  std::int64_t waiting() const noexcept { return rows_ - taken_; }
  // Returns the oldest rows that wait. Call only if rows wait.
  Piece oldest() const noexcept {
    const Chunk& chunk = chunks_.front();
    const std::int64_t end = chunks_.size() == 1 ? emit_.count : chunk.rows;
    return {chunk.columns.data(), front_, end - front_};
  }
  void take(std::int64_t rows);  // removes the oldest rows, at most those of `oldest`
  // Makes `open` throw, as Spill::check does, if `open` needs another chunk while too many rows wait.
  void limit_waiting(const Spill& spill) noexcept { spill_ = &spill; }

  std::int64_t rows() const noexcept { return rows_; }
  std::int64_t refused() const noexcept { return emit_.refused; }
  const OutputPool& pool() const noexcept { return *pool_; }
  std::int64_t chunk_rows() const noexcept { return pool_->chunk_rows(); }
  std::span<const std::int32_t> itemsizes() const noexcept { return pool_->itemsizes(); }

  // The position of a reader in the rows.
  struct Mark {
    std::size_t chunk = 0;
    std::int64_t row = 0;     // row in the chunk
    std::int64_t before = 0;  // number of rows of the chunks before it
    std::size_t segment = 0;  // segment of the latest row
  };
  // Appends the rows recorded since the mark to `into`, and moves the mark to their end. The writer may call it between
  // kernel calls; any thread may call it after the end of the writer. Do not combine it with `take`.
  void since(Mark& mark, std::vector<OutputPiece>& into) const;

  struct Segment {
    std::int64_t row;          // first row of the segment, counted over all chunks
    std::int64_t first_event;  // position in the stream of the first event that may have caused it
    std::int32_t stream;
    std::int32_t mailbox;
  };

 private:
  struct Chunk {
    OutputPool::Memory memory{nullptr, nullptr};
    std::vector<void*> columns;
    std::int64_t rows = 0;
  };

  void grow();
  void grow_segments();
  std::size_t segments_of_a_chunk() const noexcept { return pool_->chunk_bytes() / sizeof(Segment); }
  void add_rows(std::int32_t mailbox, std::int32_t stream, std::int64_t first_event, std::int64_t added, bool fresh);
  const Segment& segment(std::size_t number) const noexcept;

  const std::shared_ptr<OutputPool> pool_;
  std::vector<Chunk> chunks_;
  // The first segments, and further segments in chunks of the pool, since a growing vector would need fresh memory.
  std::vector<Segment> first_segments_;
  std::vector<OutputPool::Memory> more_segments_;
  Segment* segment_ = nullptr;       // the last segment
  Segment* segments_end_ = nullptr;  // end of the room around `segment_`
  std::size_t segment_count_ = 0;
  std::int64_t rows_ = 0;         // number of recorded rows
  std::int64_t taken_ = 0;        // number of rows that a consumer took
  std::int64_t front_ = 0;        // first row of the first chunk not yet taken
  const Spill* spill_ = nullptr;  // null if any number of rows may wait
  Emit emit_{};
  std::int64_t call_begin_ = 0;  // number of rows in the chunk before the kernel call
};

// Merges pieces into `columns`: one array for each field, with items of `itemsizes` and room for all rows. `buffers`:
// the pieces of each buffer, in the buffer's order.
void merge_pieces(std::span<const std::vector<OutputPiece>> buffers, std::span<void* const> columns,
                  std::span<const std::int32_t> itemsizes);

// Merges all rows of the buffers in the same way.
void merge_outputs(std::span<const OutputBuffer* const> buffers, std::span<void* const> columns);

}  // namespace lab
