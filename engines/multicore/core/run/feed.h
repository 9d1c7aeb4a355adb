// Feed: a source and a read position in its blocks. All families read their input through feeds.
#pragma once
#include <cstddef>
#include <cstdint>

#include "run/cacheline.h"
#include "run/merge_flag.h"
#include "run/source.h"

namespace lab {

// A source and the position of its next block. The holder of the flag moves the blocks (`move_blocks`).
struct alignas(kCacheLine) Feed {
  static constexpr std::int64_t kMaxRows = 4096;  // limit of `max_rows`

  Source* source = nullptr;
  std::size_t reader = 0;  // index of this reader in the source's ring
  // Whether the mover makes the source publish, as at full speed. The flag then guards both ends of the ring. Otherwise
  // a generator publishes.
  bool pumped = false;
  std::uint64_t next = 0;  // first block not yet moved
  std::int64_t row = 0;    // first row not yet moved
  bool closed = false;
  std::int64_t max_rows = kMaxRows;  // rows of one move before the turn of the other sources; see `LogFeeder`
  std::int64_t filled_ns = 0;        // time of the last move of `max_rows` rows; 0 if the last move took all rows
  MergeFlag flag;

  // Returns the block `skipped` blocks after the next, or null. The caller must have called it for all earlier blocks.
  const Block* block(std::uint64_t skipped = 0) noexcept {
    if (source->ring.published() == next + skipped && (!pumped || !source->pump(true))) return nullptr;
    return &source->ring.at(next + skipped);
  }
  // Releases the next `blocks` blocks.
  void pass(std::uint64_t blocks = 1) noexcept {
    next += blocks;
    source->ring.advance(reader, next, pumped);
  }
};

// Calls `move` under the flag, unless another thread holds it. Calls `move` again if a thread arrived meanwhile, since
// that thread may have made room that this pass did not see, and may go to sleep (run/merge_flag.h). Returns whether a
// row moved or a thread may still wait for a pass. If so, the caller takes another turn before it sleeps.
template <typename Move>
bool move_under(MergeFlag& flag, Move move) {
  constexpr int kPassesInARow = 4;
  bool moved = false;
  for (int i = 0; flag.enter(); ++i) {
    flag.begin_pass();
    try {
      moved = move() || moved;
    } catch (...) {  // a kernel failed, so the run ends and waiting threads need no pass
      flag.leave();
      throw;
    }
    if (!flag.leave()) return moved;
    if (i + 1 == kPassesInARow) return true;
  }
  return moved;
}

// Calls `move` under the flag of a feed, as `move_under` does.
template <typename Move>
bool move_blocks(Feed& feed, Move move) {
  return move_under(feed.flag, move);
}

}  // namespace lab
