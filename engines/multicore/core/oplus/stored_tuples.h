// Stores the tuples that window instances keep (STRETCH, Table I: the default f_U; Operator 10's T). Each key and input
// has a deque, oldest tuple first. A deque has one column per field, so a comparison reads only the fields that it
// needs, and compiled code compares several tuples at a time.
//
// In a window table's entry, a deque follows the key and the left boundary of each input's window. Compiled code reads
// and appends (oplus/stored_tuples.py) and relies on the layout: with room for n tuples, the column of field i begins
// n * (sum of the bytes of fields 0 to i - 1) bytes after `memory`. Field 0 is the time. An empty deque without memory
// has only zero bytes: new entries start this way, and a key with only zero bytes is removable. Tables move entries as
// bytes, including the deques. Code that drops an entry must first release the memory (`release_stored`).
//
// Only the instance that owns the entry's bucket uses a deque, as it does the table.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <span>
#include <type_traits>

namespace lab {

// The bytes of each field of a stored tuple, the time first. Empty if windows store no tuples.
using StoredFields = std::span<const std::int32_t>;

inline std::size_t tuple_bytes(StoredFields fields) noexcept {
  return static_cast<std::size_t>(std::accumulate(fields.begin(), fields.end(), std::int32_t{0}));
}

struct StoredTuples {
  std::int64_t* first;   // time of the oldest tuple
  std::int64_t* last;    // after the time of the youngest tuple
  std::int64_t* limit;   // end of the column of times
  std::int64_t* memory;  // start of the memory, and of the column of times; null: none

  std::size_t count() const noexcept { return static_cast<std::size_t>(last - first); }
  std::size_t room() const noexcept { return static_cast<std::size_t>(limit - memory); }

  // Returns the column of a field. `before`: bytes of the fields before it. Tuple i is item first - memory + i.
  std::byte* column(std::size_t before) const noexcept {
    return reinterpret_cast<std::byte*>(memory) + room() * before;
  }

  // Makes room for a tuple after the last. Without memory, changes nothing and returns false.
  bool reserve(StoredFields fields) noexcept {
    constexpr std::size_t kMinRoom = 4;  // tuples
    if (last != limit) return true;
    // If half of the room is free at the front, move the tuples there. This happens as rarely as doubling the room.
    if (memory != nullptr && count() <= room() / 2) {
      copy(memory, room(), fields);
      return true;
    }
    return move(memory == nullptr ? kMinRoom : 2 * room(), fields);
  }

  // Removes the tuples at the front that are timed before `ts`.
  void purge(std::int64_t ts) noexcept {
    while (first != last && *first < ts) ++first;
  }

  void release() noexcept {
    std::free(memory);
    *this = {};
  }

  // Turns a byte copy of another deque into an independent deque with its own memory. Without memory, empties the
  // deque and returns false.
  bool detach(StoredFields fields) noexcept {
    StoredTuples other = *this;
    *this = {};
    if (other.count() == 0) return true;
    auto* const copied = allocate(other.count(), fields);
    if (copied == nullptr) return false;
    other.copy(copied, other.count(), fields);
    *this = other;
    return true;
  }

 private:
  static std::int64_t* allocate(std::size_t room, StoredFields fields) noexcept {
    return static_cast<std::int64_t*>(std::malloc(room * tuple_bytes(fields)));
  }

  // Moves the tuples into new memory with room for `room` tuples. Without memory, changes nothing and returns false.
  bool move(std::size_t room, StoredFields fields) noexcept {
    auto* const larger = allocate(room, fields);
    if (larger == nullptr) return false;
    auto* const old = memory;
    copy(larger, room, fields);
    std::free(old);
    return true;
  }

  // Copies the tuples to the front of `to`, and makes `to`, with room for `to_room` tuples, the deque's memory. `to`
  // may be the current memory.
  void copy(std::int64_t* to, std::size_t to_room, StoredFields fields) noexcept {
    const std::size_t tuples = count(), begin = static_cast<std::size_t>(first - memory);
    std::size_t before = 0;
    for (std::size_t i = 0; tuples != 0 && i < fields.size(); ++i) {
      const auto bytes = static_cast<std::size_t>(fields[i]);
      std::memmove(reinterpret_cast<std::byte*>(to) + to_room * before, column(before) + begin * bytes, tuples * bytes);
      before += bytes;
    }
    *this = {to, to + tuples, to + to_room, to};
  }
};
static_assert(std::is_trivially_copyable_v<StoredTuples> && sizeof(StoredTuples) == 32);
static_assert(offsetof(StoredTuples, last) == 8 && offsetof(StoredTuples, limit) == 16);
static_assert(offsetof(StoredTuples, memory) == 24);

// Finds the deques in entries of `stride` bytes.
struct StoredPlaces {
  static constexpr std::size_t kHead = 8;     // the entry's stamp
  static constexpr std::size_t kOffset = 16;  // of the deque in a window, after key and left

  std::size_t stride = 0;
  std::size_t windows = 0;  // in an entry, over all inputs
  bool any = false;         // whether tuples are stored

  // Calls `visit(StoredTuples&)` for each deque of these entries.
  template <typename Visit>
  void each(std::span<std::byte> entries, Visit visit) const {
    if (!any) return;
    for (std::size_t at = kHead; at < entries.size(); at += stride) each_of(entries.data() + at, windows, visit);
  }
  // Calls `visit` for the deques of `count` adjacent windows, which start at `first`.
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
