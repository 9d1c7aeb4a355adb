// A stream and the source that replays it: cuts it into blocks and publishes them, never past the slowest
// reader by more than the ring's capacity. Blocks are views: the columns stay where they are.
//
// A source is driven in one of two ways. At full speed (`pump`) its owner publishes whenever there is room.
// On a schedule (`notice`, `publish`) an event is the source's business from its due time on, whether or not
// the ring has room: what the ring cannot take yet waits in the columns, so the schedule never waits for a
// reader, however slow it is.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "run/block_ring.h"
#include "run/cacheline.h"
#include "run/fast_clock.h"

namespace lab {

// Columns of one stream; borrowed, must outlive the run. Timestamps never decrease.
struct StreamView {
  std::int32_t index = 0;  // breaks ties in time
  std::span<const std::int64_t> ts;
  const std::int32_t* tag = nullptr;  // null: every event has `tag0`
  std::int32_t tag0 = 0;
  std::vector<const void*> columns;             // ts, tag, payload: what kernels get
  std::span<const std::int64_t> heartbeats;     // ascending; h promises that later events have ts > h
  std::span<const std::int64_t> due;            // per event, ns after the start, never decreasing; empty: no schedule
  std::span<const std::int64_t> heartbeat_due;  // per heartbeat, likewise

  std::int32_t tag_of(std::int64_t i) const noexcept { return tag != nullptr ? tag[i] : tag0; }
  std::int64_t size() const noexcept { return static_cast<std::int64_t>(ts.size()); }
};

class Source {
 public:
  // `whole_blocks`: on a schedule, publish only blocks of `batch` events, and what is left at the end.
  // `stamped`: blocks say when they were published; costs a reading of the clock each.
  Source(const StreamView& stream, std::int64_t batch, std::uint64_t ring_blocks, bool whole_blocks = false,
         bool stamped = true)
      : ring(ring_blocks),
        stream_(stream),
        batch_(std::min(batch, std::max<std::int64_t>(1, stream.size()))),  // so that a sum with it fits
        whole_blocks_(whole_blocks),
        stamped_(stamped) {}

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
    block.stamp_ns = stamped_ ? clock_.now() : 0;
    ring.publish(block);
    return true;
  }

  struct Noticed {
    std::int64_t events;        // since the last call
    std::int64_t first_due_ns;  // when the first of them was to be handed over
  };

