// Declares the C interface of compiled O+ functions. oplus/kernels.py produces them; the offsets must match.
//
// STRETCH's f_MK, f_U, f_O and f_S are the user's functions `keys`, `update`, `expire` and `slide`. Kernels return a
// position plus one, because compiled code returns 0 after an exception.
#pragma once
#include <cstddef>
#include <cstdint>

#include "run/kernel.h"
#include "run/key_table.h"

namespace lab {

// The set to which f_MK adds the keys of one tuple, restricted to the buckets that `owner` assigns to `me`.
struct KeySet {
  void* const* columns;  // int64 keys, int32 buckets, uint64 hashes: `capacity` each, plus one for scratch
  std::int64_t count;
  std::int64_t capacity;
  std::int64_t refused;  // keys that had no room; the caller retries the tuple with more room
  const std::int32_t* owner;
  std::int64_t me;
};
static_assert(offsetof(KeySet, refused) == 24 && offsetof(KeySet, owner) == 32 && offsetof(KeySet, me) == 40);

// Returns the adjacent window instances of a key (run/key_table.h). Creates them, if absent, for a tuple whose earliest
// window begins at `left`. Returns null when tuple `stamp` has already visited them.
using FindWindows = void* (*)(void* instance, std::int64_t key, std::int64_t bucket, std::int64_t left,
                              std::int64_t stamp);

// Makes room for one more tuple in each deque of a key's window instances, which start at `windows`. Returns `windows`,
// or null without memory.
using ReserveStored = void* (*)(void* instance, void* windows);

// The view through which a kernel processes the tuples at places [begin, end) of the log, in order. Place i is row
// rows[i] of stream sources[i]. No window expires before the last place.
//
// If each tuple has exactly one key, a kernel evaluates f_MK stream by stream, which compiles to a vector loop. The key
// of row r of stream s is then at `row_keys[r + shifts[s]]`.
struct InstanceView {
  KeySet* keys;
  std::int64_t stamp;  // position of place `begin` in the log
  void* instance;
  FindWindows find;
  const void* const* const* streams;  // the columns of each stream
  const std::int64_t* rows;
  const std::uint8_t* sources;
  std::int64_t* keyed_places;  // scratch, two values per tuple with keys: its place and the end of its keys
  WindowTable* tables;         // by bucket; a kernel may add entries to a non-empty table with room
  std::int64_t left;           // begin of the earliest live window; not maintained for single windows without f_O
  std::int64_t slot;           // place of that window (WindowShape::place)
  std::int64_t prefetch;       // not 0: tables exceed the caches
  // For operators that store tuples.
  ReserveStored reserve;
  std::int64_t compared;       // out: pairs that a join has compared
  std::int64_t output_demand;  // out: 0, or the output room that the next update of a join needs and lacks
  // For all operators.
  mutable std::int64_t new_entries;  // out: entries that kernels created, excluding those of `find`
  // For tuples with exactly one key.
  mutable std::int64_t single_keys;  // not 0: evaluate by stream; a kernel that finds another number of keys sets 0
  std::int64_t routed;               // not 0: the key of a tuple with one key belongs to this instance
  KeySet* row_keys;                  // room for all rows below
  std::int64_t streams_end;          // number of streams
  const std::int64_t* firsts;        // by stream: the first row that the places span
  const std::int64_t* counts;        // by stream: the number of rows that the places span; may be 0
  std::int64_t* shifts;              // by stream; written by the kernel
};
static_assert(sizeof(InstanceView) == 23 * 8);  // words; compiled code reads their offsets from the bindings

// Runs Algorithm 2's handleInputTuple for places [begin, end), whose streams have one layout. Returns the first place
// that it did not process for lack of room.
using ProcessKernel = std::int64_t (*)(const InstanceView* view, std::int64_t begin, std::int64_t end, Emit* out);

// Computes one mask per row for Algorithm 1. Bit i is set if instance first + i, of 64 instances, is responsible for a
// key of the row. `owner` maps each bucket to its instance.
using RouteKernel = std::int64_t (*)(const std::int32_t* owner, std::int64_t first, const void* const* columns,
                                     std::int64_t begin, std::int64_t end, std::uint64_t* masks);

// Runs f_MK in a map instance (STRETCH, Algorithms 7, 11 and 13). Adds the keys of rows[0], ..., rows[count - 1] to
// `keys`, including repeated ones. ends[i] is the number of keys up to and including row i. Returns the number of rows
// whose keys had room.
using MapKernel = std::int64_t (*)(KeySet* keys, const void* const* columns, const std::int64_t* rows,
                                   std::int64_t count, std::int64_t* ends);

// For entries [begin, end), runs f_O on the windows that begin at `left`. For single windows, also runs f_S and
// advances the windows.
using ExpireKernel = std::int64_t (*)(void* entries, std::int64_t begin, std::int64_t end, std::int64_t left,
                                      Emit* out);

// Compares rows [begin, end) of one input with rows [first, last) of the other. Writes the matching pairs, as many as
// fit, and returns the number of matching pairs, plus one.
using MatchKernel = std::int64_t (*)(const void* const* probe, std::int64_t begin, std::int64_t end,
                                     const void* const* stored, std::int64_t first, std::int64_t last, Pair* pairs,
                                     std::int64_t capacity);

// Emits the results of pairs [begin, end), result i timed `ts[i]`.
using PairKernel = std::int64_t (*)(const void* const* left, const void* const* right, const Pair* pairs,
                                    const std::int64_t* ts, std::int64_t begin, std::int64_t end, Emit* out);

}  // namespace lab
