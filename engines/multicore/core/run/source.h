// Source: cuts a stream into blocks and publishes them to the readers of a run. It is ahead of the slowest reader by at
// most the capacity of the ring. Blocks are views of the columns, which stay in place.
//
// The owner of a source uses one of two modes. At full speed (`pump`) the owner publishes whenever the ring has room.
// On a schedule (`notice`, `publish`) the source accepts an event at its due time, even if the ring is full. Accepted
// events wait in the columns for room, so the schedule never waits for a slow reader.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "run/block_ring.h"
#include "run/cacheline.h"
#include "run/fast_clock.h"

namespace lab {

// The part of a stream that has arrived from outside. The receiving thread writes the columns of rows below `rows`,
// then `rows`, then `heartbeats`, since a heartbeat concerns later rows than those with which it arrived.
struct alignas(kCacheLine) Received {
  std::atomic<std::int64_t> rows{0};        // written by one thread, read by the generator; never decreases
  std::atomic<std::int64_t> heartbeats{0};  // as `rows`
};

// Borrowed columns of one stream, which must outlive the run. Timestamps never decrease.
struct StreamView {
  std::int32_t index = 0;  // breaks ties in time
  std::span<const std::int64_t> ts;
  const std::int32_t* tag = nullptr;         // null if all events have one tag
  std::vector<const void*> columns;          // ts, tag, payload: the arguments of kernels
  std::span<const std::int64_t> heartbeats;  // ascending; heartbeat h promises that later events have ts > h
  // Due time of each event, in ns after the start, never decreasing; empty without a schedule.
  std::span<const std::int64_t> due;
  std::span<const std::int64_t> heartbeat_due;  // of each heartbeat, as `due`
  // With arrival times, the memory of `ts`; null if `ts` has event times. The source writes a row's time before it
  // publishes the row; unpublished rows have the end of time. Heartbeats are due times in ticks, less 1.
  std::int64_t* arrivals = nullptr;
  std::int64_t tick_ns = 0;  // unit of arrival times
  // For a stream that arrives from outside during the run; null if the columns are complete. Rows and heartbeats are
  // then due once they have arrived, and `due` only stamps outputs.
  const Received* received = nullptr;

  std::int64_t size() const noexcept { return static_cast<std::int64_t>(ts.size()); }
};

class Source {
 public:
  // `whole_blocks`: whether, on a schedule, to publish only blocks of `batch` events and a last block with the rest.
  // `stamped`: whether each block carries its time of publication, at the cost of a reading of the clock.
  Source(const StreamView& stream, std::int64_t batch, std::uint64_t ring_blocks, bool whole_blocks = false,
         bool stamped = true)
      : ring(ring_blocks),
        stream_(stream),
        batch_(std::min(batch, std::max<std::int64_t>(1, stream.size()))),  // so that sums with it fit in int64
        whole_blocks_(whole_blocks),
        stamped_(stamped) {}

  // Publishes the next block if the ring has room. Returns whether it did. Only the owner calls it. `relaxed`: see
  // BlockRing.
  bool pump(bool relaxed = false) noexcept {
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
      // A heartbeat between this block and the next event gives a higher bound than the last timestamp of the block.
      const std::int64_t following = stream_.ts[static_cast<std::size_t>(block.end)];
      while (heartbeat_ < stream_.heartbeats.size() && stream_.heartbeats[heartbeat_] < following) {
        if (stream_.heartbeats[heartbeat_] >= block.bound_ts) block.bound_ts = stream_.heartbeats[heartbeat_] + 1;
        ++heartbeat_;
      }
      const std::int64_t next_end = n - block.end < batch_ ? n : block.end + batch_;
      __builtin_prefetch(stream_.ts.data() + next_end - 1);  // the next pump reads it
    }
    next_ = block.end;
    block.stamp_ns = stamped_ ? clock_.now() : 0;
    ring.publish(block, relaxed);
    return true;
  }

  struct DueEvents {
    std::int64_t events;        // number of events since the last call
    std::int64_t first_due_ns;  // due time of the first of these events
  };

  // Accepts all events due by `elapsed_ns` after the start. Returns the newly due events. Only the owner calls it.
  DueEvents notice(std::int64_t elapsed_ns) noexcept {
    if (stream_.received != nullptr) [[unlikely]]
      return notice_received(elapsed_ns);
    const std::int64_t n = stream_.size();
    const std::int64_t before = due_end_;
    elapsed_ns_ = elapsed_ns;
    while (heartbeat_ < stream_.heartbeats.size() && stream_.heartbeat_due[heartbeat_] <= elapsed_ns) {
      // Below the end of time, which only the last block may promise.
      promised_ts_ = std::min(stream_.heartbeats[heartbeat_] + 1, kEndOfTime - 1);
      ++heartbeat_;
    }
    if (whole_blocks_) {
      if (before == n) return {0, 0};
      const std::int64_t unit_due = due(unit_end(before) - 1);
      while (due_end_ < n && due(unit_end(due_end_) - 1) <= elapsed_ns) due_end_ = unit_end(due_end_);
      return {due_end_ - before, unit_due};
    }
    if (before == n || due(before) > elapsed_ns) return {0, 0};
    // Gallop, since few events become due between two calls.
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
    due_end_ = high;
    return {due_end_ - before, due(before)};
  }

