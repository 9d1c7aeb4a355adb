// The window instances of one bucket of keys: key -> the I window instances that one update sees.
//
// Entries lie densely, in the order in which they were created, so that expiry is a walk over them; an index
// of open addressing finds them by key. A table has one user at a time: the instance that its bucket is mapped
// to. What hands it on (the barrier of a reconfiguration) orders the accesses.
//
// Layout of an entry, read by compiled code (oplus/kernels.py), so it is law: int64 stamp, then for each input
// int64 key, int64 left, and the state, padded to 8 bytes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "run/cacheline.h"

namespace lab {

// The mixing step of splitmix64 (Steele, Lea, Flood 2014): every bit of the key changes half of the result's.
// oplus/kernels.py has it too: the bucket of a key is `mix_key(key) % buckets`.
inline std::uint64_t mix_key(std::int64_t key) noexcept {
  auto x = static_cast<std::uint64_t>(key) + 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

class alignas(kCacheLine) WindowTable {
 public:
  static constexpr std::int64_t kNoStamp = -1;

  struct Found {
    std::byte* entry;
    bool created;  // zeroed but for the stamp, which is `kNoStamp`
  };

  // The entry of a key, created when there is none. Invalidates earlier results. `stride`: bytes of an entry.
  Found find(std::int64_t key, std::size_t stride) {
    if ((count_ + 1) * 2 > index_.size()) grow(stride);
    std::size_t at = mix_key(key) >> shift_;
    while (index_[at] != 0) {
      std::byte* entry = entries_.data() + (index_[at] - 1) * stride;
      if (key_of(entry) == key) return {entry, false};
      at = (at + 1) & (index_.size() - 1);
    }
    if (entries_.size() < (count_ + 1) * stride) entries_.resize(index_.size() / 2 * stride);
    std::byte* entry = entries_.data() + count_ * stride;
    std::memset(entry, 0, stride);
    std::memcpy(entry, &kNoStamp, sizeof kNoStamp);
    std::memcpy(entry + kKeyOffset, &key, sizeof key);
    index_[at] = static_cast<std::uint32_t>(++count_);
    return {entry, true};
  }

  std::size_t count() const noexcept { return count_; }
  std::byte* entries() noexcept { return entries_.data(); }

  // Forgets all entries; keeps the memory when it was well used, gives it back when it was not.
  void clear() noexcept {
    if (count_ * kSparse < index_.size() && index_.size() > kLeastIndex) {
      index_.assign(0, 0);
      index_.shrink_to_fit();
      entries_.clear();
      entries_.shrink_to_fit();
      shift_ = 64;
    } else if (!index_.empty()) {
      std::memset(index_.data(), 0, index_.size() * sizeof index_[0]);
    }
    count_ = 0;
  }

  // Removes the entries whose states, those behind each input's key and left, are all zero.
  void remove_zero(std::size_t stride, std::size_t inputs) {
    const std::size_t width = (stride - kKeyOffset) / inputs;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      std::byte* entry = entries_.data() + i * stride;
      if (all_zero(entry, width, inputs)) continue;
      if (kept != i) std::memcpy(entries_.data() + kept * stride, entry, stride);
      ++kept;
    }
    if (kept == count_) return;
    count_ = kept;
    reindex(stride);
  }

  // All entries, to be moved elsewhere.
  std::span<const std::byte> bytes(std::size_t stride) const noexcept { return {entries_.data(), count_ * stride}; }

  // Replaces all entries by those of `bytes` on another table.
  void assign(std::span<const std::byte> bytes, std::size_t stride) {
    clear();
    const std::size_t wanted = bytes.size() / stride;
    while ((wanted + 1) * 2 > index_.size()) grow(stride);
    entries_.resize(index_.size() / 2 * stride);
    if (!bytes.empty()) std::memcpy(entries_.data(), bytes.data(), bytes.size());
    count_ = wanted;
    reindex(stride);
  }

  static std::int64_t key_of(const std::byte* entry) noexcept {
    std::int64_t key;
    std::memcpy(&key, entry + kKeyOffset, sizeof key);
    return key;
  }

  static constexpr std::size_t kKeyOffset = 8;

 private:
  static constexpr std::size_t kLeastIndex = 8;
  static constexpr std::size_t kSparse = 16;  // below a sixteenth full when it is cleared: given back

  static bool all_zero(const std::byte* entry, std::size_t width, std::size_t inputs) noexcept {
    for (std::size_t i = 0; i < inputs; ++i) {
      const std::byte* state = entry + kKeyOffset + i * width + 2 * sizeof(std::int64_t);
      for (std::size_t b = 0; b < width - 2 * sizeof(std::int64_t); ++b) {
        if (state[b] != std::byte{0}) return false;
      }
    }
    return true;
  }

  void grow(std::size_t stride) {
    const std::size_t size = index_.empty() ? kLeastIndex : index_.size() * 2;
    index_.assign(size, 0);
    shift_ = 64;
    for (std::size_t s = size; s > 1; s /= 2) --shift_;
    entries_.resize(size / 2 * stride);
    reindex(stride);
  }

  void reindex(std::size_t stride) {
    std::memset(index_.data(), 0, index_.size() * sizeof index_[0]);
    for (std::size_t i = 0; i < count_; ++i) {
      std::size_t at = mix_key(key_of(entries_.data() + i * stride)) >> shift_;
      while (index_[at] != 0) at = (at + 1) & (index_.size() - 1);
      index_[at] = static_cast<std::uint32_t>(i + 1);
    }
  }

  std::vector<std::byte> entries_;
  std::vector<std::uint32_t> index_;  // entry + 1 by hash, 0: free; at most half full
  std::size_t count_ = 0;
  int shift_ = 64;  // the index uses the hash's high bits: buckets use the low ones
};

}  // namespace lab
