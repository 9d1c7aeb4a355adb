// Interleaver: merges sorted rows of up to 64 sources into a sequence of source numbers, one byte a row. The merge has
// no branch that depends on the source of the next row. `RunMerger` uses it.
//
// The structure is a binary tree of two-way merges. Each node stores its merged rows in its own buffer. A merge step
// waits for the step before it (four cycles), not for the buffer. So a row costs some 2 ns per level; a loser tree
// makes two dependent loads per row and takes 3 ns (docs/performance.md). At the end of a call the interleaver
// drops the buffers' rows; the next call merges them again.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace lab {

// Rows [next, end) of a source, or of the output of a node of the tree. Row i has the timestamp `ts[i & mask]` and the
// source `source[i & source_mask]`. Timestamps never decrease.
struct SortedRows {
  const std::int64_t* ts = nullptr;
  const std::uint8_t* source = nullptr;
  std::uint64_t mask = 0;
  std::uint64_t source_mask = 0;
  std::int64_t next = 0;
  std::int64_t end = 0;

  std::int64_t rows() const noexcept { return end - next; }
};

// Only one thread may use an Interleaver.
class Interleaver {
 public:
  static constexpr std::size_t kMaxInputs = 64;

  // Allocates memory for `inputs` inputs, at most kMaxInputs.
  explicit Interleaver(std::size_t inputs = kMaxInputs);

  // Returns `count` inputs for the caller to fill. `count` is at most the constructor's `inputs`. No two inputs may
  // share a source.
  std::span<SortedRows> inputs(std::size_t count) noexcept;

  // Writes the sources of all inputs' rows, at most `capacity`, in the order of (timestamp, input). Moves each input's
  // `next` past the rows written and returns their number. Reads no row at or after an input's `end`.
  std::size_t merge(std::uint8_t* out, std::size_t capacity) noexcept;

 private:
  static constexpr std::int64_t kBuffer = 128;  // rows; a power of two

  struct Buffer {
    std::array<std::int64_t, kBuffer> ts;
    std::array<std::uint8_t, kBuffer> source;
  };

  void fill(std::size_t node, std::int64_t room) noexcept;
  template <bool kTimes>
  std::int64_t pull(std::size_t node, std::int64_t* ts, std::uint8_t* source, std::int64_t room) noexcept;

  // As in a heap, node n has the children 2n and 2n + 1; the inputs are the nodes from `leaves_` on.
  std::size_t leaves_ = 2;
  std::size_t count_ = 0;
  std::array<SortedRows, 2 * kMaxInputs> rows_;
  std::unique_ptr<Buffer[]> buffers_;  // outputs of the tree's inner nodes, except the root
};

}  // namespace lab
