// The phases of a run whose plan changes: in each it has one plan, and between two nobody works.
//
// At the end of a phase every mailbox has stopped at one cut of the total order (dgs/checkpoints.h), so that its states
// are those of the sequential program there. The *changer*, a thread beside the workers, then asks all workers to hold,
// puts another plan in place of the old one, and lets them go.
//
// Law. Epochs are counted by the changer: in even ones workers work, in odd ones they hold. A worker holds, between two
// turns, by writing down the odd epoch; what workers work on is the changer's from when all have, until it counts on.
// That a worker's word is of this epoch and not of one before is seen by its number, however long the worker slept. Each
// of these is a sequentially consistent store with a notify behind it, and is looked at between Parker::prepare and
// commit: nobody sleeps for ever for a phase (run/parker.h).
//
// A worker without a mailbox may have one in the next phase, so it ends only in the last one. Which that is, a worker
// knows that is done with all of its mailboxes: these are behind all cuts, so that nobody will stop any more.
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
  // `parkers`: of the workers, by index.
  explicit Phases(std::span<Parker> parkers) : parkers_(parkers), workers_(parkers.size()) {}

  // A worker, before it looks at anything of the plan: whether it may. Holds where it may not.
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

  // A worker that is done with its mailboxes: this is the last phase.
  void set_last() noexcept {
    if (last()) return;
    last_.store(true, std::memory_order_seq_cst);  // pairs with the load in `last`
    for (Parker& parker : parkers_) parker.notify();
  }
  bool last() const noexcept { return last_.load(std::memory_order_seq_cst); }

  // The changer's: ----------------------------------------------------------------------------------------------------

  // Returns when all workers hold, false when the run has `failed`.
  bool hold(const std::atomic<bool>& failed) noexcept {
    next_epoch();
    for (;;) {
      const std::uint32_t ticket = changer_.prepare();
      const bool over = failed.load(std::memory_order_seq_cst);  // pairs with the store before `wake`
      if (over || all_hold()) {
        changer_.cancel();
        return !over;
      }
      changer_.commit(ticket);
    }
  }

  void let_go() noexcept {
    next_epoch();
    ++changes_;
  }

  std::int64_t changes() const noexcept { return changes_; }  // after the run, or the changer's

  // Has `hold` look again. Any thread.
  void wake() noexcept { changer_.notify(); }

 private:
  struct alignas(kCacheLine) Worker {
    std::atomic<std::uint32_t> held{0};  // in which epoch; written by the worker, read by the changer
  };

  std::uint32_t epoch() const noexcept { return epoch_.load(std::memory_order_relaxed); }  // relaxed: the changer's own
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