  // If the ring has room, publishes a block of noticed events, or a higher bound on later timestamps. Returns whether
  // it did. Declares the end of the stream only after the last event and the last heartbeat. `stamp_ns`: the current
  // time. Only the owner calls it.
  bool publish(std::int64_t stamp_ns) noexcept {
    if (!waits()) return false;
    was_full_ = !ring.has_room();
    if (was_full_) return false;
    Block block{};
    block.begin = next_;
    block.end = std::min(due_end_, next_ + batch_);
    block.stamp_ns = stamp_ns;
    if (stream_.arrivals != nullptr) [[unlikely]]
      write_arrivals(block.begin, block.end);
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

  // Returns the events that no longer wait for the owner: published events, events that found the ring full, and events
  // that became due after these before the ring drained. All other due events wait for the owner. Only the owner calls
  // it, after a call of `publish`.
  DueEvents count_handed_over() noexcept {
    if (was_full_) due_end_at_full_ring_ = due_end_;
    const std::int64_t before = handed_over_end_;
    handed_over_end_ = next_ < due_end_at_full_ring_ ? due_end_ : std::max(handed_over_end_, next_);
    if (handed_over_end_ == before) return {0, 0};
    return {handed_over_end_ - before, due((whole_blocks_ ? unit_end(before) : before + 1) - 1)};
  }

  // Returns the time of the next event or heartbeat to notice, in ns after the start, or `kEndOfTime`.
  std::int64_t next_due() const noexcept {
    std::int64_t result = kEndOfTime;
    if (stream_.received != nullptr) [[unlikely]]
      return elapsed_ns_;  // may arrive at any time
    if (due_end_ < stream_.size()) result = due((whole_blocks_ ? unit_end(due_end_) : due_end_ + 1) - 1);
    if (heartbeat_ < stream_.heartbeats.size()) result = std::min(result, stream_.heartbeat_due[heartbeat_]);
    return result;
  }

  // Returns whether due events or a new promise wait for publication.
  bool waits() const noexcept {
    return next_ < due_end_ || (!exhausted_ && (ends_at(next_) || promise(next_) > bound_ts_));
  }

  // Restarts at event `first`, independently of earlier publications, with an empty ring and new readers. The schedule
  // keeps its state. Call it only while no other thread uses the source.
  void restart(std::int64_t first) noexcept {
    ring.reset();
    next_ = first;
    exhausted_ = was_full_ = false;
    bound_ts_ = std::numeric_limits<std::int64_t>::min();  // earlier promises concerned events after `first`
    // Without a schedule, `pump` skips heartbeats that promise nothing new. A stream without events may have a schedule
    // of heartbeats only.
    if (stream_.due.empty() && stream_.heartbeat_due.empty()) heartbeat_ = 0;
  }

  std::int64_t published() const noexcept { return next_; }  // number of events
  bool exhausted() const noexcept { return exhausted_; }
  const StreamView& stream() const noexcept { return stream_; }

  BlockRing ring;

 private:
  std::int64_t due(std::int64_t i) const noexcept { return stream_.due[static_cast<std::size_t>(i)]; }
  [[gnu::noinline]] DueEvents notice_received(std::int64_t elapsed_ns) noexcept {
    const std::int64_t before = due_end_;
    elapsed_ns_ = elapsed_ns;
    // acquire: the rows before a heartbeat have arrived; pairs with `Run::receive`. Read before `rows`.
    const auto heartbeats = static_cast<std::size_t>(stream_.received->heartbeats.load(std::memory_order_acquire));
    for (; heartbeat_ < heartbeats; ++heartbeat_) {
      promised_ts_ = std::min(stream_.heartbeats[heartbeat_] + 1, kEndOfTime - 1);
    }
    due_end_ = stream_.received->rows.load(std::memory_order_acquire);  // the columns; pairs with `Run::receive`
    return {due_end_ - before, due_end_ == before ? 0 : due(before)};
  }
  // Sets the arrival times of events [begin, end). Not inlined, so that `publish` keeps its registers.
  [[gnu::noinline]] void write_arrivals(std::int64_t begin, std::int64_t end) const noexcept {
    std::fill(stream_.arrivals + begin, stream_.arrivals + end, elapsed_ns_ / stream_.tick_ns);
  }
  // Returns the promise of the latest heartbeat for the events from `next` on. It never exceeds the time of a waiting
  // event.
  std::int64_t promise(std::int64_t next) const noexcept {
    if (next == stream_.size() || (stream_.received != nullptr && next == due_end_)) return promised_ts_;
    return std::min(promised_ts_, stream_.ts[static_cast<std::size_t>(next)]);
  }
  // On a schedule, returns whether the stream ends once the events before `next` are published.
  bool ends_at(std::int64_t next) const noexcept {
    return next == stream_.size() && heartbeat_ == stream_.heartbeats.size();
  }
  // Returns the end of the block of `batch_` events that begins at `begin`.
  std::int64_t unit_end(std::int64_t begin) const noexcept { return std::min(begin + batch_, stream_.size()); }

  // Set once; read by the owner and by every reader.
  const StreamView& stream_;
  const std::int64_t batch_;
  const bool whole_blocks_;
  const bool stamped_;

  // Written and read only by the owner, at every block, so not on the cache line above.
  alignas(kCacheLine) std::int64_t next_ = 0;  // first event not yet published
  FastClock clock_;
  std::int64_t due_end_ = 0;          // first event not known to be due, on a schedule
  std::int64_t handed_over_end_ = 0;  // first event that `count_handed_over` has not returned; >= next_ after a call
  std::int64_t due_end_at_full_ring_ = 0;  // value of `due_end_` when `publish` last found the ring full
  std::size_t heartbeat_ = 0;              // first heartbeat not yet promised
  std::int64_t promised_ts_ = std::numeric_limits<std::int64_t>::min();  // promise of the latest heartbeat that was due
  std::int64_t bound_ts_ = std::numeric_limits<std::int64_t>::min();     // promise of the latest block
  std::int64_t elapsed_ns_ = 0;                                          // time of the latest `notice`
  bool was_full_ = false;  // whether the latest `publish` found the ring full
  bool exhausted_ = false;
};

}  // namespace lab
