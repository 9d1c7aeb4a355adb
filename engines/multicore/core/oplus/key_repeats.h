// Detects repeated keys of one tuple; map parts use it.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lab {

// A table of the keys of one tuple; a new stamp empties it.
class KeyRepeats {
 public:
  // Begins the next tuple, which has at most `keys` keys.
  void begin(std::int64_t keys) {
    const std::size_t least = 2 * std::bit_ceil(static_cast<std::size_t>(keys) + 1);
    if (slots_.size() < least) slots_.assign(least, {});
    ++stamp_;
  }

  // Returns whether the tuple already has the key, and adds it.
  bool has(std::int64_t key, std::uint64_t hash) noexcept {
    const std::size_t mask = slots_.size() - 1;
    // The low bits select the bucket, and so the instance; the middle bits are equally good on all instances.
    for (std::size_t at = static_cast<std::size_t>(hash >> 20) & mask;; at = (at + 1) & mask) {
      Slot& slot = slots_[at];
      if (slot.stamp != stamp_) {
        slot = {key, stamp_};
        return false;
      }
      if (slot.key == key) return true;
    }
  }

 private:
  struct Slot {
    std::int64_t key = 0;
    std::uint64_t stamp = 0;  // stamp of the key's tuple; 0: empty
  };
  std::vector<Slot> slots_;
  std::uint64_t stamp_ = 0;
};

}  // namespace lab
