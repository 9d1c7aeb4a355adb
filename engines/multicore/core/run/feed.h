// A source, and how far its blocks have been handed over: what every family reads its input through.
#pragma once
#include <cstddef>
#include <cstdint>

#include "run/cacheline.h"
#include "run/merge_flag.h"
#include "run/source.h"

namespace lab {

// A source, and how far its blocks have been handed over. Whoever holds the flag moves them (`move_blocks`).
struct alignas(kCacheLine) Feed {
  static constexpr std::int64_t kMostRows = 4096;

  Source* source = nullptr;
  std::size_t reader = 0;
  bool pumped = false;     // at full speed: the mover makes the source publish; else a generator does
  std::uint64_t next = 0;  // first block not yet done
  std::int64_t row = 0;    // first row not yet done
  bool closed = false;
  std::int64_t most = kMostRows;  // rows to move at once, before the other sources get their turn; `LogFeeder`
  std::int64_t filled_ns = 0;     // when so many were moved last; 0: the last move took all that there was
  MergeFlag flag;

  // The next block, or the one so many behind it, when there is one; those before it have been asked for.
  const Block* block(std::uint64_t behind = 0) noexcept {
    if (source->ring.published() == next + behind && (!pumped || !source->pump())) return nullptr;
    return &source->ring.at(next + behind);
  }
  void pass(std::uint64_t blocks = 1) noexcept {
    next += blocks;
    source->ring.advance(reader, next);
  }
};

// Has `move` move what a flag guards, unless another thread is at it, and again for whoever comes meanwhile: that one may
// have made room that this pass did not see, and go to sleep (run/merge_flag.h). Returns whether anything moved, or
// somebody may still be waiting for a pass: then the caller takes another turn before it sleeps.
template <typename Move>
bool move_under(MergeFlag& flag, Move move) {
  constexpr int kPassesInARow = 4;
  bool moved = false;
  for (int i = 0; flag.enter(); ++i) {
    flag.begin_pass();
    try {
      moved = move() || moved;
    } catch (...) {  // a kernel failed: the run ends, nobody is let down
      flag.leave();
      throw;
    }
    if (!flag.leave()) return moved;
    if (i + 1 == kPassesInARow) return true;
  }
  return moved;
}

// Likewise blocks of a feed.
template <typename Move>
bool move_blocks(Feed& feed, Move move) {
  return move_under(feed.flag, move);
}

}  // namespace lab
