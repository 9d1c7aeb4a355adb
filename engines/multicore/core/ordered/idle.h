// IdleWorkers: records which workers sleep, so that a producer of work wakes one of them instead of all.
//
// Law (as in run/parker.h, with the announcement in a shared mask): a worker announces itself, looks once more, then
// sleeps. A producer makes its work visible with a sequentially consistent store, then reads the mask. The sleeper sees
// the work or the producer sees the sleeper.
#pragma once
#include <atomic>
#include <bit>
#include <cstdint>
#include <span>

#include "run/cacheline.h"
#include "run/parker.h"

namespace lab {

class IdleWorkers {
 public:
  static constexpr std::int32_t kMost = 64;

  // Called by the worker itself, after Parker::prepare and before its last look.
  void announce(std::int32_t worker) noexcept {
    mask_.fetch_or(bit(worker), std::memory_order_seq_cst);  // pairs with the load in `wake_one`
  }
  // The worker resumes, woken or not.
  void withdraw(std::int32_t worker) noexcept {
    mask_.fetch_and(~bit(worker), std::memory_order_relaxed);  // relaxed: a superfluous wake-up is harmless
  }

  // Returns whether a worker other than `self` sleeps or is about to.
  bool any(std::int32_t self) const noexcept { return others(self) != 0; }

  // Wakes one worker that sleeps or is about to, but not `self`: it may have announced itself and found work at its
  // last look. The work must have been stored with sequential consistency.
  void wake_one(std::span<Parker> parkers, std::int32_t self) noexcept {
    std::uint64_t mask = others(self);
    while (mask != 0) {
      const int worker = std::countr_zero(mask);
      // Cleared here, so that two producers wake two workers. relaxed: it decides only which producer wakes this
      // worker.
      const std::uint64_t before = mask_.fetch_and(~(std::uint64_t{1} << worker), std::memory_order_relaxed);
      if ((before >> worker & 1) != 0) {
        parkers[static_cast<std::size_t>(worker)].notify();
        return;
      }
      mask = before & ~bit(self);
    }
  }

 private:
  std::uint64_t others(std::int32_t self) const noexcept {
    return mask_.load(std::memory_order_seq_cst) & ~bit(self);  // pairs with `announce`
  }
  static std::uint64_t bit(std::int32_t worker) noexcept { return std::uint64_t{1} << worker; }

  alignas(kCacheLine) std::atomic<std::uint64_t> mask_{0};  // one bit for each worker that sleeps or is about to
};

}  // namespace lab
