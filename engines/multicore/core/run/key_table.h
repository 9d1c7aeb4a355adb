// WindowTable: the table of window instances of one bucket of keys. Instances of windowed operators use it.
//
// It maps a key to the instances of all windows that contain the key. They are adjacent, so one look-up finds them all.
//
// Entries are dense and in order of creation, so expiry walks over them. An index of open addressing finds them by key.
// A table has one user at a time: the instance that owns its bucket. The barrier of a reconfiguration passes the table
// to another instance and orders the accesses. Neighbouring buckets belong to different instances, so the entries of
// two tables never share a cache line.
//
// Law: compiled code (oplus/window_tables.py) relies on the layouts of an entry and of `WindowTable`. An entry starts
// with an int64 stamp. A place for each window that may be alive follows (WindowShape::place). A place holds, for each
// input: int64 key, int64 left, and the state, padded to 8 bytes. The keys of a place are equal. A place whose `left`
// belongs to another window is empty. The first access for the new window sets `left` and zeroes the states.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <utility>

#include "run/cacheline.h"

namespace lab {

// The mixing step of splitmix64 (Steele, Lea, Flood 2014): a change of any bit of the key changes about half of the
// result's bits. oplus/keyset.py repeats it: the bucket of a key is `mix_key(key) % buckets`.
inline std::uint64_t mix_key(std::int64_t key) noexcept {
  auto x = static_cast<std::uint64_t>(key) + 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

// The index from a key to its entry. `slots[s]` is n for entry n - 1, or 0 if slot s is empty. A search begins
// at `mix_key(key) >> shift` and continues at `(s + 1) & mask`. At least one slot is always empty.
struct WindowIndex {
  const std::uint32_t* slots;  // writable only if the table has memory for entries
  std::byte* entries;
  std::int64_t mask;
  std::int64_t shift;  // the index uses the high bits of the hash; buckets use the low ones
  std::size_t count;   // number of entries
  std::size_t limit;   // number of entries that fit; the code that creates an entry fills its slot and counts it
};
static_assert(offsetof(WindowIndex, entries) == 8 && offsetof(WindowIndex, mask) == 16);
static_assert(offsetof(WindowIndex, shift) == 24 && offsetof(WindowIndex, count) == 32);
static_assert(offsetof(WindowIndex, limit) == 40);

class alignas(64) WindowTable {
 public:
  static constexpr std::int64_t kNoStamp = -1;
  static constexpr std::size_t kKeyOffset = 8;
  // Marks a place that no window uses yet. No window begins at this time.
  static constexpr std::int64_t kNoWindow = std::numeric_limits<std::int64_t>::min();

  struct Found {
    std::byte* entry;
    bool created;  // whether the entry is new: zero except for the key and the stamp `kNoStamp`
  };

  WindowTable() = default;
  WindowTable(WindowTable&& other) noexcept { swap(other); }
  WindowTable& operator=(WindowTable&& other) noexcept {
    swap(other);
    return *this;
  }

  // Returns the entry of a key; creates it if it is missing. Invalidates earlier results. `stride`: bytes of an entry.
  // Throws std::bad_alloc and leaves the table unchanged.
  Found find(std::int64_t key, std::size_t stride) {
    if (index_.count == index_.limit) grow(stride);
    std::size_t slot = first_slot(key);
    for (; index_.slots[slot] != 0; slot = next_slot(slot)) {
      std::byte* entry = index_.entries + (index_.slots[slot] - 1) * stride;
      if (key_of(entry) == key) return {entry, false};
    }
    std::byte* entry = index_.entries + index_.count * stride;
    std::memset(entry, 0, stride);
    std::memcpy(entry, &kNoStamp, sizeof kNoStamp);
    std::memcpy(entry + kKeyOffset, &key, sizeof key);
    slots()[slot] = static_cast<std::uint32_t>(++index_.count);
    return {entry, true};
  }

  std::size_t count() const noexcept { return index_.count; }
  std::size_t allocated(std::size_t stride) const noexcept { return bytes_of(2 * index_.limit, stride); }
  // Returns the bytes that the table would allocate to grow.
  std::size_t growth_bytes(std::size_t stride) const noexcept { return bytes_of(grown_slots(), stride); }
  std::byte* entries() noexcept { return index_.entries; }
  std::span<std::byte> entries(std::size_t stride) noexcept { return {index_.entries, index_.count * stride}; }

  // Hides the entries, so that compiled code finds the table empty and calls the core for the next key. Before `show`,
  // only `hidden`, `count` (which returns 0), and `allocated` may be called.
  void hide() noexcept {
    if (index_.count == 0) return;
    hidden_ = std::exchange(index_.count, 0);
    index_.slots = kNoIndex.slots;
    index_.mask = kNoIndex.mask;
    index_.shift = kNoIndex.shift;
  }
  bool hidden() const noexcept { return hidden_ != 0; }
  void show() noexcept {
    if (hidden_ == 0) return;
    index_.count = std::exchange(hidden_, 0);
    index_.slots = slots();
    index_.mask = static_cast<std::int64_t>(2 * index_.limit) - 1;
    index_.shift = shift_of(2 * index_.limit);
  }

  // Removes all entries. Frees the memory if less than a sixteenth of it was in use (kSparse).
  void clear() noexcept {
    if (index_.count * kSparse < size() && size() > kMinSlots) {
      memory_.reset();
      index_ = kNoIndex;
    } else if (index_.limit != 0) {
      std::memset(memory_.get(), 0, size() * sizeof(std::uint32_t));
    }
    index_.count = 0;
  }

  // Removes the entries whose states are all zero. A state follows each input's key and left.
  void remove_zero(std::size_t stride, std::size_t inputs) {
    const std::size_t width = (stride - kKeyOffset) / inputs;
    remove(stride, [=](const std::byte* entry) { return all_zero(entry, width, inputs); });
  }

  // Removes the entries for which `is_removed` is true; the rest keep their order. Frees memory under the rule of
  // `clear`.
  template <typename IsRemoved>
  void remove(std::size_t stride, IsRemoved is_removed) {
    std::size_t remaining = 0;
    for (std::size_t i = 0; i < index_.count; ++i) {
      std::byte* entry = index_.entries + i * stride;
      if (is_removed(entry)) continue;
      if (remaining != i) std::memcpy(index_.entries + remaining * stride, entry, stride);
      ++remaining;
    }
    if (remaining == 0) return clear();
    if (remaining == index_.count) return;
    const bool is_sparse = index_.count * kSparse < size() && size() > kMinSlots;
    index_.count = remaining;
    try {
      if (is_sparse) return resize(size() / 2, stride);
    } catch (const std::bad_alloc&) {  // then the table keeps its size
    }
    reindex(stride);
  }

  // Returns all entries, for a move to another table.
  std::span<const std::byte> bytes(std::size_t stride) const noexcept {
    return {index_.entries, index_.count * stride};
  }

  // Replaces all entries by the `bytes` of another table.
  void assign(std::span<const std::byte> bytes, std::size_t stride) {
    clear();
    const std::size_t count = bytes.size() / stride;
    while (count > index_.limit) grow(stride);
    if (!bytes.empty()) std::memcpy(index_.entries, bytes.data(), bytes.size());
    index_.count = count;
    reindex(stride);
  }

  static std::int64_t key_of(const std::byte* entry) noexcept {
    std::int64_t key;
    std::memcpy(&key, entry + kKeyOffset, sizeof key);
    return key;
  }

 private:
  static constexpr std::size_t kMinSlots = 8;
  static constexpr std::size_t kSparse = 16;                // a table less than 1 / kSparse full frees memory
  static constexpr std::uint32_t kNoSlots[kMinSlots] = {};  // the slots of a table without memory

  void swap(WindowTable& other) noexcept {
    std::swap(index_, other.index_);
    std::swap(hidden_, other.hidden_);
    memory_.swap(other.memory_);
  }

  static constexpr std::size_t bytes_of(std::size_t slots, std::size_t stride) noexcept {
    const std::size_t bytes = slots * sizeof(std::uint32_t) + slots / 2 * stride;
    return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
  }
  std::size_t grown_slots() const noexcept { return index_.limit == 0 ? kMinSlots : 2 * size(); }

  static constexpr std::int64_t shift_of(std::size_t slots) noexcept { return 64 - std::countr_zero(slots); }

  static bool all_zero(const std::byte* entry, std::size_t width, std::size_t inputs) noexcept {
    for (std::size_t i = 0; i < inputs; ++i) {
      const std::byte* state = entry + kKeyOffset + i * width + 2 * sizeof(std::int64_t);
      for (std::size_t b = 0; b < width - 2 * sizeof(std::int64_t); ++b) {
        if (state[b] != std::byte{0}) return false;
      }
    }
    return true;
  }

  struct Free {
    void operator()(void* memory) const noexcept { std::free(memory); }
  };

  std::uint32_t* slots() noexcept { return static_cast<std::uint32_t*>(memory_.get()); }
  std::size_t size() const noexcept { return static_cast<std::size_t>(index_.mask) + 1; }
  std::size_t first_slot(std::int64_t key) const noexcept { return mix_key(key) >> index_.shift; }
  std::size_t next_slot(std::size_t slot) const noexcept { return (slot + 1) & static_cast<std::size_t>(index_.mask); }

  void grow(std::size_t stride) { resize(grown_slots(), stride); }

  // Moves the entries into new memory with `slots` slots, at least twice the number of entries. Throws std::bad_alloc
  // and leaves the table unchanged.
  void resize(std::size_t slots, std::size_t stride) {
    std::unique_ptr<void, Free> memory(std::aligned_alloc(kCacheLine, bytes_of(slots, stride)));
    if (memory == nullptr) throw std::bad_alloc();
    std::byte* const entries = static_cast<std::byte*>(memory.get()) + slots * sizeof(std::uint32_t);
    if (index_.count != 0) std::memcpy(entries, index_.entries, index_.count * stride);
    memory_ = std::move(memory);
    // At most half full.
    index_ = {this->slots(), entries, static_cast<std::int64_t>(slots) - 1, shift_of(slots), index_.count, slots / 2};
    reindex(stride);
  }

  // Fills the slots anew from the entries.
  void reindex(std::size_t stride) noexcept {
    if (index_.limit == 0) return;
    std::memset(memory_.get(), 0, size() * sizeof(std::uint32_t));
    for (std::size_t i = 0; i < index_.count; ++i) {
      std::size_t slot = first_slot(key_of(index_.entries + i * stride));
      while (slots()[slot] != 0) slot = next_slot(slot);
      slots()[slot] = static_cast<std::uint32_t>(i + 1);
    }
  }

  static constexpr WindowIndex kNoIndex = {kNoSlots, nullptr, kMinSlots - 1, 61, 0, 0};  // 64 - log2

  WindowIndex index_ = kNoIndex;        // first member: compiled code reads it
  std::size_t hidden_ = 0;              // number of hidden entries
  std::unique_ptr<void, Free> memory_;  // the slots, then the entries
};
static_assert(sizeof(WindowTable) == 64);  // law

}  // namespace lab
