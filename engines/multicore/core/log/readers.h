// LogReaders: tracks the position of each reader of an ordered log, and the rows that all readers have released.
//
// Validity: only a reader's own thread writes its position and its rows; they never decrease. Entries and rows below
// the lowest of all active readers may be overwritten. Readers join and leave under the merge flag. A thread that
// computes a lowest value without the flag loads `membership_` before and after its scan. Otherwise a reader could be
// copied into a slot that the scan has passed, and the scan could then see the copied reader (the origin) further
// ahead.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "log/tuple_buffer.h"
#include "run/cacheline.h"

namespace lab {

class LogReaders {
 public:
  // `readers`: maximum number of active readers. Throws std::invalid_argument.
  explicit LogReaders(int readers) : slots_(checked(readers)) {}

  // Adds a reader at position 0. Call before the run.
  int add() {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (active(static_cast<int>(i))) continue;
      activate(i);
      return static_cast<int>(i);
    }
    throw std::length_error("a log has at most " + std::to_string(size()) + " readers");
  }

  // Activates `reader` at the position of reader `like`. Only the thread of `like` calls it, under the merge flag.
  void add_at(int reader, int like) {
    if (reader < 0 || reader >= size() || active(reader)) {
      throw std::invalid_argument("reader " + std::to_string(reader) + " is not an inactive slot below " +
                                  std::to_string(size()));
    }
    if (like < 0 || like >= size() || !active(like)) {
      throw std::invalid_argument("reader " + std::to_string(like) +
                                  " is not active, so no reader can start at its position");
    }
    Slot& target = slot(reader);
    const Slot& origin = slot(like);
    // relaxed: `origin` belongs to the caller's thread; other threads see `target` after `activate`.
    for (std::size_t s = 0; s < kSources; ++s) {
      target.released[s].store(origin.released[s].load(std::memory_order_relaxed), std::memory_order_relaxed);
    }
    target.places.store(origin.places.load(std::memory_order_relaxed), std::memory_order_relaxed);
    target.next.store(origin.next.load(std::memory_order_relaxed), std::memory_order_relaxed);
    activate(static_cast<std::size_t>(reader));
  }

  // Removes a reader. Call under the merge flag.
  void remove(int reader) noexcept {
    slot(reader).active.store(false, std::memory_order_seq_cst);  // pairs with the load in `lowest`
    membership_.fetch_add(1, std::memory_order_seq_cst);
  }

  int size() const noexcept { return static_cast<int>(slots_.size()); }

  bool active(int reader) const noexcept { return slot(reader).active.load(std::memory_order_seq_cst); }

  // Returns the reader's position, for its own thread.
  std::uint64_t position(int reader) const noexcept {
    return slot(reader).next.load(std::memory_order_relaxed);  // relaxed: own store, or transferred with the slot
  }

  // Returns the number of rows of a source that the reader has released. Only the reader's thread calls it.
  std::int64_t rows(int reader, int source) const noexcept {
    return slot(reader).released[static_cast<std::size_t>(source)].load(
        std::memory_order_relaxed);  // relaxed: own store
  }

  // Returns the first place of the order (LogOrder) that the reader has not released; relaxed as in `position`.
  std::int64_t places_of(int reader) const noexcept { return slot(reader).places.load(std::memory_order_relaxed); }

  // Returns the reader's position, for other threads.
  std::uint64_t passed(int reader) const noexcept {
    return slot(reader).next.load(std::memory_order_acquire);  // pairs with the store in `release`
  }

  // Releases `runs` and moves the reader to `next`. Only the reader's thread calls it.
  void release(int reader, std::span<const LogRun> runs, std::uint64_t next, const LogOrder& order) noexcept {
    Slot& own_slot = slot(reader);
    for (const LogRun& run : runs) {
      if (run.source == kInterleavedEntry) release_interleaved(own_slot, run, order);
      if (run.source < 0) continue;
      // release: the reader has read the rows; pairs with the acquire in `released`.
      own_slot.released[static_cast<std::size_t>(run.source)].store(run.end, std::memory_order_release);
    }
    // seq_cst: a source checks this before it sleeps (run/parker.h); it also releases the entries.
    own_slot.next.store(next, std::memory_order_seq_cst);
  }

  // Like `release`, but rows count as released only with the acknowledged entry after them
  // (LogOptions::acknowledged_rows).
  void acknowledge(int reader, std::span<const LogRun> runs, std::uint64_t next) noexcept {
    Slot& own_slot = slot(reader);
    for (const LogRun& run : runs) {
      if (run.source != kAcknowledgedEntry) continue;
      // A source that joined again below its earlier frontier may have an entry there, which counts fewer rows.
      std::atomic<std::int64_t>& released = own_slot.released[static_cast<std::size_t>(run.kind)];
      // relaxed: own store; release as in `release`
      released.store(std::max(released.load(std::memory_order_relaxed), run.begin), std::memory_order_release);
    }
    own_slot.next.store(next, std::memory_order_seq_cst);  // as in `release`
  }

