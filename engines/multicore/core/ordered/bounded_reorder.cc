// Implements the buffers that ordered/bounded_reorder.h explains.
#include "ordered/bounded_reorder.h"

#include "ordered/reorder.h"
#include "ordered/worker.h"

namespace lab {

bool BoundedReordering::resume(OrderedWorker& worker) {
  // seq_cst: the caller has made room before this load; pairs with the store in `offer`.
  if (!offered_.load(std::memory_order_seq_cst)) return false;
  // acquire: the sender cleared the flag before its offer, so the thread that takes the offer finds the flag cleared;
  // pairs with the same store.
  if (!offered_.exchange(false, std::memory_order_acquire)) return false;
  return send_pending(worker) != 0;
}

bool BoundedReordering::offer() {
  offered_.store(true, std::memory_order_seq_cst);  // pairs with the load in `resume`
  // acquire: as in `resume`.
  return exit_.has_room() && offered_.exchange(false, std::memory_order_acquire);
}

bool BoundedNonBlocking::send(Unit& unit, OrderedWorker& worker) {
  const bool added = takes(unit.serial);
  if (added) {
    ++worker.counts.adds;
    // release: publishes the unit's records to the sender; pairs with the load in `send_pending`.
    slots_[slot_of(unit.serial)].store(&unit, std::memory_order_release);
  } else {
    ++worker.counts.refused;
  }
  send_pending(worker);
  return added;
}

std::int64_t BoundedNonBlocking::send_pending(OrderedWorker& worker) {
  std::int64_t sent = 0;
  for (;;) {
    // release: publishes the slot stored in `send` to the thread that clears the flag. acquire: the last holder's
    // writes behind the exit. Both pair with the exchange below.
    if (taken_.exchange(true, std::memory_order_acq_rel)) {
      ++worker.counts.found_taken;
      return sent;
    }
    std::atomic<Unit*>* slot = nullptr;
    bool full = false;
    for (;;) {
      slot = &slots_[slot_of(next_.load(std::memory_order_relaxed))];  // relaxed: written by holders of the flag
      Unit* unit =
          slot->load(std::memory_order_acquire);  // acquire: the unit's records; pairs with the store in `send`
      if (unit == nullptr) break;
      full = !exit_.send(*unit, worker);
      if (full) break;
      slot->store(nullptr, std::memory_order_relaxed);  // relaxed: EMPTY before `next_` advances, which publishes it
      advance();
      ++sent;
      ++worker.counts.sends;
    }
    // An exchange instead of a store, because it reads the values of threads that found the flag taken; pairs with the
    // exchange above.
    taken_.exchange(false, std::memory_order_acq_rel);
    // relaxed: only a test for null, after the exchange. An offer must also follow the clearing of the flag.
    if (full ? !offer() : slot->load(std::memory_order_relaxed) == nullptr) return sent;
  }
}

bool BoundedLocked::send(Unit& unit, OrderedWorker& worker) {
  const std::lock_guard lock(mutex_);
  const bool added = takes(unit.serial);
  if (added) {
    ++worker.counts.adds;
    slots_[slot_of(unit.serial)] = &unit;
  } else {
    ++worker.counts.refused;
  }
  send_next(worker);
  return added;
}

std::int64_t BoundedLocked::send_pending(OrderedWorker& worker) {
  const std::lock_guard lock(mutex_);
  return send_next(worker);
}

// Sends the next units and returns their number. The caller holds the lock.
std::int64_t BoundedLocked::send_next(OrderedWorker& worker) {
  std::int64_t sent = 0;
  for (;;) {
    Unit*& slot = slots_[slot_of(next_.load(std::memory_order_relaxed))];  // relaxed: written under the lock
    if (slot == nullptr) return sent;
    if (!exit_.send(*slot, worker)) {
      if (offer()) continue;  // else the thread that takes the offer waits for the lock
      return sent;
    }
    slot = nullptr;
    advance();
    ++sent;
    ++worker.counts.sends;
  }
}

std::unique_ptr<BoundedReordering> make_bounded(std::string_view name, std::int64_t slots, BoundedExit& exit) {
  if (index_of("reordering", kReorderings, name) == 0) return std::make_unique<BoundedNonBlocking>(slots, exit);
  return std::make_unique<BoundedLocked>(slots, exit);
}

}  // namespace lab
