// Joins that store tuples by key, for the tests: their compiled functions in C++, and their expected answers.
//
// Operator 10: every tuple has the keys 0 to `shares` - 1. It is compared with the stored tuples of the other input,
// and is stored with one of the keys, in turn. With `by_key` a tuple has one key, its base. Values at most 2 apart make
// a pair.
#pragma once
#include "check.h"

#include "oplus/tests/operator_run_case.h"

namespace lab::test {

struct Kept {
  std::int64_t ts, base, value;
};

struct KeptWindow {
  std::int64_t key, left;
  StoredTuples tuples;
  std::int64_t count;
};
struct KeptEntry {
  std::int64_t stamp;
  KeptWindow windows[2];
};
static_assert(offsetof(KeptWindow, tuples) == StoredPlaces::kOffset && sizeof(KeptEntry) == 120);

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

inline std::int64_t route_stored(const std::int32_t* owner, const void* const* columns, std::int64_t begin,
                                 std::int64_t end, std::uint64_t* masks) {
  for (std::int64_t i = begin; i < end; ++i) {
    std::uint64_t mask = 0;
    each_stored_key(static_cast<const std::int64_t*>(columns[1])[i],
                    [&](std::int64_t key) { mask |= std::uint64_t{1} << owner[stored_bucket(key)]; });
    masks[i - begin] = mask;
  }
  return end + 1;
}

// Returns the entry of a key, null if absent.
inline KeptEntry* entry_of(const InstanceView* view, std::int64_t key) {
  WindowTable& table = view->tables[stored_bucket(key)];
  const std::span<std::byte> entries = table.entries(sizeof(KeptEntry));
  for (std::size_t at = 0; at < entries.size(); at += sizeof(KeptEntry)) {
    auto* entry = reinterpret_cast<KeptEntry*>(entries.data() + at);
    if (entry->windows[0].key == key) return entry;
  }
  return nullptr;
}

template <int kInput>
void meet(KeptWindow* windows, const Told& told, Emit* out) {
  StoredTuples& others = windows[1 - kInput].tuples;
  others.purge(told.ts - behaviour.window.size, sizeof(Kept));
  const std::int64_t at = behaviour.window.earliest(told.ts) + behaviour.window.size;
  for (const std::byte* one = others.first; one != others.last; one += sizeof(Kept)) {
    const auto& other = *reinterpret_cast<const Kept*>(one);
    if (!pairs_up(told.value, other.value)) continue;
    for (std::int64_t n = 0; n < behaviour.max_outputs; ++n) {
      append(out, at, kInput == 0 ? told.base : other.base, kInput == 0 ? other.base : told.base);
    }
  }
}

// Does the work of compiled code for a join, in the same order: room, stamp, room for one more tuple, f_U, count.
template <int kInput>
std::int64_t process_stored(const InstanceView* given, std::int64_t begin, std::int64_t end, Emit* out) {
  auto* view = const_cast<InstanceView*>(given);  // the kernel writes two fields
  KeySet& keys = *view->keys;
  std::int64_t i = begin;
  for (; i < end; ++i) {
    const Place place = place_of(view, i);
    const Told told{place.of<std::int64_t>(0), place.of<std::int64_t>(1), 0, place.of<std::int64_t>(3)};
    if (told.ts >= view->expire_at) break;
    const std::int64_t left = behaviour.window.earliest(told.ts), stamp = view->stamp + i - begin;
    view->own[0] = i;
    keys.count = keys.refused = 0;
    each_stored_key(told.base, [&](std::int64_t key) {
      const std::int64_t bucket = stored_bucket(key);
      if (view->wanted != 0 || keys.owner[bucket] != keys.me) return;
      const KeptEntry* const known = entry_of(view, key);
      if (known != nullptr && known->stamp != stamp) {
        const auto tuples = static_cast<std::int64_t>(known->windows[1 - kInput].tuples.bytes() / sizeof(Kept));
        if (out->capacity - out->count < tuples * behaviour.max_outputs) {
          view->wanted = tuples * behaviour.max_outputs;
          return;
        }
      }
      auto* windows = static_cast<KeptWindow*>(view->find(view->instance, key, bucket, left, stamp));
      if (windows == nullptr) return;
      if (view->reserve(view->instance, windows) == nullptr) return;
      if (!stored_behaviour.by_key) {  // a state that is not zero keeps its key
        ++windows[0].count;
        ++windows[1].count;
      }
      meet<kInput>(windows, told, out);
      view->compared += static_cast<std::int64_t>(windows[1 - kInput].tuples.bytes() / sizeof(Kept));
      const bool mine = stored_behaviour.by_key || windows[kInput].count % stored_behaviour.shares == key;
      if (!mine) return;
      const Kept kept{told.ts, told.base, told.value};
      std::memcpy(windows[kInput].tuples.last, &kept, sizeof kept);
      windows[kInput].tuples.last += sizeof kept;
    });
    if (view->wanted != 0) break;
  }
  return i + 1;
}

inline JoinAnswer stored_oracle(const std::vector<Tuples>& streams) {
  JoinAnswer answer;
  const WindowShape& window = behaviour.window;
  for (const Tuples& left : streams) {
    for (const Tuples& right : streams) {
      if (left.input != 0 || right.input != 1) continue;
      for (std::size_t i = 0; i < left.ts.size(); ++i) {
        for (std::size_t j = 0; j < right.ts.size(); ++j) {
          const std::int64_t a = left.ts[i], b = right.ts[j];
          if (std::abs(a - b) > window.size) continue;
          if (stored_behaviour.by_key && left.base[i] != right.base[j]) continue;
          ++answer.compared;
          if (!pairs_up(left.value[i], right.value[j])) continue;
          const std::int64_t at = window.earliest(std::max(a, b)) + window.size;
          for (std::int64_t n = 0; n < behaviour.max_outputs; ++n) {
            answer.records.emplace_back(at, left.base[i], right.base[j]);
          }
        }
      }
    }
  }
  std::sort(answer.records.begin(), answer.records.end());
  return answer;
}

// One run, with threads; shared or shared-nothing.
class StoredRun {
 public:
  StoredRun(const std::vector<Tuples>& streams, OplusOptions options) : runtime_(with(options), spec()) {
    for (const Tuples& one : streams) {
      runtime_.add_stream(OperatorRunCase::view(one, false), one.input,
                          one.input == 0 ? &process_stored<0> : &process_stored<1>, &route_stored,
                          {{8, false}, {8, false}, {8, false}});
    }
    runtime_.map(OperatorRunCase::owners(behaviour.buckets, options.workers));
    runtime_.start();
  }

