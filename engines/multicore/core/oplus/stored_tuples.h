// The tuples that window instances keep (STRETCH, Table I: the default f_U; Operator 10's T): a deque for each key and
// input, whose tuples lie in one piece, the oldest first, so that a walk over them is a walk over memory.
//
// In a window table's entry there is one behind the key and the left boundary of each input's window. Compiled code reads
// and appends (oplus/stored_tuples.py), so its layout is law, and so is that a tuple begins with its time. All bytes are zero where
// there are no tuples and no memory: that is how an entry is born, and what makes its key removable. Entries are moved as
// bytes, and so are these; whoever forgets an entry gives the memory back first (`release_stored`).
//
// One user at a time: the instance that the entry's bucket is mapped to, as with the table itself.
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
  std::byte* last;    // behind the youngest
  std::byte* limit;   // behind the memory
  std::byte* memory;  // its begin; null: none

  std::size_t bytes() const noexcept { return static_cast<std::size_t>(last - first); }

  // Makes room for a tuple of `size` bytes behind the last. False: there is no memory; nothing has changed.
  bool reserve(std::size_t size) noexcept {
    constexpr std::size_t kLeast = 4;  // tuples
    if (static_cast<std::size_t>(limit - last) >= size) return true;
    const std::size_t held = bytes(), all = static_cast<std::size_t>(limit - memory);
    if (memory != nullptr && held <= all / 2) {  // the front is free: moved to as seldom as the memory is doubled
      std::memmove(memory, first, held);
    } else {
      const std::size_t wanted = memory == nullptr ? kLeast * size : 2 * all;
      auto* const more = static_cast<std::byte*>(std::malloc(wanted));
      if (more == nullptr) return false;
      if (held != 0) std::memcpy(more, first, held);
      std::free(memory);
      memory = more;
      limit = more + wanted;
    }
    first = memory;
    last = memory + held;
    return true;
  }

  // Removes from the front what is timed before `ts`.
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

  // Takes memory of its own for the tuples of another one, whose bytes these are. False: there is none; empty then.
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

// Where they are in entries of `stride` bytes.
struct StoredPlaces {
  static constexpr std::size_t kHead = 8;     // the entry's stamp
  static constexpr std::size_t kOffset = 16;  // of each window: key and left come first

  std::size_t stride = 0;
  std::size_t windows = 0;      // of an entry, of all inputs together
  std::size_t tuple_bytes = 0;  // 0: nothing is stored

  bool any() const noexcept { return tuple_bytes != 0; }

  // Calls `visit(StoredTuples&)` for each deque of these entries.
  template <typename Visit>
  void each(std::span<std::byte> entries, Visit visit) const {
    if (!any()) return;
    for (std::size_t at = kHead; at < entries.size(); at += stride) each_of(entries.data() + at, windows, visit);
  }
  // For that of each of so many windows side by side, the first of which is at `first`.
  template <typename Visit>
  void each_of(std::byte* first, std::size_t count, Visit visit) const {
    const std::size_t width = (stride - kHead) / windows;
    for (std::size_t i = 0; i < count; ++i) {
      // Entries are aligned to 8 bytes, and zeroed when they are made.
      visit(*reinterpret_cast<StoredTuples*>(first + i * width + kOffset));
    }
  }
};

}  // namespace lab
