// ItemRing: a worklist queue with one producer at a time, any number of consumers, and room for every item in flight.
//
// Law: item i is in slot i mod size; consumers may take item i iff head_ <= i < tail_. A slot is overwritten only after
// its item has been taken. The pipeline ensures this: when a unit's item is pushed, the unit one window before has left
// the pipeline.
#pragma once
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <vector>

#include "run/cacheline.h"

namespace lab {

template <typename T>
class ItemRing {
 public:
  static_assert(std::atomic<T>::is_always_lock_free);

  // `room` is rounded up to a power of two.
  explicit ItemRing(std::uint64_t room)
      : mask_(std::bit_ceil(std::max<std::uint64_t>(1, room)) - 1), slots_(mask_ + 1) {}

  // Appends an item, which consumers see only after `publish`. Producer only.
  void put(T item) noexcept {
    // relaxed: published by `publish`.
    slots_[put_++ & mask_].store(item, std::memory_order_relaxed);
  }
  void publish() noexcept {
    // release: publishes the slots and the data to which the items refer; pairs with the load in `pop`. seq_cst: the
    // producer looks for sleepers after this store (ordered/idle.h).
    tail_.store(put_, std::memory_order_seq_cst);
  }

  // Takes up to `max_items` items, oldest first, and returns their number. Unless `alone`, takes at most half of the
  // items present, rounded up, to leave work for other consumers. Any consumer may call it.
  std::int64_t pop(T* into, std::int64_t max_items, bool alone = false) noexcept {
    // acquire: the tail load below is then no older than the tail that allowed this head; pairs with the exchange.
    std::uint64_t head = head_.load(std::memory_order_acquire);
    for (;;) {
      const std::uint64_t tail = tail_.load(std::memory_order_acquire);  // acquire: pairs with `publish`
      if (head == tail) return 0;
      const auto present = static_cast<std::int64_t>(tail - head);
      const std::int64_t count = std::min(max_items, alone ? present : (present + 1) / 2);
      for (std::int64_t i = 0; i < count; ++i) {
        // relaxed: published before `tail`; no thread writes the slot before the exchange has succeeded.
        into[i] = slots_[(head + static_cast<std::uint64_t>(i)) & mask_].load(std::memory_order_relaxed);
      }
      // release: the reads above are over when others see the items removed; pairs with the loads of the head.
      if (head_.compare_exchange_weak(head, head + static_cast<std::uint64_t>(count), std::memory_order_acq_rel,
                                      std::memory_order_acquire)) {
        return count;
      }
    }
  }

  bool empty() const noexcept {
    // relaxed: a stale head makes a taken item look present, which costs one useless look.
    const std::uint64_t head = head_.load(std::memory_order_relaxed);
    return tail_.load(std::memory_order_seq_cst) == head;  // seq_cst: the last look before sleep; pairs with `publish`
  }

 private:
  const std::uint64_t mask_;
  std::vector<std::atomic<T>> slots_;
  // Number of items appended; only the producer uses it.
  alignas(kCacheLine) std::uint64_t put_ = 0;
  // Written by the producer, read by consumers; never decreases.
  alignas(kCacheLine) std::atomic<std::uint64_t> tail_{0};
  // Written by consumers; never decreases.
  alignas(kCacheLine) std::atomic<std::uint64_t> head_{0};
};

}  // namespace lab
