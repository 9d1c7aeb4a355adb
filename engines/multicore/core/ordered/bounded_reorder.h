// BoundedReordering: the buffer after one operator, which sends finished units (ordered/unit.h) on in the order of
// their serial numbers. Unlike the buffers of ordered/reorder.h, it may have no slot for a unit. OperatorSerials
// (ordered/operator_serials.h) uses it.
// Source: Scaling Ordered Stream Processing on Shared-Memory Multicores, section 3, figures 2 (with a lock) and 4.
//
// The *exit* is the receiver behind the buffer. If it has no room for the next unit, the unit stays in the buffer, and
// any worker that looks for work may resume sending.
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

// The receiver of a bounded reordering buffer's units. One thread at a time calls `send`, in the order of serial
// numbers.
class BoundedExit {
 public:
  virtual ~BoundedExit() = default;
  // Sends a unit downstream. Returns false if there was no room for the whole unit; the caller must then call again for
  // the same unit.
  virtual bool send(Unit& unit, OrderedWorker& worker) = 0;
  // Returns whether there may be room. It must load the state that decides with sequential consistency. Any thread may
  // call it.
  virtual bool has_room() const = 0;
};

// Law of the offer: a sender that finds no room stores an offer, then looks for room once more. Another thread makes
// room, then looks for an offer. All four steps are sequentially consistent, so the sender sees the room or the other
// thread sees the offer.
class BoundedReordering {
 public:
  // `slots`: number of serial numbers that are accepted, from the next one to send on; rounded up to a power of two.
  BoundedReordering(std::int64_t slots, BoundedExit& exit) : mask_(slots_for(slots) - 1), exit_(exit) {}
  virtual ~BoundedReordering() = default;

  // Adds a finished unit unless its serial number is too far ahead, then sends the next units unless another thread is
  // sending. Returns whether the unit was added; if not, the caller must try again. Any thread may call it.
  virtual bool send(Unit& unit, OrderedWorker& worker) = 0;

  // Resumes after the exit had no room. Returns whether it sent a unit. Any thread may call it.
  bool resume(OrderedWorker& worker);

  // Returns whether a unit of this serial number would be accepted; once true, the result stays true. Any thread may
  // call it.
  bool takes(std::int64_t serial) const noexcept {
    // acquire: the slot is then EMPTY, because its last unit was sent before `next_` came so far; pairs with `advance`.
    return serial - next_.load(std::memory_order_acquire) <= static_cast<std::int64_t>(mask_);
  }

  // Returns the serial number before which all units are sent and their memory is free for reuse. seq_cst: a thread
  // without room, or a thread that checks for the end, loads the number after its own store; pairs with the store in
  // `advance`. The load is also an acquire.
  const std::atomic<std::int64_t>& next() const noexcept { return next_; }

 protected:
  std::size_t slot_of(std::int64_t serial) const noexcept { return static_cast<std::uint64_t>(serial) & mask_; }
  // Advances to the next serial number; only the sending thread calls it.
  void advance() noexcept {
    next_.store(next_.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);  // relaxed: one writer at a time
  }
  // Sends the next units unless another thread is sending. Returns their number.
  virtual std::int64_t send_pending(OrderedWorker& worker) = 0;
  // Records that the exit had no room. Returns whether the caller must continue, because there is room by now and no
  // other thread took the offer.
  bool offer();

  const std::uint64_t mask_;
  BoundedExit& exit_;
  // Written by the sending thread, read by all; never decreases.
  alignas(kCacheLine) std::atomic<std::int64_t> next_{0};
  alignas(kCacheLine) std::atomic<bool> offered_{false};  // whether the exit had no room
};

// Figure 4. Law of the flag: as in NonBlockingReordering (ordered/reorder.h).
class BoundedNonBlocking final : public BoundedReordering {
 public:
  BoundedNonBlocking(std::int64_t slots, BoundedExit& exit) : BoundedReordering(slots, exit), slots_(mask_ + 1) {}

  bool send(Unit& unit, OrderedWorker& worker) override;

 private:
  std::int64_t send_pending(OrderedWorker& worker) override;

  // The slot of serial number t is t mod size; null is the paper's EMPTY. Written by adding threads, emptied by the
  // holder of the flag.
  std::vector<std::atomic<Unit*>> slots_;
  alignas(kCacheLine) std::atomic<bool> taken_{false};  // whether some thread sends
};

// Figure 2: the same algorithm under one lock.
class BoundedLocked final : public BoundedReordering {
 public:
  BoundedLocked(std::int64_t slots, BoundedExit& exit) : BoundedReordering(slots, exit), slots_(mask_ + 1, nullptr) {}

  bool send(Unit& unit, OrderedWorker& worker) override;

 private:
  std::int64_t send_pending(OrderedWorker& worker) override;
  std::int64_t send_next(OrderedWorker& worker);

  std::mutex mutex_;  // guards the slots and the right to send
  std::vector<Unit*> slots_;
};

// Makes the buffer named `name` (kReorderings of ordered/reorder.h). Throws std::invalid_argument for an unknown name.
std::unique_ptr<BoundedReordering> make_bounded(std::string_view name, std::int64_t slots, BoundedExit& exit);

}  // namespace lab
