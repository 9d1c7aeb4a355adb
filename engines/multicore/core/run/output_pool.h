// Memory for outputs that is there, and touched, before a run: chunks of one size, which all its workers take from.
//
// How many rows a run emits is known beforehand, which of its workers emits them is not. A worker takes a chunk when
// its last one is full, which is once in megabytes: a mutex is cheap enough.
//
// Fresh memory costs page faults. In a virtual machine a huge page takes up to milliseconds, when the host has to find
// it: that would be most of the time of a run that emits much, and none of it the engine's.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace lab {

// The first field of an output is an int64 timestamp. Throws std::invalid_argument.
void check_output(std::span<const std::int32_t> itemsizes);

class OutputPool {
 public:
  // Of a chunk: two huge pages. Sanitizers pay several times over for memory that is touched.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  static constexpr std::size_t kChunkBytes = std::size_t{1} << 15;
#else
  static constexpr std::size_t kChunkBytes = std::size_t{4} << 20;
#endif

  using Memory = std::unique_ptr<std::byte[], void (*)(void*)>;

  // `itemsizes`: bytes of each output field. `largest`: most records that one event may emit. `chunk_bytes`: a power of
  // two, at least 4096.
  explicit OutputPool(std::vector<std::int32_t> itemsizes, std::int64_t largest = 1,
                      std::size_t chunk_bytes = kChunkBytes);

  // Adds touched chunks for so many rows, whichever buffers emit them, beyond the one that each buffer begins with.
  // `unused`: most rows that a buffer may leave free at the end of a chunk; at most as many chunks again are reserved
  // for them. Before the run; one thread.
  void reserve(std::int64_t rows, std::int64_t unused);
  // The same for so many bytes, up to 256 MiB, of other, small things, which so many buffers keep in their own chunks.
  void reserve_bytes(std::int64_t bytes, std::int64_t buffers);
  void add(std::int64_t chunks);  // counted in chunks

  // Takes a chunk; where none is left, one that nobody has touched, which is counted. Any thread.
  Memory take();
  // Gives back a chunk. Keeps as many as were reserved, or a few. Any thread.
  void give(Memory memory);

  std::int64_t grown() const noexcept;  // chunks that were taken beyond those reserved
  std::int64_t chunk_rows() const noexcept { return chunk_rows_; }
  std::size_t chunk_bytes() const noexcept { return chunk_bytes_; }
  std::span<const std::int32_t> itemsizes() const noexcept { return itemsizes_; }

 private:
  Memory fresh() const;

  const std::vector<std::int32_t> itemsizes_;
  std::int64_t chunk_rows_ = 0;
  std::size_t page_;  // what a chunk is aligned to, and a multiple of
  std::size_t chunk_bytes_ = 0;
  mutable std::mutex mutex_;   // guards what follows
  std::vector<Memory> spare_;  // touched
  std::size_t kept_;           // most of them
  std::int64_t grown_ = 0;
};

}  // namespace lab
