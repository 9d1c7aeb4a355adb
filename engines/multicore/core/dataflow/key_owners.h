// KeyOwners: maps each key to an instance of a vertex, as HASH of Data-Trace Types does. All senders to the vertex
// share one map.
//
// Keys that are small whole numbers are assigned to instances in turn, in the order of their first appearance, so each
// instance gets the same number of keys. A hash gave eleven of sixteen device types to one of two instances, and that
// instance limited the rate. Other keys are assigned by hash.
#pragma once
#include <atomic>
#include <cstdint>
#include <vector>

#include "run/key_table.h"

namespace lab {

class KeyOwners {
 public:
  // Keys in [0, kAssignedInTurn) are assigned in turn. The map needs two bytes per such key.
  static constexpr std::int64_t kAssignedInTurn = 1 << 16;

  explicit KeyOwners(std::int32_t degree) : degree_(static_cast<std::uint64_t>(degree)), owners_(kAssignedInTurn) {}
  KeyOwners(const KeyOwners&) = delete;
  KeyOwners& operator=(const KeyOwners&) = delete;

  // Returns the number of the instance that owns a key; always the same for a key. Any thread may call it.
  std::int32_t owner_of(std::int64_t key) noexcept {
    if (static_cast<std::uint64_t>(key) >= kAssignedInTurn) {
      // The low half of the hash, scaled to the degree. Tables use the high bits (run/key_table.h).
      return static_cast<std::int32_t>(((mix_key(key) & 0xFFFFFFFFU) * degree_) >> 32);
    }
    auto& owner = owners_[static_cast<std::size_t>(key)];
    // relaxed, as in `assign`: the number carries no other data, and an owner is written once.
    std::uint16_t number = owner.load(std::memory_order_relaxed);
    if (number == 0) number = assign(owner);
    return number - 1;
  }

 private:
  // Assigns an owner. If two threads meet a new key at once, one thread wins, and the other thread's turn stays unused.
  std::uint16_t assign(std::atomic<std::uint16_t>& owner) noexcept {
    const std::uint64_t turn = next_.fetch_add(1, std::memory_order_relaxed);
    const auto number = static_cast<std::uint16_t>(turn % degree_ + 1);
    std::uint16_t present = 0;
    return owner.compare_exchange_strong(present, number, std::memory_order_relaxed) ? number : present;
  }

  const std::uint64_t degree_;
  std::vector<std::atomic<std::uint16_t>> owners_;  // by key: 0 before its first appearance, then the number plus one
  std::atomic<std::uint64_t> next_{0};
};

}  // namespace lab
