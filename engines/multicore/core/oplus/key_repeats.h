// Leaves out the keys that a tuple has already.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lab {

// A table of the keys of one tuple, which is emptied by looking for another stamp.
class KeyRepeats {
 public:
  // The next tuple begins, which has at most so many keys.
  void begin(std::int64_t keys) {
    const std::size_t least = 2 * std::bit_ceil(static_cast<std::size_t>(keys) + 1);
    if (slots_.size() < least) slots_.assign(least, {});
    ++stamp_;
  }

  // Whether the tuple has the key already; it has it from now on.
  bool has(std::int64_t key, std::uint64_t hash) noexcept {
    const std::size_t mask = slots_.size() - 1;
    // The low bits choose the bucket, and so the instance: those in the middle are as good for all.
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
    std::uint64_t stamp = 0;  // of the tuple that it is of; 0: of none
  };
  std::vector<Slot> slots_;
  std::uint64_t stamp_ = 0;
};

}  // namespace lab
