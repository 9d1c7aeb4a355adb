// BlockRing: a bounded ring of blocks with one producer and a fixed number of readers, each of which sees every block.
// A source publishes through it.
//
// Layout: only the producer writes `slots_`. `published_` counts all blocks published so far. `Cursor::next` counts the
// blocks that a reader has released. The slot of block i is i mod capacity.
// Validity: a reader may read block i iff i < published_. The producer may overwrite the slot of block i iff every
// reader's next > i. Hence published_ - min(next) <= capacity. This bound is the back-pressure.
#pragma once
#include <atomic>
#include <cassert>
#include <cstdint>
#include <memory>
#include <vector>

#include "run/cacheline.h"
#include "run/event_key.h"

namespace lab {

// Consecutive events of one stream, published together.
struct Block {
  std::int64_t begin;     // first event
  std::int64_t end;       // one past the last event; begin == end is a heartbeat
  std::int64_t bound_ts;  // every later event of the stream has ts >= bound_ts; kEndOfTime if no event follows
  std::int64_t stamp_ns;  // time of publication, or shortly before
};
static_assert(sizeof(Block) == 32);

class BlockRing {
 public:
  // Capacity is rounded up to a power of two.
  explicit BlockRing(std::uint64_t capacity) {
    std::uint64_t size = 1;
    while (size < capacity) size *= 2;
    slots_.resize(size);
    mask_ = size - 1;
  }

  // Adds a reader and returns its index. Call it only before the first block is published, or before the first one
  // after `reset`.
  std::size_t add_reader() {
    assert(published_.load(std::memory_order_relaxed) == 0);  // relaxed: set-up is single-threaded
    cursors_.push_back(std::make_unique<Cursor>());
    return cursors_.size() - 1;
  }

  // Empties the ring and removes its readers. Call it only while no other thread uses the ring.
  void reset() noexcept {
    cursors_.clear();
    slowest_ = 0;
    // relaxed: ordered by the thread that lets the other threads resume
    published_.store(0, std::memory_order_relaxed);
  }

  std::size_t readers() const noexcept { return cursors_.size(); }
  std::uint64_t capacity() const noexcept { return mask_ + 1; }

  // Returns the number of blocks published so far. Only the producer calls it.
  std::uint64_t published_by_me() const noexcept {
    return published_.load(std::memory_order_relaxed);  // relaxed: the producer reads its own store
  }

  // Returns whether `publish` may be called. Only the producer calls it.
  bool has_room() noexcept {
    const std::uint64_t head = published_.load(std::memory_order_relaxed);  // relaxed: own store
    if (head - slowest_ <= mask_) return true;
    std::uint64_t slowest = head;
    for (const auto& cursor : cursors_) {
      // seq_cst: a producer that is about to sleep at a full ring must see every advance whose notify did not see it
      // asleep (run/parker.h). Also acquire: the reader has released the slot. Pairs with the store in `advance`.
      const std::uint64_t next = cursor->next.load(std::memory_order_seq_cst);
      if (next < slowest) slowest = next;
    }
    slowest_ = slowest;
    return head - slowest_ <= mask_;
  }

  // Publishes a block; `has_room` must have returned true. Only the producer calls it. `relaxed`: whether a flag guards
  // both ends of the ring and orders all accesses.
  void publish(const Block& block, bool relaxed = false) noexcept {
    const std::uint64_t head = published_.load(std::memory_order_relaxed);  // relaxed: own store
    assert(head - slowest_ <= mask_);
    slots_[head & mask_] = block;
    // release: publishes the slot; pairs with the load in `published`. seq_cst for a sleeping reader.
    if (relaxed) {
      published_.store(head + 1, std::memory_order_relaxed);
    } else {
      published_.store(head + 1, std::memory_order_seq_cst);
    }
  }

  // Returns the number of blocks published so far. Any reader may call it.
  std::uint64_t published() const noexcept {
    return published_.load(std::memory_order_seq_cst);  // pairs with the store in `publish`
  }

  // Returns block `index`, which must be below a value that `published` returned to this reader, and not released.
  const Block& at(std::uint64_t index) const noexcept { return slots_[index & mask_]; }

  // Releases all blocks below `next`. Only the reader's thread calls it. `relaxed`: see `publish`.
  void advance(std::size_t reader, std::uint64_t next, bool relaxed = false) noexcept {
    // release: orders the slot reads before it; pairs with the load in `has_room`. seq_cst for a sleeping producer.
    if (relaxed) {
      cursors_[reader]->next.store(next, std::memory_order_relaxed);
    } else {
      cursors_[reader]->next.store(next, std::memory_order_seq_cst);
    }
  }

 private:
  struct alignas(kCacheLine) Cursor {
    std::atomic<std::uint64_t> next{0};  // written by one reader, read by the producer; never decreases
  };

  std::vector<Block> slots_;
  std::uint64_t mask_ = 0;
  std::vector<std::unique_ptr<Cursor>> cursors_;
  // A lower bound of min(next), on the producer's cache line. The producer updates it only if the ring looks full.
  alignas(kCacheLine) std::uint64_t slowest_ = 0;
  // Written by the producer, read by all readers; never decreases, except in `reset`.
  alignas(kCacheLine) std::atomic<std::uint64_t> published_{0};
};

}  // namespace lab
