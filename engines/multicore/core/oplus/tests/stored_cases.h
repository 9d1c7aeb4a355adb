// Joins that store tuples by key, for the tests: their compiled functions in C++, and their expected answers.
//
// Operator 10: every tuple has the keys 0 to `shares` - 1. It is compared with the stored tuples of the other input,
// and is stored with one of the keys, in turn. With `by_key` a tuple has one key, its base. Values at most 2 apart make
// a pair.
#pragma once
#include "check.h"

#include "oplus/tests/oplus_rig.h"

namespace lab::test {

struct StoredTuple {
  std::int64_t ts, base, value;
};
inline constexpr std::int32_t kStoredFields[] = {8, 8, 8};

// Returns field `field` of a deque's tuples, the oldest first.
inline std::int64_t* stored_field(const StoredTuples& tuples, std::size_t field) {
  return reinterpret_cast<std::int64_t*>(tuples.column(field * sizeof(std::int64_t))) + (tuples.first - tuples.memory);
}
inline StoredTuple stored_tuple(const StoredTuples& tuples, std::size_t i) {
  return {stored_field(tuples, 0)[i], stored_field(tuples, 1)[i], stored_field(tuples, 2)[i]};
}
inline void append_stored(StoredTuples& tuples, const StoredTuple& tuple) {
  const std::int64_t fields[] = {tuple.ts, tuple.base, tuple.value};
  for (std::size_t field = 0; field < 3; ++field) stored_field(tuples, field)[tuples.count()] = fields[field];
  ++tuples.last;
}

struct StoredWindow {
  std::int64_t key, left;
  StoredTuples tuples;
  std::int64_t count;
};
struct StoredEntry {
  std::int64_t stamp;
  StoredWindow windows[2];
};
static_assert(offsetof(StoredWindow, tuples) == StoredPlaces::kOffset && sizeof(StoredEntry) == 120);

struct StoredBehaviour {
  std::int64_t shares = 1;
  bool by_key = false;
};
inline StoredBehaviour stored_behaviour;

inline std::int64_t stored_bucket(std::int64_t key) { return WindowShape::floor_mod(key, behaviour.buckets); }

template <typename Visit>
void each_stored_key(std::int64_t base, Visit visit) {
  if (stored_behaviour.by_key) return visit(base);
  for (std::int64_t key = 0; key < stored_behaviour.shares; ++key) visit(key);
}

inline std::int64_t route_stored(const std::int32_t* owner, std::int64_t first, const void* const* columns,
                                 std::int64_t begin, std::int64_t end, std::uint64_t* masks) {
  for (std::int64_t i = begin; i < end; ++i) {
    std::uint64_t mask = 0;
    each_stored_key(static_cast<const std::int64_t*>(columns[1])[i],
                    [&](std::int64_t key) { mask |= bit_of(owner[stored_bucket(key)], first); });
    masks[i - begin] = mask;
  }
  return end + 1;
}

// Returns the entry of a key, null if absent.
inline StoredEntry* entry_of(const InstanceView* view, std::int64_t key) {
  WindowTable& table = view->tables[stored_bucket(key)];
  const std::span<std::byte> entries = table.entries(sizeof(StoredEntry));
  for (std::size_t at = 0; at < entries.size(); at += sizeof(StoredEntry)) {
    auto* entry = reinterpret_cast<StoredEntry*>(entries.data() + at);
    if (entry->windows[0].key == key) return entry;
  }
  return nullptr;
}

template <int kInput>
void join_stored(StoredWindow* windows, const Tuple& tuple, Emit* out) {
  StoredTuples& others = windows[1 - kInput].tuples;
  others.purge(tuple.ts - behaviour.window.size);
  const std::int64_t at = behaviour.window.earliest(tuple.ts) + behaviour.window.size;
  for (std::size_t i = 0; i < others.count(); ++i) {
    const StoredTuple other = stored_tuple(others, i);
    if (!pairs_up(tuple.value, other.value)) continue;
    for (std::int64_t n = 0; n < behaviour.max_outputs; ++n) {
      append(out, at, kInput == 0 ? tuple.base : other.base, kInput == 0 ? other.base : tuple.base);
    }
  }
}

// Does the work of compiled code for a join, in the same order: room, stamp, room for one more tuple, f_U, count.
template <int kInput>
std::int64_t process_stored(const InstanceView* input_view, std::int64_t begin, std::int64_t end, Emit* out) {
  auto* view = const_cast<InstanceView*>(input_view);  // the kernel writes two fields
  KeySet& keys = *view->keys;
  std::int64_t i = begin;
  for (; i < end; ++i) {
    const Place place = place_of(view, i);
    const Tuple tuple{place.of(0), place.of(1), 0, place.of(3)};
    const std::int64_t left = behaviour.window.earliest(tuple.ts), stamp = view->stamp + i - begin;
    view->keyed_places[0] = i;
    keys.count = keys.refused = 0;
    each_stored_key(tuple.base, [&](std::int64_t key) {
      const std::int64_t bucket = stored_bucket(key);
      if (view->output_demand != 0 || keys.owner[bucket] != keys.me) return;
      const StoredEntry* const entry = entry_of(view, key);
      if (entry != nullptr && entry->stamp != stamp) {
        const auto tuples = static_cast<std::int64_t>(entry->windows[1 - kInput].tuples.count());
        if (out->capacity - out->count < tuples * behaviour.max_outputs) {
          view->output_demand = tuples * behaviour.max_outputs;
          return;
        }
      }
      auto* windows = static_cast<StoredWindow*>(view->find(view->instance, key, bucket, left, stamp));
      if (windows == nullptr) return;
      if (view->reserve(view->instance, windows) == nullptr) return;
      if (!stored_behaviour.by_key) {  // a state that is not zero keeps its key
        ++windows[0].count;
        ++windows[1].count;
      }
      join_stored<kInput>(windows, tuple, out);
      view->compared += static_cast<std::int64_t>(windows[1 - kInput].tuples.count());
      const bool mine = stored_behaviour.by_key || windows[kInput].count % stored_behaviour.shares == key;
      if (mine) append_stored(windows[kInput].tuples, {tuple.ts, tuple.base, tuple.value});
    });
    if (view->output_demand != 0) break;
  }
  return i + 1;
}

inline JoinAnswer stored_oracle(const std::vector<Tuples>& streams) {
  return join_oracle(streams, stored_behaviour.by_key);
}

inline OperatorSpec stored_spec() {
  OperatorSpec result;
  result.window = behaviour.window;
  result.inputs = 2;
  result.entry_bytes = sizeof(StoredEntry);
  result.buckets = static_cast<std::int32_t>(behaviour.buckets);
  result.max_outputs = behaviour.max_outputs;
  result.emits_on_update = true;
  result.stored_fields.assign(std::begin(kStoredFields), std::end(kStoredFields));
  result.matches_stored = true;
  return result;
}

// Shared or shared-nothing.
class StoredRun : public OplusCase {
 public:
  StoredRun(const std::vector<Tuples>& streams, OplusOptions options) : OplusCase(std::move(options), stored_spec()) {
    for (const Tuples& one : streams) {
      runtime_.add_stream(view_of(one), one.input, one.input == 0 ? &process_stored<0> : &process_stored<1>,
                          &route_stored, {{8, false}, {8, false}, {8, false}});
    }
    start();
  }
};

// Draws a random join.
inline void draw_stored(std::mt19937& random) {
  const auto pick = [&](int from, int to) { return std::uniform_int_distribution<int>(from, to)(random); };
  behaviour = {};
  behaviour.expires = false;
  behaviour.max_outputs = pick(1, 2);
  behaviour.window = {pick(1, 3), 0, true};
  behaviour.window.size = behaviour.window.advance + pick(0, 60);
  stored_behaviour = {pick(1, 12), pick(0, 1) == 1};
  behaviour.buckets = stored_behaviour.by_key ? pick(1, 16) : stored_behaviour.shares;
}

}  // namespace lab::test
