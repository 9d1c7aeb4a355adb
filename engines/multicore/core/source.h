// A stream and the source that replays it: cuts it into blocks and publishes them, never past the slowest
// reader by more than the ring's capacity. Blocks are views: the columns stay where they are.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "block_ring.h"
#include "clock.h"

namespace lab {

// Columns of one stream; borrowed, must outlive the run. Timestamps never decrease.
struct StreamView {
  std::int32_t index = 0;                // breaks ties in time
  std::span<const std::int64_t> ts;
  const std::int32_t* tag = nullptr;     // null: every event has `tag0`
  std::int32_t tag0 = 0;
  std::vector<const void*> columns;      // ts, tag, payload: what kernels get
  std::span<const std::int64_t> heartbeats;  // ascending; h promises that later events have ts > h

  std::int32_t tag_of(std::int64_t i) const noexcept { return tag != nullptr ? tag[i] : tag0; }
  std::int64_t size() const noexcept { return static_cast<std::int64_t>(ts.size()); }
};

class Source {
 public:
  Source(const StreamView& stream, std::int64_t batch, std::uint64_t ring_blocks)
      : ring(ring_blocks), stream_(stream), batch_(batch) {}

  // Publishes the next block if the ring has room. Returns whether it did. Owner only.
  bool pump() noexcept {
    if (exhausted_ || !ring.has_room()) return false;
    const std::int64_t n = stream_.size();
    Block block{};
    block.begin = next_;
    block.end = n - next_ < batch_ ? n : next_ + batch_;
    if (block.end == n) {
      exhausted_ = true;
      block.bound_ts = kEndOfTime;
    } else {
      block.bound_ts = stream_.ts[static_cast<std::size_t>(block.end) - 1];
      // A heartbeat between this block and the next event says more than the block's last timestamp does.
      const std::int64_t following = stream_.ts[static_cast<std::size_t>(block.end)];
      while (heartbeat_ < stream_.heartbeats.size() && stream_.heartbeats[heartbeat_] < following) {
        if (stream_.heartbeats[heartbeat_] >= block.bound_ts) block.bound_ts = stream_.heartbeats[heartbeat_] + 1;
        ++heartbeat_;
      }
      const std::int64_t ahead = n - block.end < batch_ ? n : block.end + batch_;
      __builtin_prefetch(stream_.ts.data() + ahead - 1);  // what the next pump reads
    }
    next_ = block.end;
    block.stamp_ns = now_ns();
    ring.publish(block);
    return true;
  }

  bool exhausted() const noexcept { return exhausted_; }
  const StreamView& stream() const noexcept { return stream_; }

  BlockRing ring;

 private:
  const StreamView& stream_;
  std::int64_t batch_;
  std::int64_t next_ = 0;          // owner only: first event not yet published
  std::size_t heartbeat_ = 0;      // owner only: first heartbeat not yet promised
  bool exhausted_ = false;         // owner only
};

}  // namespace lab
