// Replay: supplies the blocks of a stream to the only thread that reads it. At full speed it cuts them from the
// columns; with a load it takes them from a generator.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "run/feed.h"
#include "run/source.h"

namespace lab {

class Replay {
 public:
  // `feed`: the feed of a generator; null for full speed, in blocks of `batch` rows. `view` and `feed` outlive this
  // object.
  Replay(const StreamView& view, std::int64_t batch, Feed* feed)
      : view_(&view),
        batch_(std::min(batch, std::max<std::int64_t>(1, view.size()))),  // so that a sum with it fits
        feed_(feed) {}

  bool at_full_speed() const noexcept { return feed_ == nullptr; }

  // Fills `block` with the next block. The last one has the bound kEndOfTime; no call may follow it. Returns false if
  // no block is ready.
  bool next(Block& block) {
    if (feed_ != nullptr) {
      const Block* const next_block = feed_->block();
      if (next_block == nullptr) return false;
      block = *next_block;
      feed_->pass();
      return true;
    }
    const std::int64_t n = view_->size();
    block.begin = next_;
    block.end = n - next_ < batch_ ? n : next_ + batch_;
    next_ = block.end;
    block.bound_ts = kEndOfTime;
    if (block.end == n) return true;
    block.bound_ts = view_->ts[static_cast<std::size_t>(block.end) - 1];
    // A heartbeat between this block and the next row gives a higher bound than the last timestamp of the block.
    const std::int64_t following = view_->ts[static_cast<std::size_t>(block.end)];
    while (heartbeat_ < view_->heartbeats.size() && view_->heartbeats[heartbeat_] < following) {
      block.bound_ts = std::max(block.bound_ts, std::min(view_->heartbeats[heartbeat_] + 1, kEndOfTime - 1));
      ++heartbeat_;
    }
    return true;
  }

 private:
  const StreamView* view_;
  std::int64_t batch_;
  Feed* feed_;
  std::int64_t next_ = 0;      // first row not yet returned, at full speed
  std::size_t heartbeat_ = 0;  // first heartbeat not yet used, at full speed
};

}  // namespace lab
