// Parker: puts an idle worker to sleep and wakes it, by an event count over a futex. Every thread that waits has one.
//
// Law: a sleeper first announces itself (prepare), then checks once more everything that it waits for, then sleeps
// (commit). A waker first makes the condition true with a sequentially consistent store, then calls notify. On both
// sides a store precedes a load, so all four operations are sequentially consistent: either the sleeper sees the
// condition or the waker sees the sleeper. With acquire/release alone they can miss each other (measured elsewhere: 6 %
// of adversarial rounds).
#pragma once
#include <atomic>
#include <cstdint>

#include "run/cacheline.h"
#include "run/fast_clock.h"

namespace lab {

class alignas(kCacheLine) Parker {
 public:
  // Announces that the owner is about to sleep. Only the owner calls it.
  std::uint32_t prepare() noexcept {
    const std::uint32_t ticket = epoch_.load(std::memory_order_seq_cst);
    sleeping_.store(1, std::memory_order_seq_cst);  // pairs with the load in notify
    return ticket;
  }

  // Withdraws the announcement because the owner has found work. Only the owner calls it.
  void cancel() noexcept { sleeping_.store(0, std::memory_order_relaxed); }  // a spurious notify is harmless

  // Sleeps until notified after `prepare` returned `ticket`; may return early. Only the owner calls it.
  void commit(std::uint32_t ticket) noexcept;

  // Wakes the owner if it sleeps or is about to. The caller must have stored its condition with sequential consistency
  // before. Any thread may call it.
  void notify() noexcept {
    if (asleep()) wake();
  }

  // Returns whether `notify` would wake the owner. As for `notify`, the caller must have stored its condition before.
  bool asleep() const noexcept {
    return sleeping_.load(std::memory_order_seq_cst) != 0;  // pairs with the store in prepare
  }

 private:
  void wake() noexcept;

  // Written by wakers, read by the owner, which looks again after a change.
  std::atomic<std::uint32_t> epoch_{0};
  // 1 while the owner sleeps or is about to. The owner sets it; the owner and wakers clear it.
  std::atomic<std::uint32_t> sleeping_{0};
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free && sizeof(std::atomic<std::uint32_t>) == 4,
              "a futex word is a plain 32-bit integer");

// Selects the next step of an idle worker: spin, then yield for some time, then sleep.
class Backoff {
 public:
  enum class Step { kSpin, kYield, kSleep };

  // Yields at least `yields` times, and until `patience_ns` after the first of them.
  Backoff(std::int32_t spins, std::int32_t yields, std::int64_t patience_ns = 0) noexcept
      : spins_(spins), yields_(yields), patience_ns_(patience_ns) {}

  // Returns the policy of the threads of a run. With more threads than cores they do not spin, since spins delay the
  // awaited thread. `waits_for_work`: whether threads are often idle for long, as under a load, and should not occupy a
  // core.
  static Backoff of_threads(bool oversubscribed, bool waits_for_work) noexcept {
    if (oversubscribed || waits_for_work) return Backoff(oversubscribed ? 0 : kSpins, kYields);
    return Backoff(kSpins, 1, kPatienceNs);
  }

  void reset() noexcept { idle_ = 0; }

  Step next() noexcept {
    if (idle_ < spins_) {
      ++idle_;
      return Step::kSpin;
    }
    if (idle_ == spins_ && patience_ns_ != 0) until_ns_ = clock_.now() + patience_ns_;
    if (idle_ < spins_ + yields_) {
      ++idle_;
      return Step::kYield;
    }
    return patience_ns_ != 0 && clock_.now() < until_ns_ ? Step::kYield : Step::kSleep;
  }

 private:
  // Few spins, then yields. An undisturbed synchronization takes well under a microsecond. A partner that does not run
  // may wait for the very core that would spin here. On a loaded 2-core machine 4,000 spins cost up to 10 x the CPU
  // time and 20 x the wall time of this setting (docs/performance.md).
  static constexpr std::int32_t kSpins = 50;
#ifdef __SANITIZE_THREAD__
  static constexpr std::int32_t kYields = 1;  // each may cost a time slice, and the tests aim at sleeps
  static constexpr std::int64_t kPatienceNs = 0;
#else
  static constexpr std::int32_t kYields = 20;
  // Longer than two running workers wait for each other. A sleep and a wake-up cost 50 us and more, and a pair that
  // sleeps at each synchronization is slower than one worker. If the partner does not run, the first yield takes longer
  // than this, and the thread sleeps.
  static constexpr std::int64_t kPatienceNs = 100'000;
#endif

  std::int32_t spins_;
  std::int32_t yields_;
  std::int32_t idle_ = 0;
  std::int64_t patience_ns_;
  std::int64_t until_ns_ = 0;
  FastClock clock_;
};

// Makes one turn of a spin loop: gives the processor a pause hint.
inline void spin_pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace lab