  // Runs with `meanwhile` on another thread. Returns the outputs, sorted; checks that they came in order of time.
  std::vector<Record> run(const std::function<void(OplusRun&)>& meanwhile = {}) {
    std::thread beside;
    if (meanwhile) beside = std::thread([&] { meanwhile(runtime_); });
    runtime_.run();
    if (beside.joinable()) beside.join();
    std::vector<std::int64_t> columns[3];
    std::vector<void*> targets;
    for (auto& column : columns) {
      column.resize(static_cast<std::size_t>(runtime_.rows()));
      targets.push_back(column.data());
    }
    runtime_.collect(targets);
    CHECK(std::is_sorted(columns[0].begin(), columns[0].end()));
    std::vector<Record> out;
    for (std::size_t i = 0; i < columns[0].size(); ++i) out.emplace_back(columns[0][i], columns[1][i], columns[2][i]);
    return sorted(std::move(out));
  }

  OplusRun& runtime() noexcept { return runtime_; }

  static OperatorSpec spec() {
    OperatorSpec result;
    result.window = behaviour.window;
    result.inputs = 2;
    result.entry_bytes = sizeof(KeptEntry);
    result.buckets = static_cast<std::int32_t>(behaviour.buckets);
    result.max_outputs = behaviour.max_outputs;
    result.emits_on_update = true;
    result.stored_bytes = sizeof(Kept);
    result.matches_stored = true;
    return result;
  }

 private:
  static OplusOptions with(OplusOptions options) {
    options.output_itemsizes = {8, 8, 8};
    options.grid_steps = 50;  // sanitizers pay for all of it
    return options;
  }

  OplusRun runtime_;
};

// Draws a random join.
inline void choose_stored(std::mt19937& random) {
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
