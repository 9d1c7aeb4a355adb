// OutputPool: memory for outputs, allocated and touched (written once, so that its pages exist) before a run. All
// workers of the run take chunks of one size.
//
// The number of rows of a run is known beforehand; their distribution over the workers is not. A worker takes a chunk
// of several megabytes when its last chunk is full, so a mutex is cheap enough.
//
// Fresh memory costs page faults. In a virtual machine the host may take milliseconds to find a huge page. A run with
// many outputs would spend most of its time on such faults, not in the engine.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace lab {

// Checks that the first field of an output is an int64 timestamp. Throws std::invalid_argument.
void check_output(std::span<const std::int32_t> itemsizes);

class OutputPool {
 public:
  // The size of a chunk: two huge pages. Touched memory costs several times as much under a sanitizer.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  static constexpr std::size_t kChunkBytes = std::size_t{1} << 15;
#else
  static constexpr std::size_t kChunkBytes = std::size_t{4} << 20;
#endif

  using Memory = std::unique_ptr<std::byte[], void (*)(void*)>;

  // `itemsizes`: bytes of each output field. `largest`: maximum number of records that one event may emit.
  // `chunk_bytes`: a power of two, at least 4096.
  explicit OutputPool(std::vector<std::int32_t> itemsizes, std::int64_t largest = 1,
                      std::size_t chunk_bytes = kChunkBytes);

  // Adds touched chunks for `rows` rows of any buffers, besides each buffer's first chunk. `unused`: maximum number of
  // rows that a buffer leaves free at the end of a chunk; these rows at most double the number of chunks. Call it
  // before the run, from one thread.
  void reserve(std::int64_t rows, std::int64_t unused);
  // Adds touched chunks for `bytes` bytes, up to 256 MiB, of other small data of `buffers` buffers, in separate chunks.
  void reserve_bytes(std::int64_t bytes, std::int64_t buffers);
  void add(std::int64_t chunks);  // adds touched chunks

  // Takes a chunk. If no touched chunk is left, allocates a new one and counts it. Any thread may call it.
  Memory take();
  // Returns a chunk. The pool keeps as many as it reserved, or a few, and frees the rest. Any thread may call it.
  void give(Memory memory);

  std::int64_t grown() const noexcept;  // number of chunks taken beyond the reserved ones
  std::int64_t chunk_rows() const noexcept { return chunk_rows_; }
  std::size_t chunk_bytes() const noexcept { return chunk_bytes_; }
  std::span<const std::int32_t> itemsizes() const noexcept { return itemsizes_; }

 private:
  Memory allocate() const;

  const std::vector<std::int32_t> itemsizes_;
  std::int64_t chunk_rows_ = 0;
  std::size_t page_;  // alignment of a chunk; its size is a multiple of it
  std::size_t chunk_bytes_ = 0;
  mutable std::mutex mutex_;   // guards the members below
  std::vector<Memory> spare_;  // touched chunks that no buffer uses
  std::size_t spare_limit_;    // maximum number of chunks in `spare_`
  std::int64_t grown_ = 0;
};

}  // namespace lab
