// Where a worker's outputs go, and how all workers' outputs become one sequence.
//
// Each worker appends to its own chunks, without synchronisation. A *segment* notes which mailbox emitted the
// rows from some row on, and which stream's events caused them. After the run `merge_outputs` merges by event
// time the sequences of all (mailbox, stream) pairs, each kept in the order in which it was emitted: a row that
// was emitted late has the key of the latest row before it in its sequence, so disorder stays visible instead
// of being sorted away. Ties go by stream, then by the position of the segment's first event: no segment spans
// an ordering event, so between dependent rows that position decides.
//
// Between two operators of a query nothing is merged afterwards: outputs are taken while the run goes on
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

// Consecutive rows that one mailbox emitted because of events of one stream. They stay where they are as long as their
// buffer, and are not written again.
struct OutputPiece {
  void* const* columns;      // one array per field
  std::int64_t begin, end;   // rows of them
  std::int64_t first_event;  // position in the stream of the first event that may have caused them
  std::int32_t stream;
  std::int32_t mailbox;
};

class alignas(kCacheLine) OutputBuffer {
 public:
  static constexpr std::size_t kChunkBytes = OutputPool::kChunkBytes;

  static constexpr std::int64_t kFirstSegments = 64;  // for which there is room without a chunk

  // With memory of its own. `itemsizes`: bytes of each output field; the first is the int64 timestamp. `largest`: most
  // records that one event may emit. `chunk_bytes`: a power of two, at least 4096.
  explicit OutputBuffer(std::vector<std::int32_t> itemsizes, std::int64_t largest = 1,
                        std::size_t chunk_bytes = kChunkBytes);
  // With memory of a pool, which it shares with others. The first chunk is there, and touched.
  explicit OutputBuffer(std::shared_ptr<OutputPool> pool);

  // Returns the emitter for the next kernel call: room for at least `at_least` records, up to `chunk_rows`.
  Emit* open(std::int64_t at_least) {
    if (emit_.capacity - emit_.count < at_least) grow();
    before_ = emit_.count;
    return &emit_;
  }

  // Books the records that the kernel call since `open` emitted, caused by events of `stream` from position
  // `first_event` on. Returns how many there were. `fresh`: the mailbox has passed an ordering event since it
  // last emitted.
  std::int64_t close(std::int32_t mailbox, std::int32_t stream, std::int64_t first_event, bool fresh) {
    const std::int64_t added = emit_.count - before_;
    if (added != 0) note(mailbox, stream, first_event, added, fresh);
    return added;
  }

  // Counts records that were booked beyond what the program declares, though there was room for them.
  void refuse(std::int64_t records) noexcept { emit_.refused += records; }

  // Instead of `merge_outputs`: another takes the outputs while more come, oldest first, between kernel calls. Memory
  // of what was taken is used again.
  struct Piece {
    void* const* columns;  // one array per field
    std::int64_t row;      // rows [row, row + rows) of them
    std::int64_t rows;
  };
  std::int64_t waiting() const noexcept { return rows_ - taken_; }
  Piece oldest() const noexcept {  // only when something waits
    const Chunk& chunk = chunks_.front();
    const std::int64_t end = chunks_.size() == 1 ? emit_.count : chunk.rows;
    return {chunk.columns.data(), front_, end - front_};
  }
  void take(std::int64_t rows);  // at most those of `oldest`
  // From now on `open` may throw, as Spill::check: where it needs another chunk while more rows wait than may.
  void limit_waiting(const Spill& spill) noexcept { spill_ = &spill; }

  std::int64_t rows() const noexcept { return rows_; }
  std::int64_t refused() const noexcept { return emit_.refused; }
  const OutputPool& pool() const noexcept { return *pool_; }
  std::int64_t chunk_rows() const noexcept { return pool_->chunk_rows(); }
  std::span<const std::int32_t> itemsizes() const noexcept { return pool_->itemsizes(); }

  // How far somebody has looked at the rows.
  struct Mark {
    std::size_t chunk = 0;
    std::int64_t row = 0;     // of the chunk
    std::int64_t before = 0;  // rows of the chunks before it
    std::size_t segment = 0;  // of the latest row
  };
  // Adds the rows that were booked since the mark to `into`, and moves the mark behind them. Of the writer, between
  // kernel calls, or of anybody when it has ended; not with `take`.
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
  void note(std::int32_t mailbox, std::int32_t stream, std::int64_t first_event, std::int64_t added, bool fresh);
  const Segment& segment(std::size_t number) const noexcept;

  const std::shared_ptr<OutputPool> pool_;
  std::vector<Chunk> chunks_;
  // The first segments lie here, the others in chunks of the pool: a vector's growth would be fresh memory, too.
  std::vector<Segment> first_segments_;
  std::vector<OutputPool::Memory> more_segments_;
  Segment* segment_ = nullptr;       // the last
  Segment* segments_end_ = nullptr;  // of the room it lies in
  std::size_t segment_count_ = 0;
  std::int64_t rows_ = 0;         // booked rows
  std::int64_t taken_ = 0;        // of these
  std::int64_t front_ = 0;        // first row of the first chunk that is not taken
  const Spill* spill_ = nullptr;  // none: any number of rows may wait
  Emit emit_{};
  std::int64_t before_ = 0;
};

// Merges pieces, a list for each buffer in the order in which it gave them, into `columns`: one array per field, of
// items of `itemsizes`, with room for all rows.
void merge_pieces(std::span<const std::vector<OutputPiece>> buffers, std::span<void* const> columns,
                  std::span<const std::int32_t> itemsizes);

// Merges all buffers, as they are, likewise.
void merge_outputs(std::span<const OutputBuffer* const> buffers, std::span<void* const> columns);

}  // namespace lab
