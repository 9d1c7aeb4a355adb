// Implements Interleaver; see log/interleaver.h.
#include "log/interleaver.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace lab {
namespace {

// Returns `b` if `chosen` is all ones, `a` if it is 0. With `? :`, compilers make a branch here, which random input
// mispredicts every other time.
template <typename T>
T select(T a, T b, std::int64_t chosen) noexcept {
  return static_cast<T>(a ^ ((a ^ b) & static_cast<T>(chosen)));
}

// Merges up to `room` rows, while both inputs have rows. Moves the inputs past these rows and returns their number.
template <bool kTimes>
std::int64_t merge_two(SortedRows& a, SortedRows& b, std::int64_t* ts, std::uint8_t* source,
                       std::int64_t room) noexcept {
  const auto a_at = [in = a.ts, mask = a.mask](std::int64_t row) { return in[static_cast<std::uint64_t>(row) & mask]; };
  const auto b_at = [in = b.ts, mask = b.mask](std::int64_t row) { return in[static_cast<std::uint64_t>(row) & mask]; };
  const auto a_source = [in = a.source, mask = a.source_mask](std::int64_t row) {
    return in[static_cast<std::uint64_t>(row) & mask];
  };
  const auto b_source = [in = b.source, mask = b.source_mask](std::int64_t row) {
    return in[static_cast<std::uint64_t>(row) & mask];
  };
  std::int64_t i = a.next, j = b.next, done = 0;
  // Load the rows after both heads before the comparison is known, so that a step waits for a comparison, not a load.
  for (std::int64_t steps; (steps = std::min({a.end - 1 - i, b.end - 1 - j, room - done})) > 0; done += steps) {
    std::int64_t x = a_at(i), y = b_at(j);
    for (std::int64_t k = done; k < done + steps; ++k) {
      const std::int64_t x_next = a_at(i + 1), y_next = b_at(j + 1);
      const std::int64_t second = -static_cast<std::int64_t>(y < x);
      if constexpr (kTimes) ts[k] = select(x, y, second);
      source[k] = select(a_source(i), b_source(j), second);
      x = select(x_next, x, second);
      y = select(y, y_next, second);
      j -= second;
      i += 1 + second;
    }
  }
  for (; i < a.end && j < b.end && done < room; ++done) {
    const bool second = b_at(j) < a_at(i);
    if constexpr (kTimes) ts[done] = second ? b_at(j) : a_at(i);
    source[done] = second ? b_source(j) : a_source(i);
    j += second ? 1 : 0;
    i += second ? 0 : 1;
  }
  a.next = i;
  b.next = j;
  return done;
}

// Copies up to `room` rows of one input. Moves the input past these rows and returns their number.
template <bool kTimes>
std::int64_t copy(SortedRows& from, std::int64_t* ts, std::uint8_t* source, std::int64_t room) noexcept {
  const std::int64_t count = std::min(from.rows(), room);
  for (std::int64_t k = 0; k < count; ++k) {
    const auto row = static_cast<std::uint64_t>(from.next + k);
    if constexpr (kTimes) ts[k] = from.ts[row & from.mask];
    source[k] = from.source[row & from.source_mask];
  }
  from.next += count;
  return count;
}

}  // namespace

Interleaver::Interleaver(std::size_t inputs)
    : buffers_(std::make_unique<Buffer[]>(std::bit_ceil(std::max<std::size_t>(inputs, 2)))) {}

std::span<SortedRows> Interleaver::inputs(std::size_t count) noexcept {
  count_ = count;
  leaves_ = std::bit_ceil(std::max<std::size_t>(count, 2));
  const std::span<SortedRows> leaves = std::span(rows_).subspan(leaves_, leaves_);
  std::fill(leaves.begin() + static_cast<std::ptrdiff_t>(count), leaves.end(), SortedRows{});
  return leaves.first(count);
}

std::size_t Interleaver::merge(std::uint8_t* out, std::size_t capacity) noexcept {
  for (std::size_t node = 2; node < leaves_; ++node) {
    Buffer& buffer = buffers_[node];
    rows_[node] = {buffer.ts.data(), buffer.source.data(), kBuffer - 1, kBuffer - 1, 0, 0};
  }
  const std::int64_t done = pull<false>(1, nullptr, out, static_cast<std::int64_t>(capacity));
  if (leaves_ == 2) return static_cast<std::size_t>(done);

  const std::span<SortedRows> inputs = std::span(rows_).subspan(leaves_, count_);
  std::array<std::int64_t, std::numeric_limits<std::uint8_t>::max() + 1> dropped;  // by source
  for (const SortedRows& input : inputs) dropped[*input.source] = 0;
  for (std::size_t node = 2; node < leaves_; ++node) {
    for (std::int64_t i = rows_[node].next; i < rows_[node].end; ++i) ++dropped[rows_[node].source[i]];
  }
  for (SortedRows& input : inputs) input.next -= dropped[*input.source];
  return static_cast<std::size_t>(done);
}

// Refills the buffer of an inner node, if it is empty, with up to `room` rows.
void Interleaver::fill(std::size_t node, std::int64_t room) noexcept {
  if (node >= leaves_ || rows_[node].rows() != 0) return;
  Buffer& buffer = buffers_[node];
  rows_[node].next = 0;
  rows_[node].end = pull<true>(node, buffer.ts.data(), buffer.source.data(), std::min(room, kBuffer));
}

// Merges up to `room` rows of a node's children and returns their number. Fewer than `room` means that no more are
// ready.
template <bool kTimes>
std::int64_t Interleaver::pull(std::size_t node, std::int64_t* ts, std::uint8_t* source, std::int64_t room) noexcept {
  SortedRows& a = rows_[2 * node];
  SortedRows& b = rows_[2 * node + 1];
  std::int64_t done = 0;
  while (done < room) {
    const std::int64_t left = room - done;
    fill(2 * node, left);
    fill(2 * node + 1, left);
    std::int64_t* const times = kTimes ? ts + done : nullptr;
    if (a.rows() != 0 && b.rows() != 0) {
      done += merge_two<kTimes>(a, b, times, source + done, left);
    } else if (const std::int64_t rest = copy<kTimes>(a.rows() != 0 ? a : b, times, source + done, left); rest != 0) {
      done += rest;
    } else {
      break;
    }
  }
  return done;
}

}  // namespace lab
