// Phases: stops all workers of an adaptive DGS run, so that the plan can change. Each phase has one plan.
//
// At the end of a phase every mailbox has stopped at one cut of the total order (dgs/checkpoints.h). The states are
// then those of the sequential program at that cut. The *changer*, a thread besides the workers, makes all workers
// hold. Then it replaces the plan and releases them.
//
// Law. The changer increments the epoch. In even epochs workers work; in odd epochs they hold. A worker holds between
// two turns, by storing the odd epoch. Once all workers hold, the changer owns the data of the plan until the next
// epoch. A stored epoch counts only while it is the current epoch, so a worker that slept through a phase must store
// again. Each of these steps is a sequentially consistent store, followed by a notify. Threads load these values
// between Parker::prepare and commit, so no thread misses a step and sleeps forever (run/parker.h).
//
// A worker without a mailbox may have one in the next phase, so it ends only in the last phase. When a worker has
// finished all of its mailboxes, the phase is the last, since these mailboxes have passed all cuts and cannot stop
// again.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "run/cacheline.h"
#include "run/parker.h"

namespace lab {

class Phases {
 public:
  // `parkers`: the parkers of the workers, by index.
  explicit Phases(std::span<Parker> parkers) : parkers_(parkers), workers_(parkers.size()) {}

  // Returns whether the worker may read the plan; if not, the worker now holds. Workers must call it before they read
  // the plan.
  bool open(std::int32_t worker) noexcept {
    // acquires the new plan; pairs with the store in `next_epoch`
    const std::uint32_t epoch = epoch_.load(std::memory_order_seq_cst);
    if (epoch % 2 == 0) return true;
    std::atomic<std::uint32_t>& held = workers_[static_cast<std::size_t>(worker)].held;
    if (held.load(std::memory_order_relaxed) != epoch) {  // relaxed: own store
      held.store(epoch, std::memory_order_seq_cst);       // releases the old plan; pairs with the load in `all_hold`
      changer_.notify();
    }
    return false;
  }

  // Declares this phase the last. A worker that has finished its mailboxes must call it.
  void set_last() noexcept {
    if (last()) return;
    last_.store(true, std::memory_order_seq_cst);  // pairs with the load in `last`
    for (Parker& parker : parkers_) parker.notify();
  }
  bool last() const noexcept { return last_.load(std::memory_order_seq_cst); }

  // For the changer: --------------------------------------------------------------------------------------------------

  // Waits until all workers hold. Returns false if the run has `failed`.
  bool hold(const std::atomic<bool>& failed) noexcept {
    next_epoch();
    for (;;) {
      const std::uint32_t ticket = changer_.prepare();
      const bool has_failed = failed.load(std::memory_order_seq_cst);  // pairs with the store before `wake`
      if (has_failed || all_hold()) {
        changer_.cancel();
        return !has_failed;
      }
      changer_.commit(ticket);
    }
  }

  // Lets the workers continue with the new plan.
  void release() noexcept {
    next_epoch();
    ++changes_;
  }

  // Returns the number of plan changes. Only for the changer, or after the run.
  std::int64_t changes() const noexcept { return changes_; }

  // Makes `hold` check again. Any thread may call it.
  void wake() noexcept { changer_.notify(); }

 private:
  struct alignas(kCacheLine) Worker {
    std::atomic<std::uint32_t> held{0};  // epoch of the latest hold; written by the worker, read by the changer
  };

  // relaxed: own store of the changer
  std::uint32_t epoch() const noexcept { return epoch_.load(std::memory_order_relaxed); }
  void next_epoch() noexcept {
    epoch_.store(epoch() + 1, std::memory_order_seq_cst);  // releases the plan; pairs with the load in `open`
    for (Parker& parker : parkers_) parker.notify();
  }
  bool all_hold() const noexcept {
    return std::all_of(workers_.begin(), workers_.end(),
                       [this](const Worker& worker) { return worker.held.load(std::memory_order_seq_cst) == epoch(); });
  }

  const std::span<Parker> parkers_;
  std::vector<Worker> workers_;
  Parker changer_;
  std::int64_t changes_ = 0;
  std::atomic<bool> last_{false};
  alignas(kCacheLine) std::atomic<std::uint32_t> epoch_{0};  // written by the changer, read by all
};

}  // namespace lab
