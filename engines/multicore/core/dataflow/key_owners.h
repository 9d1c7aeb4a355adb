// HASH of Data-Trace Types: which of the instances of a vertex has a key. Shared by all who send rows to them.
//
// Keys that are small whole numbers are dealt in turn, as they are met first, so that each instance has as many of them:
// a hash gave one of two instances eleven of sixteen types of devices, and so the pace. Other keys go by hash.
#pragma once
#include <atomic>
#include <cstdint>
#include <vector>

#include "run/key_table.h"

namespace lab {

class KeyOwners {
 public:
  static constexpr std::int64_t kDealt = 1 << 16;  // keys from 0 to below this are dealt; two bytes for each

  explicit KeyOwners(std::int32_t degree) : degree_(static_cast<std::uint64_t>(degree)), owners_(kDealt) {}
  KeyOwners(const KeyOwners&) = delete;
  KeyOwners& operator=(const KeyOwners&) = delete;

  // The number of the instance; always the same for a key. Any thread.
  std::int32_t of(std::int64_t key) noexcept {
    if (static_cast<std::uint64_t>(key) >= kDealt) {
      // By the low half of the hash, scaled. Tables go by its high bits (run/key_table.h).
      return static_cast<std::int32_t>(((mix_key(key) & 0xFFFFFFFFU) * degree_) >> 32);
    }
    auto& owner = owners_[static_cast<std::size_t>(key)];
    // relaxed, as in `deal`: the number is all there is to know, and an owner is written once.
    std::uint16_t number = owner.load(std::memory_order_relaxed);
    if (number == 0) number = deal(owner);
    return number - 1;
  }

 private:
  // Of two who meet a key at once, one wins, and the other's turn is nobody's.
  std::uint16_t deal(std::atomic<std::uint16_t>& owner) noexcept {
    const std::uint64_t turn = next_.fetch_add(1, std::memory_order_relaxed);
    const auto number = static_cast<std::uint16_t>(turn % degree_ + 1);
    std::uint16_t found = 0;
    return owner.compare_exchange_strong(found, number, std::memory_order_relaxed) ? number : found;
  }

  const std::uint64_t degree_;
  std::vector<std::atomic<std::uint16_t>> owners_;  // by key; 0: not met yet, else the number plus one
  std::atomic<std::uint64_t> next_{0};
};

}  // namespace lab
