// The reordering buffer of one operator that numbers its own inputs: bounded, so that an output may be refused.
// Source: Scaling Ordered Stream Processing on Shared-Memory Multicores, section 3, figures 2 (with a lock) and 4.
//
// An exit may have no room for what is next: it then keeps its place, and is offered to whoever looks for work.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "ordered/unit.h"
#include "run/cacheline.h"

namespace lab {

struct OrderedWorker;

// What is behind a bounded reordering buffer. Called by one thread at a time, in the order of serial numbers.
class BoundedExit {
 public:
  virtual ~BoundedExit() = default;
  // Sends a unit downstream. Returns whether it is sent whole; if not there was no room, and it is to be called again
  // for the same unit.
  virtual bool send(Unit& unit, OrderedWorker& worker) = 0;
  // Whether there may be room, by a sequentially consistent look at what makes it. Any thread.
  virtual bool has_room() const = 0;
};

// Law of the offer: who finds no room makes an offer and looks for room once more; who makes room looks for an offer
// behind it; all four sequentially consistent. Either the one sees the room or the other sees the offer.
class BoundedReordering {
 public:
  // `slots`: serial numbers from the next one on that are accepted, rounded up to a power of two.
  BoundedReordering(std::int64_t slots, BoundedExit& exit) : mask_(slots_for(slots) - 1), exit_(exit) {}
  virtual ~BoundedReordering() = default;

  // Adds a finished unit unless its serial number is too far ahead, then sends what is next unless another thread does.
  // Returns whether it was added; if not, it is to be tried again. Any thread.
  virtual bool send(Unit& unit, OrderedWorker& worker) = 0;

  // Goes on where the exit had no room. Returns whether something was sent. Any thread.
  bool resume(OrderedWorker& worker);

  // Whether a unit of this serial number would be accepted: it stays so. Any thread.
  bool takes(std::int64_t serial) const noexcept {
    // acquire: the slot is EMPTY then, whose last unit was sent before `next_` came so far; pairs with `advance`.
    return serial - next_.load(std::memory_order_acquire) <= static_cast<std::int64_t>(mask_);
  }

  // All units before this serial number are sent, and their memory may be used again. seq_cst: whoever has no room, or
  // looks for the end, looks here behind a store of its own; pairs with the store in `advance`. Also acquire.
  const std::atomic<std::int64_t>& next() const noexcept { return next_; }

 protected:
  std::size_t slot_of(std::int64_t serial) const noexcept { return static_cast<std::uint64_t>(serial) & mask_; }
  // The next one's turn; by who may send.
  void advance() noexcept {
    next_.store(next_.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);  // relaxed: one writer at a time
  }
  virtual std::int64_t send_pending(OrderedWorker& worker) = 0;
  // The exit had no room. Returns whether there is some by now, and nobody else goes on.
  bool offer();

  const std::uint64_t mask_;
  BoundedExit& exit_;
  // Written by who may send, read by all; never decreases.
  alignas(kCacheLine) std::atomic<std::int64_t> next_{0};
  alignas(kCacheLine) std::atomic<bool> offered_{false};  // true: the exit had no room
};

// Figure 4. Law of the flag: as of NonBlockingReordering (ordered/reorder.h).
class BoundedNonBlocking final : public BoundedReordering {
 public:
  BoundedNonBlocking(std::int64_t slots, BoundedExit& exit) : BoundedReordering(slots, exit), slots_(mask_ + 1) {}

  bool send(Unit& unit, OrderedWorker& worker) override;

 private:
  std::int64_t send_pending(OrderedWorker& worker) override;

  // Slot of serial number t is t mod size; null: EMPTY. Written by who adds and emptied by who holds the flag.
  std::vector<std::atomic<Unit*>> slots_;
  alignas(kCacheLine) std::atomic<bool> taken_{false};  // true: some thread sends
};

// Figure 2: the same under one lock.
class BoundedLocked final : public BoundedReordering {
 public:
  BoundedLocked(std::int64_t slots, BoundedExit& exit) : BoundedReordering(slots, exit), slots_(mask_ + 1, nullptr) {}

  bool send(Unit& unit, OrderedWorker& worker) override;

 private:
  std::int64_t send_pending(OrderedWorker& worker) override;
  std::int64_t send_next(OrderedWorker& worker);

  std::mutex mutex_;  // guards the slots, and who may send
  std::vector<Unit*> slots_;
};

// Makes the one called `name` (kReorderings of ordered/reorder.h). Throws std::invalid_argument for another name.
std::unique_ptr<BoundedReordering> make_bounded(std::string_view name, std::int64_t slots, BoundedExit& exit);

}  // namespace lab
