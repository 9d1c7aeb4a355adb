// Which workers sleep, so that one who makes work wakes one of them and not all.
//
// Law (as of run/parker.h, with the announcement in a mask that all share): a worker announces itself, looks once more,
// then sleeps; who makes work makes it visible with a sequentially consistent store, then looks at the mask. Either
// the sleeper sees the work or the other sees the sleeper.
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

  // After Parker::prepare, before the last look. The worker itself.
  void announce(std::int32_t worker) noexcept {
    mask_.fetch_or(bit(worker), std::memory_order_seq_cst);  // pairs with the load in `wake_one`
  }
  // The worker goes on, woken or not.
  void withdraw(std::int32_t worker) noexcept {
    mask_.fetch_and(~bit(worker), std::memory_order_relaxed);  // relaxed: a wake-up too many is harmless
  }

  // Whether another one than `self` sleeps, or is about to.
  bool any(std::int32_t self) const noexcept { return others(self) != 0; }

  // Wakes one that sleeps, or is about to, but not `self`, who may have announced itself and found work at its last
  // look. What there is to do must have been stored with sequential consistency.
  void wake_one(std::span<Parker> parkers, std::int32_t self) noexcept {
    std::uint64_t mask = others(self);
    while (mask != 0) {
      const int worker = std::countr_zero(mask);
      // Taken out here, so that two who make work wake two. relaxed: only decides who wakes it.
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

  alignas(kCacheLine) std::atomic<std::uint64_t> mask_{0};  // a bit for each worker that sleeps or is about to
};

}  // namespace lab