  // Returns the number of places of the order that all readers have released, at most `limit`.
  std::int64_t places(std::int64_t limit) const noexcept {
    return lowest(limit, [](const Slot& s) {
      // seq_cst: see `release`, as in `released`.
      static_cast<void>(s.next.load(std::memory_order_seq_cst));
      return s.places.load(std::memory_order_acquire);  // pairs with `release`
    });
  }

  // Returns the lowest position of the active readers, at most `limit`; returns `limit` if no reader is active.
  std::uint64_t slowest(std::uint64_t limit) const noexcept {
    // seq_cst: see `release`. It also acquires: the reader has released the entries.
    return lowest(limit, [](const Slot& s) { return s.next.load(std::memory_order_seq_cst); });
  }

  // Returns the number of rows of `source` that all readers have released, at most `limit`.
  std::int64_t released(int source, std::int64_t limit) const noexcept {
    return lowest(limit, [source](const Slot& s) {
      // seq_cst: see `release`. If this load misses the store, the reader's thread will see the sleeper.
      static_cast<void>(s.next.load(std::memory_order_seq_cst));
      return s.released[static_cast<std::size_t>(source)].load(std::memory_order_acquire);
    });
  }

  // Restarts the rows of `source` at 0. Call under the merge flag, after all readers have released all of its rows.
  void reset(int source) noexcept {
    for (Slot& s : slots_) {
      // relaxed: transferred with the flag and the slot of the source; no reader writes it meanwhile.
      s.released[static_cast<std::size_t>(source)].store(0, std::memory_order_relaxed);
    }
  }

 private:
  static constexpr std::size_t kSources = static_cast<std::size_t>(kMaxLogSources);

  struct alignas(kCacheLine) Slot {
    std::atomic<std::uint64_t> next{0};   // first entry not released
    std::atomic<std::int64_t> places{0};  // first place of the order not released
    std::atomic<bool> active{false};      // written under the flag; inactive slots do not count
    alignas(kCacheLine) std::array<std::atomic<std::int64_t>, kSources> released{};  // first row not released
  };

  // Counts, and so releases, the rows of an interleaved entry source by source.
  static void release_interleaved(Slot& own_slot, const LogRun& run, const LogOrder& order) noexcept {
    const std::uint8_t* const sources = order.of(run.begin);
    const std::int64_t count = run.end - run.begin;
    std::int64_t left = count;
    for (std::uint8_t s = 0; left != 0; ++s) {  // sources have low numbers; one pass per source is a vector loop
      std::uint16_t rows = 0;                   // 16 bits suffice; a narrow type makes a faster loop
      for (std::int64_t i = 0; i < count; ++i) rows = static_cast<std::uint16_t>(rows + (sources[i] == s));
      if (rows == 0) continue;
      left -= rows;
      std::atomic<std::int64_t>& released = own_slot.released[s];
      // relaxed: own store; release as in `release`
      released.store(released.load(std::memory_order_relaxed) + rows, std::memory_order_release);
    }
    own_slot.places.store(run.end, std::memory_order_release);  // the reader has read the places; pairs with `places`
  }

  static std::size_t checked(int readers) {
    if (readers < 1 || readers > kMaxLogReaders) {
      throw std::invalid_argument("readers is " + std::to_string(readers) + "; expected 1 to " +
                                  std::to_string(kMaxLogReaders));
    }
    return static_cast<std::size_t>(readers);
  }

  Slot& slot(int reader) noexcept { return slots_[static_cast<std::size_t>(reader)]; }
  const Slot& slot(int reader) const noexcept { return slots_[static_cast<std::size_t>(reader)]; }

  void activate(std::size_t reader) noexcept {
    slots_[reader].active.store(true, std::memory_order_seq_cst);  // publishes the slot; pairs with `lowest`
    const std::size_t high = std::max(high_.load(std::memory_order_relaxed), reader + 1);  // relaxed: under the flag
    high_.store(high, std::memory_order_seq_cst);
    membership_.fetch_add(1, std::memory_order_seq_cst);
  }

  // Returns the lowest get(slot) of the active readers, at most `limit`.
  template <typename Value, typename Get>
  Value lowest(Value limit, Get get) const noexcept {
    for (;;) {
      const std::uint64_t before = membership_.load(std::memory_order_seq_cst);
      const std::size_t high = high_.load(std::memory_order_seq_cst);
      Value result = limit;
      for (std::size_t i = 0; i < high; ++i) {
        if (!slots_[i].active.load(std::memory_order_seq_cst)) continue;
        result = std::min(result, get(slots_[i]));
      }
      // If a reader was copied meanwhile, its origin advanced only after `membership_` changed.
      if (membership_.load(std::memory_order_seq_cst) == before) return result;
    }
  }

  std::vector<Slot> slots_;
  // Changes with every reader that joins or leaves. Written under the flag, read by all.
  alignas(kCacheLine) std::atomic<std::uint64_t> membership_{0};
  std::atomic<std::size_t> high_{0};  // only slots below this have ever been active
};

}  // namespace lab
