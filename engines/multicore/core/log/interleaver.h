// Merges sorted rows of up to 64 sources into the order of their sources, a byte a row, without a branch that depends on
// whose row comes next.
//
// A binary tree of two-way merges. A node keeps what it has merged in a buffer of its own, since a step of a merge waits
// for the step before it (four cycles), not for the buffer: a row costs some 2 ns for each level, where a loser tree has
// two loads in a row for each row and 3 ns (docs/performance.md). What the buffers hold at the end of a call is dropped,
// and merged again by the next.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace lab {

// Rows [next, end) of a source, or of what a node has merged: row i has the timestamp `ts[i & mask]`, never below those
// before it, and the source `source[i & source_mask]`, below 64.
struct SortedRows {
  const std::int64_t* ts = nullptr;
  const std::uint8_t* source = nullptr;
  std::uint64_t mask = 0;
  std::uint64_t source_mask = 0;
  std::int64_t next = 0;
  std::int64_t end = 0;

  std::int64_t rows() const noexcept { return end - next; }
};

// One owner thread.
class Interleaver {
 public:
  static constexpr std::size_t kMostInputs = 64;

  // Memory for up to so many inputs, at most kMostInputs.
  explicit Interleaver(std::size_t inputs = kMostInputs);

  // The places of so many inputs, to be filled in, at most as many as there is memory for. No two have a source in common.
  std::span<SortedRows> inputs(std::size_t count) noexcept;

  // Writes the sources of all inputs' rows, at most `capacity`, in the order of (timestamp, input), and moves each input's
  // `next` behind what was written. Returns how many. Nothing at or behind an input's `end` is read.
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

  // As in a heap: node n has the children 2n and 2n + 1, inputs are the nodes from `leaves_` on.
  std::size_t leaves_ = 2;
  std::size_t count_ = 0;
  std::array<SortedRows, 2 * kMostInputs> rows_;
  std::unique_ptr<Buffer[]> buffers_;  // of the nodes between the root and the inputs
};

}  // namespace lab
