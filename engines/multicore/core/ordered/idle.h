// IdleWorkers: records which workers sleep, so that a producer of work wakes one of them instead of all.
//
// Law (as in run/parker.h, but with the announcement in a shared mask): a worker announces itself, looks for work once
// more, then sleeps. A producer makes its work visible with a sequentially consistent store, then reads all words of
// the mask. For each word, both sides store before they load. So the sleeper sees the work, or the producer sees the
// sleeper.
#pragma once
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "run/cacheline.h"
#include "run/parker.h"

namespace lab {

class IdleWorkers {
 public:
  static constexpr std::int32_t kMost = 256;

  explicit IdleWorkers(std::int32_t workers) : words_((static_cast<std::size_t>(workers) + kBits - 1) / kBits) {}

  // Announces that the worker is about to sleep. The worker calls it after Parker::prepare and before its last look.
  void announce(std::int32_t worker) noexcept {
    word_of(worker).fetch_or(bit(worker), std::memory_order_seq_cst);  // pairs with `others` and `wake_one`
  }
  // Withdraws the announcement. The worker calls it when it resumes, whether it was woken or not.
  void withdraw(std::int32_t worker) noexcept {
    // relaxed: a superfluous wake-up is harmless
    word_of(worker).fetch_and(~bit(worker), std::memory_order_relaxed);
  }

  // Returns whether a worker other than `self` sleeps or is about to.
  bool has_others(std::int32_t self) const noexcept {
    for (std::size_t w = 0; w < words_; ++w) {
      if (others(w, self) != 0) return true;
    }
    return false;
  }

  // Wakes one worker that sleeps or is about to. Never wakes `self`, which may have announced itself and then found
  // work at its last look. The caller must have stored the work with sequential consistency.
  void wake_one(std::span<Parker> parkers, std::int32_t self) noexcept {
    for (std::size_t w = 0; w < words_; ++w) {
      for (std::uint64_t mask = others(w, self); mask != 0;) {
        const std::uint64_t lowest = mask & -mask;
        // Clear the bit, so that two producers wake two workers. acquire: the bit may belong to a later announcement
        // than the one seen above, and that worker's parker must be seen as prepared; pairs with `announce`.
        const std::uint64_t before = mask_[w].fetch_and(~lowest, std::memory_order_acquire);
        if ((before & lowest) != 0) {
          parkers[w * kBits + static_cast<std::size_t>(std::countr_zero(lowest))].notify();
          return;
        }
        mask = before & ~bit_in(w, self);
      }
    }
  }

 private:
  static constexpr std::size_t kBits = 64;

  std::uint64_t others(std::size_t word, std::int32_t self) const noexcept {
    return mask_[word].load(std::memory_order_seq_cst) & ~bit_in(word, self);  // pairs with `announce`
  }
  static std::uint64_t bit(std::int32_t worker) noexcept {
    return std::uint64_t{1} << (static_cast<std::size_t>(worker) % kBits);
  }
  static std::uint64_t bit_in(std::size_t word, std::int32_t self) noexcept {
    return static_cast<std::size_t>(self) / kBits == word ? bit(self) : 0;
  }
  std::atomic<std::uint64_t>& word_of(std::int32_t worker) noexcept {
    return mask_[static_cast<std::size_t>(worker) / kBits];
  }

  const std::size_t words_;  // number of words of the mask that this run uses
  // By worker: a bit that is set while the worker sleeps or is about to. The worker writes its bit; producers clear it.
  alignas(kCacheLine) std::array<std::atomic<std::uint64_t>, kMost / kBits> mask_{};
};

}  // namespace lab
