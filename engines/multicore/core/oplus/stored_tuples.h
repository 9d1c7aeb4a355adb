// Stores the tuples that window instances keep (STRETCH, Table I: the default f_U; Operator 10's T). Each key and input
// has a deque whose tuples are contiguous, the oldest first, so a walk over them is a walk over memory.
//
// In a window table's entry, a deque follows the key and the left boundary of each input's window. Compiled code reads
// and appends (oplus/stored_tuples.py), so the layout must not change, and a tuple begins with its time. A deque
// without tuples and memory has only zero bytes: new entries start this way, and such a key is removable. Tables move
// entries as bytes, including the deques. Code that drops an entry must first release the memory (`release_stored`).
//
// One user at a time: the instance that owns the entry's bucket, as for the table itself.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <type_traits>

namespace lab {

struct StoredTuples {
  std::byte* first;   // the oldest tuple
  std::byte* last;    // past the youngest
  std::byte* limit;   // past the memory
  std::byte* memory;  // start of the memory; null: none

  std::size_t bytes() const noexcept { return static_cast<std::size_t>(last - first); }

  // Makes room for a tuple of `size` bytes after the last. Returns false without memory; nothing has changed then.
  bool reserve(std::size_t size) noexcept {
    constexpr std::size_t kLeast = 4;  // tuples
    if (static_cast<std::size_t>(limit - last) >= size) return true;
    const std::size_t held = bytes(), all = static_cast<std::size_t>(limit - memory);
    if (memory != nullptr && held <= all / 2) {  // the front is free: tuples move there as rarely as the memory doubles
      std::memmove(memory, first, held);
    } else {
      const std::size_t grown_bytes = memory == nullptr ? kLeast * size : 2 * all;
      auto* const more = static_cast<std::byte*>(std::malloc(grown_bytes));
      if (more == nullptr) return false;
      if (held != 0) std::memcpy(more, first, held);
      std::free(memory);
      memory = more;
      limit = more + grown_bytes;
    }
    first = memory;
    last = memory + held;
    return true;
  }

  // Removes the tuples at the front that are timed before `ts`.
  void purge(std::int64_t ts, std::size_t size) noexcept {
    for (; first != last; first += size) {
      std::int64_t at;
      std::memcpy(&at, first, sizeof at);
      if (at >= ts) return;
    }
  }

  void release() noexcept {
    std::free(memory);
    *this = {};
  }

  // Turns a byte copy of another deque into an independent one with its own memory. Returns false without memory; the
  // deque is empty then.
  bool detach() noexcept {
    const StoredTuples other = *this;
    *this = {};
    if (other.bytes() == 0) return true;
    auto* const own = static_cast<std::byte*>(std::malloc(other.bytes()));
    if (own == nullptr) return false;
    std::memcpy(own, other.first, other.bytes());
    *this = {own, own + other.bytes(), own + other.bytes(), own};
    return true;
  }
};
static_assert(std::is_trivially_copyable_v<StoredTuples> && sizeof(StoredTuples) == 32);
static_assert(offsetof(StoredTuples, last) == 8 && offsetof(StoredTuples, limit) == 16);

// The places of the deques in entries of `stride` bytes.
struct StoredPlaces {
  static constexpr std::size_t kHead = 8;     // the entry's stamp
  static constexpr std::size_t kOffset = 16;  // of each window, after key and left

  std::size_t stride = 0;
  std::size_t windows = 0;      // of an entry, over all inputs
  std::size_t tuple_bytes = 0;  // 0: no tuples are stored

  bool any() const noexcept { return tuple_bytes != 0; }

  // Calls `visit(StoredTuples&)` for each deque of these entries.
  template <typename Visit>
  void each(std::span<std::byte> entries, Visit visit) const {
    if (!any()) return;
    for (std::size_t at = kHead; at < entries.size(); at += stride) each_of(entries.data() + at, windows, visit);
  }
  // Calls `visit` for the deque of each of `count` adjacent windows, the first of which is at `first`.
  template <typename Visit>
  void each_of(std::byte* first, std::size_t count, Visit visit) const {
    const std::size_t width = (stride - kHead) / windows;
    for (std::size_t i = 0; i < count; ++i) {
      // Entries are aligned to 8 bytes, and zeroed at creation.
      visit(*reinterpret_cast<StoredTuples*>(first + i * width + kOffset));
    }
  }
};

}  // namespace lab
