// KeyOwners: HASH of Data-Trace Types. Maps a key to an instance of a vertex; all senders to the vertex share the map.
//
// Keys that are small whole numbers are assigned to instances in turn, in the order of their first appearance. Each
// instance thus gets the same number of them. A hash gave one of two instances eleven of sixteen device types, and that
// instance limited the rate. Other keys go by hash.
#pragma once
#include <atomic>
#include <cstdint>
#include <vector>

#include "run/key_table.h"

namespace lab {

class KeyOwners {
 public:
  // Keys in [0, kAssignedInTurn) are assigned in turn, with two bytes for each.
  static constexpr std::int64_t kAssignedInTurn = 1 << 16;

  explicit KeyOwners(std::int32_t degree) : degree_(static_cast<std::uint64_t>(degree)), owners_(kAssignedInTurn) {}
  KeyOwners(const KeyOwners&) = delete;
  KeyOwners& operator=(const KeyOwners&) = delete;

  // Returns the number of the instance that owns a key; always the same for a key. Any thread.
  std::int32_t owner_of(std::int64_t key) noexcept {
    if (static_cast<std::uint64_t>(key) >= kAssignedInTurn) {
      // By the low half of the hash, scaled. Tables use its high bits (run/key_table.h).
      return static_cast<std::int32_t>(((mix_key(key) & 0xFFFFFFFFU) * degree_) >> 32);
    }
    auto& owner = owners_[static_cast<std::size_t>(key)];
    // relaxed, as in `assign`: the number carries no other data, and an owner is written once.
    std::uint16_t number = owner.load(std::memory_order_relaxed);
    if (number == 0) number = assign(owner);
    return number - 1;
  }

 private:
  // Assigns an owner. If two threads meet a key at once, one of them wins, and the turn of the other stays unused.
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
