// Stores the keys that f_MK adds for tuples, in growable columns; keyed and map instances use it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "oplus/kernel.h"

namespace lab {

class KeyColumns {
 public:
  static constexpr std::int64_t kMaxKeys = std::int64_t{1} << 28;  // of one tuple

  // Stores the keys of instance `me`: those in the buckets that `set.owner` assigns to it.
  KeyColumns(std::int64_t capacity, std::int64_t me) {
    set.me = me;
    grow(capacity);
  }
  KeyColumns(const KeyColumns&) = delete;
  KeyColumns& operator=(const KeyColumns&) = delete;

  // Makes room for `capacity` keys. Throws std::runtime_error beyond the limit of one tuple, kMaxKeys.
  void grow(std::int64_t capacity) {
    if (capacity > kMaxKeys) throw std::runtime_error("a tuple has more than 2^28 keys");
    const std::size_t size = static_cast<std::size_t>(capacity) + 1;
    keys_.resize(size);
    buckets_.resize(size);
    hashes_.resize(size);
    columns_[0] = keys_.data();
    columns_[1] = buckets_.data();
    columns_[2] = hashes_.data();
    set.columns = columns_;
    set.capacity = capacity;
  }

  std::int64_t* keys() noexcept { return keys_.data(); }
  std::int32_t* buckets() noexcept { return buckets_.data(); }
  const std::uint64_t* hashes() const noexcept { return hashes_.data(); }

  KeySet set{};

 private:
  std::vector<std::int64_t> keys_;
  std::vector<std::int32_t> buckets_;
  std::vector<std::uint64_t> hashes_;
  void* columns_[3] = {nullptr, nullptr, nullptr};
};

}  // namespace lab