  // Takes note of what is due `elapsed_ns` after the start. Returns what was not due before. Owner only.
  Noticed notice(std::int64_t elapsed_ns) noexcept {
    const std::int64_t n = stream_.size();
    const std::int64_t before = noticed_;
    while (heartbeat_ < stream_.heartbeats.size() && stream_.heartbeat_due[heartbeat_] <= elapsed_ns) {
      // Never the end of time: that is the last block's to say.
      promised_ts_ = std::min(stream_.heartbeats[heartbeat_] + 1, kEndOfTime - 1);
      ++heartbeat_;
    }
    if (whole_blocks_) {
      if (before == n) return {0, 0};
      const std::int64_t planned = due(unit_end(before) - 1);
      while (noticed_ < n && due(unit_end(noticed_) - 1) <= elapsed_ns) noticed_ = unit_end(noticed_);
      return {noticed_ - before, planned};
    }
    if (before == n || due(before) > elapsed_ns) return {0, 0};
    // Gallops: the events that become due between two calls are mostly few.
    std::int64_t low = before;  // due
    std::int64_t width = 1;
    while (low + width < n && due(low + width) <= elapsed_ns) {
      low += width;
      width *= 2;
    }
    std::int64_t high = std::min(low + width, n);  // not due, or the end
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (due(middle) <= elapsed_ns ? low : high) = middle;
    }
    noticed_ = high;
    return {noticed_ - before, due(before)};
  }

  // Publishes one block of what has been noticed, or a promise that says something new, if the ring has room.
  // Returns whether it did. That nothing follows is known with the last event and the last heartbeat, no sooner.
  // `stamp_ns`: what the clock says. Owner only.
  bool publish(std::int64_t stamp_ns) noexcept {
    if (!waits()) return false;
    full_ = !ring.has_room();
    if (full_) return false;
    Block block{};
    block.begin = next_;
    block.end = std::min(noticed_, next_ + batch_);
    block.stamp_ns = stamp_ns;
    if (ends_at(block.end)) {
      exhausted_ = true;
      block.bound_ts = kEndOfTime;
    } else {
      if (block.end > 0) bound_ts_ = std::max(bound_ts_, stream_.ts[static_cast<std::size_t>(block.end) - 1]);
      bound_ts_ = std::max(bound_ts_, promise(block.end));
      block.bound_ts = bound_ts_;
    }
    next_ = block.end;
    ring.publish(block);
    return true;
  }

  // Returns what the source has done its part for: what is published, what has found the ring full, and what
  // has become due behind that and before it drained. The rest of what is due waits for the owner. Owner only,
  // after `publish`.
  Noticed handed() noexcept {
    if (full_) owed_ = noticed_;
    const std::int64_t before = handed_;
    handed_ = next_ < owed_ ? noticed_ : std::max(handed_, next_);
    if (handed_ == before) return {0, 0};
    return {handed_ - before, due((whole_blocks_ ? unit_end(before) : before + 1) - 1)};
  }

  // When there will be something to notice, in ns after the start; `kEndOfTime`: never.
  std::int64_t next_due() const noexcept {
    std::int64_t result = kEndOfTime;
    if (noticed_ < stream_.size()) result = due((whole_blocks_ ? unit_end(noticed_) : noticed_ + 1) - 1);
    if (heartbeat_ < stream_.heartbeats.size()) result = std::min(result, stream_.heartbeat_due[heartbeat_]);
    return result;
  }

  // Whether there is something to publish: events that are due, or a promise.
  bool waits() const noexcept {
    return next_ < noticed_ || (!exhausted_ && (ends_at(next_) || promise(next_) > bound_ts_));
  }

  // Publishes from event `first` on, whatever it has published, into an empty ring with new readers. What it knows of its
  // schedule stays. Only while nobody else uses it.
  void restart(std::int64_t first) noexcept {
    ring.reset();
    next_ = first;
    exhausted_ = full_ = false;
    bound_ts_ = std::numeric_limits<std::int64_t>::min();  // what was promised of events behind `first`
    // Without a schedule `pump` passes those that say nothing new. A stream without events has one of heartbeats alone.
    if (stream_.due.empty() && stream_.heartbeat_due.empty()) heartbeat_ = 0;
  }

  std::int64_t published() const noexcept { return next_; }  // events
  bool exhausted() const noexcept { return exhausted_; }
  const StreamView& stream() const noexcept { return stream_; }

  BlockRing ring;

 private:
  std::int64_t due(std::int64_t i) const noexcept { return stream_.due[static_cast<std::size_t>(i)]; }
  // What the latest heartbeat promises of the events from `next` on: it may not pass those that wait.
  std::int64_t promise(std::int64_t next) const noexcept {
    return next == stream_.size() ? promised_ts_ : std::min(promised_ts_, stream_.ts[static_cast<std::size_t>(next)]);
  }
  // On a schedule: whether nothing follows once the events before `next` are published.
  bool ends_at(std::int64_t next) const noexcept {
    return next == stream_.size() && heartbeat_ == stream_.heartbeats.size();
  }
  std::int64_t unit_end(std::int64_t begin) const noexcept { return std::min(begin + batch_, stream_.size()); }

  // Set once; read by the owner and by every reader.
  const StreamView& stream_;
  const std::int64_t batch_;
  const bool whole_blocks_;
  const bool stamped_;

  // Written and read by the owner only, at every block: not on the line above.
  alignas(kCacheLine) std::int64_t next_ = 0;  // first event not yet published
  FastClock clock_;
  std::int64_t noticed_ = 0;   // on a schedule: first event not known to be due
  std::int64_t handed_ = 0;    // first event that `handed` has not returned; next_ <= handed_ after it
  std::int64_t owed_ = 0;      // what was noticed when the ring was last found full
  std::size_t heartbeat_ = 0;  // first heartbeat not yet promised
  std::int64_t promised_ts_ = std::numeric_limits<std::int64_t>::min();  // by the latest heartbeat that was due
  std::int64_t bound_ts_ = std::numeric_limits<std::int64_t>::min();     // by the latest block
  bool full_ = false;  // whether the latest `publish` found the ring full
  bool exhausted_ = false;
};

}  // namespace lab
