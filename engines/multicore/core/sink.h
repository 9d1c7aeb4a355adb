// Where a worker's outputs go, and how all workers' outputs become one sequence.
//
// Each worker appends to its own chunks, without synchronisation. A *segment* notes which stream's events
// caused the rows from some row on. After the run `merge_outputs` merges by event time the sequences of all
// (worker, stream) pairs, each kept in the order in which it was emitted: a row that was emitted late has
// the key of the latest row before it in its sequence, so disorder stays visible instead of being sorted away.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernel.h"

namespace lab {

class OutputBuffer {
 public:
  // `itemsizes`: bytes of each output field; the first is the int64 timestamp.
  explicit OutputBuffer(std::vector<std::int32_t> itemsizes);

  // Returns the emitter for the next kernel call: room for at least `at_least` records.
  Emit* open(std::int64_t at_least) {
    if (emit_.capacity - emit_.count < at_least) grow();
    before_ = emit_.count;
    return &emit_;
  }

  // Books the records that the kernel call since `open` emitted, caused by events of `stream` from position
  // `first_event` on. Returns how many there were. `ordering`: caused by one event that other workers'
  // outputs depend on, so its exact position decides ties in time.
  std::int64_t close(std::int32_t stream, std::int64_t first_event, bool ordering) {
    const std::int64_t added = emit_.count - before_;
    if (added != 0) note(stream, first_event, added, ordering);
    return added;
  }

  std::int64_t rows() const noexcept { return rows_; }
  std::int64_t refused() const noexcept { return emit_.refused; }
  std::int64_t chunk_rows() const noexcept { return chunk_rows_; }
  std::span<const std::int32_t> itemsizes() const noexcept { return itemsizes_; }

  struct Segment {
    std::int64_t row;          // first row of the segment, counted over all chunks
    std::int64_t first_event;  // position in the stream of the first event that may have caused it
    std::int32_t stream;
  };

 private:
  friend class OutputMerge;

  struct Chunk {
    std::unique_ptr<std::byte[], void (*)(void*)> memory{nullptr, nullptr};
    std::vector<void*> columns;
    std::int64_t rows = 0;
  };

  void grow();
  void note(std::int32_t stream, std::int64_t first_event, std::int64_t added, bool ordering);

  std::vector<std::int32_t> itemsizes_;
  std::int64_t chunk_rows_ = 0;
  std::vector<Chunk> chunks_;
  std::vector<Segment> segments_;
  std::int64_t rows_ = 0;  // booked rows
  Emit emit_{};
  std::int64_t before_ = 0;
};

// Merges all buffers into `columns`: one array per field with room for all rows.
void merge_outputs(std::span<const OutputBuffer* const> buffers, std::span<void* const> columns);

}  // namespace lab
