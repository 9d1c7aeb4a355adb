// Implements the buffers that ordered/reorder.h explains.
#include "ordered/reorder.h"

#include "ordered/worker.h"

namespace lab {

NonBlockingReordering::NonBlockingReordering(std::int64_t window, OrderedExit& exit, std::int64_t max_sends)
    : mask_(slots_for(window) - 1), exit_(exit), max_sends_(max_sends), slots_(slots_for(window)) {
  batch_.reserve(static_cast<std::size_t>(max_sends));
}

void NonBlockingReordering::add(Units units, OrderedWorker& worker) {
  worker.counts.adds += static_cast<std::int64_t>(units.size());
  for (Unit* unit : units) {
    // release: publishes the unit's records to the sender; pairs with the loads in `take_turn`.
    slots_[static_cast<std::uint64_t>(unit->serial) & mask_].store(unit, std::memory_order_release);
  }
  take_turn(worker);
}

bool NonBlockingReordering::resume(OrderedWorker& worker) {
  // seq_cst: a thread that sleeps after this look has announced its sleep before (run/parker.h); pairs with the store
  // in `take_turn`.
  if (!offered_.load(std::memory_order_seq_cst)) return false;
  // acquire: the flag was cleared before the offer, so the thread that takes the offer finds the flag cleared; pairs
  // with the store in `take_turn`.
  if (!offered_.exchange(false, std::memory_order_acquire)) return false;
  take_turn(worker);
  return true;
}

void NonBlockingReordering::take_turn(OrderedWorker& worker) {
  std::int64_t sent = 0;  // number of units sent in this turn, even if other threads add more
  for (;;) {
    // release: publishes the slots stored in `add` to the thread that clears the flag. acquire: the last holder's
    // writes to `next_` and behind the exit. Both pair with the exchange below.
    if (taken_.exchange(true, std::memory_order_acq_rel)) {
      ++worker.counts.found_taken;
      return;
    }
    batch_.clear();
    std::atomic<Unit*>* slot = &slots_[static_cast<std::uint64_t>(next_) & mask_];
    while (sent + static_cast<std::int64_t>(batch_.size()) < max_sends_) {
      Unit* unit = slot->load(std::memory_order_acquire);  // acquire: the unit's records; pairs with the store in `add`
      if (unit == nullptr) break;
      // Store EMPTY before the unit is sent: once it is out, the unit one window later may be admitted and use this
      // slot. Relaxed: the way through the exit and the entry orders this store before that unit's store.
      slot->store(nullptr, std::memory_order_relaxed);
      batch_.push_back(unit);
      slot = &slots_[static_cast<std::uint64_t>(++next_) & mask_];
    }
    const auto count = static_cast<std::int64_t>(batch_.size());
    if (count != 0) exit_.send(batch_, worker);
    sent += count;
    worker.counts.sends += count;
    // acquire: the slots of all threads that found the flag taken, before the load of the next slot. An exchange
    // instead of a store: it reads their values. release: `next_`. Both pair with the exchange above.
    taken_.exchange(false, std::memory_order_acq_rel);
    if (slot->load(std::memory_order_relaxed) == nullptr) return;  // relaxed: only a test, after the exchange
    if (sent == max_sends_) {
      ++worker.counts.handed_over;
      // seq_cst: before `offer` looks for sleepers; pairs with the load in `resume`.
      offered_.store(true, std::memory_order_seq_cst);
      exit_.offer(worker);
      return;
    }
  }
}

LockedReordering::LockedReordering(std::int64_t window, OrderedExit& exit)
    : mask_(slots_for(window) - 1), exit_(exit), slots_(slots_for(window), nullptr) {}

void LockedReordering::add(Units units, OrderedWorker& worker) {
  worker.counts.adds += static_cast<std::int64_t>(units.size());
  const std::lock_guard lock(mutex_);
  for (Unit* unit : units) slots_[static_cast<std::uint64_t>(unit->serial) & mask_] = unit;
  for (;;) {
    batch_.clear();
    while (batch_.size() < kMaxTogether) {
      Unit*& slot = slots_[static_cast<std::uint64_t>(next_) & mask_];
      if (slot == nullptr) break;
      batch_.push_back(slot);
      slot = nullptr;
      ++next_;
    }
    if (batch_.empty()) return;
    worker.counts.sends += static_cast<std::int64_t>(batch_.size());
    exit_.send(batch_, worker);
  }
}

std::unique_ptr<Reordering> make_reordering(std::string_view name, std::int64_t window, OrderedExit& exit) {
  if (index_of("reordering", kReorderings, name) == 0) return std::make_unique<NonBlockingReordering>(window, exit);
  return std::make_unique<LockedReordering>(window, exit);
}

}  // namespace lab
