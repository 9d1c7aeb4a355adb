// Native operators O+ for the tests, random inputs for them, and their expected answers, event by event.
//
// Keyed: a tuple has `count` keys from `base` on, the first of them twice; its value is added to each. With `slides`,
// single windows halve their sums when they advance, towards zero: then the key is removed.
//
// Links, the operators behind it, read records (ts, key, value) with the keys `key` and `key + 1` modulo `modulus`.
// Their f_U emits the value instead of the sum, so that the order of ties does not matter.
//
// Join: tuples with values at most 2 apart make a pair, `max_outputs` records of it.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "streams.h"

#include "oplus/oplus_run.h"
#include "run/clock.h"

namespace lab::test {

using Record = std::tuple<std::int64_t, std::int64_t, std::int64_t>;

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();
constexpr const char* kLogs[] = {"order", "scalegate"};

// The behaviour of an operator. The kernels have no argument for it; threads start after it is set.
struct Behaviour {
  WindowShape window{};
  std::int64_t buckets = 7;
  std::int64_t modulus = 0;  // of a link's keys; 0: this is the first operator
  std::int64_t max_outputs = 1;
  bool emits_on_update = false;
  bool keeps_time = false;  // outputs of updates have the tuple's time, not the window's end
  bool expires = true;
  bool slides = false;
  std::int64_t raises_at = kNever;  // kernels fail at this value, or at this key of a link
  bool expire_raises = false;
  std::int64_t expire_takes_ns = 0;
  std::int64_t holds_at = kNever;  // kernels wait at this value until `gate` is open
};
constexpr int kMaxLinks = 2;
inline Behaviour behaviour;
inline std::array<Behaviour, kMaxLinks> links;
inline std::atomic<bool> gate{true};
inline std::atomic<std::int64_t> evaluated{0};  // tuples whose keys a kernel has evaluated, over all instances

template <int kOperator>
const Behaviour& behaviour_of() {
  if constexpr (kOperator == 0)
    return behaviour;
  else
    return links[kOperator - 1];
}

inline void hold_at(std::int64_t value) {
  if (value != behaviour.holds_at) return;
  // acquire: pairs with the store that opens the gate
  while (!gate.load(std::memory_order_acquire)) std::this_thread::yield();
}

struct Tuples : Times {
  std::int32_t input = 0;
  std::vector<std::int64_t> base, count, value;

  void add(std::int64_t time, std::int64_t first_key, std::int64_t keys, std::int64_t what = 1) {
    ts.push_back(time);
    base.push_back(first_key);
    count.push_back(keys);
    value.push_back(what);
  }
};

struct Sums {
  std::int64_t key;
  std::int64_t left;
  std::int64_t sum;
};

inline std::int64_t bucket_of(std::int64_t key, const Behaviour& op = behaviour) {
  return static_cast<std::int64_t>(mix_key(key) % static_cast<std::uint64_t>(op.buckets));
}

inline void add_key(KeySet& keys, std::int64_t key, const Behaviour& op = behaviour) {
  const std::int64_t bucket = bucket_of(key, op);
  if (keys.owner[bucket] != keys.me) return;
  if (keys.count == keys.capacity) {
    ++keys.refused;
    return;
  }
  static_cast<std::int64_t*>(keys.columns[0])[keys.count] = key;
  static_cast<std::int32_t*>(keys.columns[1])[keys.count] = static_cast<std::int32_t>(bucket);
  static_cast<std::uint64_t*>(keys.columns[2])[keys.count] = mix_key(key);
  ++keys.count;
}

inline void append(Emit* out, std::int64_t ts, std::int64_t first, std::int64_t second) {
  if (out->count == out->capacity) {
    ++out->refused;
    return;
  }
  static_cast<std::int64_t*>(out->columns[0])[out->count] = ts;
  static_cast<std::int64_t*>(out->columns[1])[out->count] = first;
  static_cast<std::int64_t*>(out->columns[2])[out->count] = second;
  ++out->count;
}

// One tuple in the order of the log, as a kernel gets it.
struct Place {
  const void* const* columns;
  std::size_t row;

  std::int64_t of(std::size_t column) const noexcept { return static_cast<const std::int64_t*>(columns[column])[row]; }
};

inline Place place_of(const InstanceView* view, std::int64_t at) noexcept {
  return {view->streams[view->sources[at]], static_cast<std::size_t>(view->rows[at])};
}

struct Tuple {
  std::int64_t ts, base, count, value;
};

// Checks what kernels of single keys rely on (InstanceView).
inline void check_single_keys(const InstanceView* view, std::int64_t at, const Tuple& tuple, std::int64_t bucket) {
  if (view->routed != 0 && tuple.count == 1) CHECK_EQ(view->keys->owner[bucket], view->keys->me);
  if (view->single_keys == 0) return;
  const std::size_t s = view->sources[at];
  const std::int64_t from_first = view->rows[at] - view->firsts[s];
  CHECK(from_first >= 0 && from_first < view->counts[s]);
  CHECK(std::accumulate(view->counts, view->counts + view->streams_end, std::int64_t{0}) <= view->row_keys->capacity);
}

inline Tuple read_keyed(const Place& place) { return {place.of(0), place.of(1), place.of(2), place.of(3)}; }
inline Tuple read_record(const Place& place) { return {place.of(0), place.of(1), 2, place.of(2)}; }

// Key k of a tuple.
inline std::int64_t key_of(const Behaviour& op, std::int64_t base, std::int64_t k) {
  return op.modulus == 0 ? base + k : WindowShape::floor_mod(base + k, op.modulus);
}

inline std::int64_t entry_bytes_of(const WindowShape& window, std::int64_t inputs) {
  return 8 + window.places() * inputs * static_cast<std::int64_t>(sizeof(Sums));
}

// The windows of a key that begin at `left`, one for each input.
template <std::size_t kInputs>
Sums* windows_at(void* entry, const WindowShape& window, std::int64_t left) {
  Sums* const at = static_cast<Sums*>(entry) + static_cast<std::size_t>(window.place(left)) * kInputs;
  for (std::size_t n = 0; n < kInputs && at[0].left != left; ++n) at[kInputs - 1 - n] = {at[0].key, left, 0};
  return at;
}

enum class Outcome { kDone, kStopped, kFailed };

// Processes the tuple at place i of those from `begin` on.
template <std::size_t kInputs>
Outcome process_one(const Behaviour& op, std::size_t input, const InstanceView* view, std::int64_t begin,
                    std::int64_t i, const Tuple& tuple, Emit* out) {
  const WindowShape& window = op.window;
  KeySet& keys = *view->keys;
  if ((op.modulus == 0 ? tuple.value : tuple.base) == op.raises_at) return Outcome::kFailed;
  if (op.modulus == 0) hold_at(tuple.value);
  evaluated.fetch_add(1, std::memory_order_relaxed);  // relaxed: read after the run
  check_single_keys(view, i, tuple, bucket_of(key_of(op, tuple.base, 0), op));
  keys.count = keys.refused = 0;
  for (std::int64_t k = 0; k < tuple.count; ++k) add_key(keys, key_of(op, tuple.base, k), op);
  if (tuple.count != 0) add_key(keys, key_of(op, tuple.base, 0), op);
  if (keys.refused != 0) return Outcome::kStopped;
  view->keyed_places[0] = i;
  view->keyed_places[1] = keys.count;
  const std::int64_t first = window.earliest(tuple.ts);
  // Compiled kernels compute the earliest window this way, without a division.
  const bool lazy = window.single && !op.expires && !op.slides;
  if (!lazy) CHECK_EQ(view->left, first);
  const std::int64_t last = window.single ? first : window.latest(tuple.ts);
  const std::int64_t windows = (last - first) / window.advance + 1;
  if (op.emits_on_update && out->capacity - out->count < keys.count * windows * op.max_outputs) {
    return Outcome::kStopped;
  }
  for (std::int64_t k = 0; k < keys.count; ++k) {
    const std::int64_t key = static_cast<std::int64_t*>(keys.columns[0])[k];
    void* entry = view->find(view->instance, key, bucket_of(key, op), first, view->stamp + i - begin);
    if (entry == nullptr) continue;
    for (std::int64_t left = first; left <= last; left += window.advance) {
      Sums& sums = windows_at<kInputs>(entry, window, left)[input];
      CHECK_EQ(sums.key, key);
      sums.sum += tuple.value;
      if (!op.emits_on_update) continue;
      const std::int64_t output = op.modulus == 0 ? sums.sum : tuple.value;
      const std::int64_t at = op.keeps_time ? tuple.ts : left + window.size;
      for (std::int64_t n = 0; n < op.max_outputs; ++n) append(out, at, key, output + n);
    }
  }
  return Outcome::kDone;
}

// The bit of an instance in a word of a `RouteKernel`.
inline std::uint64_t bit_of(std::int64_t instance, std::int64_t first) {
  return instance < first || instance >= first + 64 ? 0 : std::uint64_t{1} << (instance - first);
}

inline std::int64_t route(const std::int32_t* owner, std::int64_t first, const void* const* columns, std::int64_t begin,
                          std::int64_t end, std::uint64_t* masks) {
  for (std::int64_t i = begin; i < end; ++i) {
    const Tuple tuple = read_keyed({columns, static_cast<std::size_t>(i)});
    if (tuple.value == behaviour.raises_at) return 0;
    masks[i - begin] = 0;
    for (std::int64_t k = 0; k < tuple.count; ++k) {
      masks[i - begin] |= bit_of(owner[bucket_of(tuple.base + k)], first);
    }
  }
  return end + 1;
}

// `kRead` reads a tuple from the columns of a stream.
template <std::size_t kInput, Tuple (*kRead)(const Place&) = read_keyed, int kOperator = 0>
std::int64_t process(const InstanceView* view, std::int64_t begin, std::int64_t end, Emit* out) {
  constexpr std::size_t kInputs = kOperator == 0 ? 2 : 1;
  for (std::int64_t i = begin; i < end; ++i) {
    const Tuple tuple = kRead(place_of(view, i));
    const Outcome outcome = process_one<kInputs>(behaviour_of<kOperator>(), kInput, view, begin, i, tuple, out);
    if (outcome == Outcome::kFailed) return 0;
    if (outcome == Outcome::kStopped) return i + 1;
  }
  return end + 1;
}

template <Tuple (*kRead)(const Place&) = read_keyed>
ProcessKernel process_of(std::int32_t input) {
  return input == 0 ? &process<0, kRead> : &process<1, kRead>;
}

// The sum of the first input, and the second's times 1000.
template <int kOperator>
std::int64_t expire(void* entries, std::int64_t begin, std::int64_t end, std::int64_t left, Emit* out) {
  constexpr std::size_t kInputs = kOperator == 0 ? 2 : 1;
  struct Entry {
    std::int64_t stamp;
    Sums sums[kInputs];
  };
  static_assert(sizeof(Entry) == 8 + kInputs * sizeof(Sums));
  const Behaviour& op = behaviour_of<kOperator>();
  if (op.expire_raises) return 0;
  if (op.expire_takes_ns != 0) {
    for (const std::int64_t until = now_ns() + op.expire_takes_ns; now_ns() < until;) spin_pause();
  }
  auto* all = static_cast<std::byte*>(entries);
  const std::int64_t stride = entry_bytes_of(op.window, kInputs);
  for (std::int64_t i = begin; i < end; ++i) {
    if (out->capacity - out->count < op.max_outputs) return i + 1;
    Entry& entry = *reinterpret_cast<Entry*>(all + i * stride);
    std::int64_t sum = 0;
    for (std::size_t n = 0; n < kInputs; ++n) {
      CHECK_EQ(entry.sums[n].left, left);
      CHECK_EQ(entry.sums[n].key, entry.sums[0].key);
      sum += (n == 0 ? 1 : 1000) * entry.sums[n].sum;
    }
    for (std::int64_t n = 0; op.expires && n < op.max_outputs; ++n) {
      append(out, left + op.window.size, entry.sums[0].key, sum + n);
    }
    if (!op.window.single) continue;
    for (Sums& part : entry.sums) {
      if (op.slides) part.sum /= 2;
      part.left = left + op.window.advance;
    }
  }
  return end + 1;
}

// Columns of joined tuples: ts, id, value.
inline bool pairs_up(std::int64_t a, std::int64_t b) { return std::abs(a - b) <= 2; }

template <bool kByLeft>
std::int64_t match(const void* const* probe, std::int64_t begin, std::int64_t end, const void* const* stored,
                   std::int64_t first, std::int64_t last, Pair* pairs, std::int64_t capacity) {
  const auto* a = static_cast<const std::int64_t*>(probe[2]);
  const auto* b = static_cast<const std::int64_t*>(stored[2]);
  std::int64_t matches = 0;
  for (std::int64_t i = begin; i < end; ++i) {
    if (a[i] == behaviour.raises_at) return 0;
    hold_at(a[i]);
    for (std::int64_t j = first; j < last; ++j) {
      if (!pairs_up(a[i], b[j])) continue;
      if (matches < capacity) pairs[matches] = kByLeft ? Pair{i, j} : Pair{j, i};
      ++matches;
    }
  }
  return matches + 1;
}

inline std::int64_t emit_pairs(const void* const* left, const void* const* right, const Pair* pairs,
                               const std::int64_t* ts, std::int64_t begin, std::int64_t end, Emit* out) {
  const auto* a = static_cast<const std::int64_t*>(left[1]);
  const auto* b = static_cast<const std::int64_t*>(right[1]);
  for (std::int64_t k = begin; k < end; ++k) {
    if (out->capacity - out->count < behaviour.max_outputs) return k + 1;
    for (std::int64_t n = 0; n < behaviour.max_outputs; ++n) append(out, ts[k], a[pairs[k].left], b[pairs[k].right]);
  }
  return end + 1;
}

// Streams of keyed operators, or of a join: ties within and between streams, gaps, silent and empty streams.
inline std::vector<Tuples> random_tuples(std::mt19937& random, int streams, int inputs, int most, int step) {
  const auto pick = [&random](int from, int to) { return std::uniform_int_distribution<int>(from, to)(random); };
  std::vector<Tuples> all(static_cast<std::size_t>(streams));
  for (int s = 0; s < streams; ++s) {
    Tuples& one = all[static_cast<std::size_t>(s)];
    one.input = s % inputs;
    std::int64_t now = pick(-200, 50);
    const int n = pick(0, 5) == 0 ? 0 : pick(most / 2, most);
    for (int i = 0; i < n; ++i) {
      if (pick(0, 2) != 0) now += pick(0, step);
      if (pick(0, 199) == 0) now += pick(0, 40) * step;
      if (pick(0, 9) == 0 && (one.heartbeats.empty() || one.heartbeats.back() < now - 1))
        one.heartbeats.push_back(now - 1);
      one.ts.push_back(now);
      one.base.push_back(pick(-20, 20));
      one.count.push_back(pick(0, 4));
      one.value.push_back(pick(1, 9));
    }
  }
  return all;
}

// Tuple i has the time `i`, keys from 0 on, and the value 1.
inline Tuples steady_tuples(std::int64_t n, std::int64_t keys) {
  Tuples result;
  for (std::int64_t i = 0; i < n; ++i) result.add(i, 0, keys);
  return result;
}

// Two streams of one input; four tuples have each time.
inline std::vector<Tuples> dense_tuples(std::int64_t rows, std::int64_t keys) {
  std::vector<Tuples> streams(2);
  for (Tuples& one : streams) {
    for (std::int64_t i = 0; i < rows; ++i) one.add(i / 4, i % 3, keys);
  }
  return streams;
}

struct KeyedEvent {
  std::int64_t ts;
  std::size_t input;
  std::int64_t base, count, value;
};

// An operator's expected answer to events in order of time, sorted. `end`: the watermark reached after the last event.
inline std::vector<Record> window_oracle(const Behaviour& op, const std::vector<KeyedEvent>& events,
                                         std::optional<std::int64_t> end) {
  const WindowShape& window = op.window;
  std::vector<Record> out;
  std::map<std::int64_t, std::map<std::int64_t, std::array<std::int64_t, 2>>> open;  // left, key, sums
  const auto close = [&](std::int64_t watermark) {
    while (!open.empty() && open.begin()->first + window.size <= watermark) {
      const auto [left, keys] = *open.begin();
      open.erase(open.begin());
      for (const auto& [key, sums] : keys) {
        for (std::int64_t n = 0; op.expires && n < op.max_outputs; ++n) {
          out.emplace_back(left + window.size, key, sums[0] + 1000 * sums[1] + n);
        }
        if (!window.single) continue;
        const std::array<std::int64_t, 2> rest =
            op.slides ? std::array<std::int64_t, 2>{sums[0] / 2, sums[1] / 2} : sums;
        if (rest[0] != 0 || rest[1] != 0) open[left + window.advance][key] = rest;
      }
    }
  };
  const auto floor_to = [&](std::int64_t ts) {
    std::int64_t left = ts / window.advance * window.advance;
    return left > ts ? left - window.advance : left;
  };
  for (const KeyedEvent& event : events) {
    close(event.ts);
    std::set<std::int64_t> keys;
    for (std::int64_t k = 0; k < event.count; ++k) keys.insert(key_of(op, event.base, k));
    std::vector<std::int64_t> lefts;
    for (std::int64_t left = floor_to(event.ts); left + window.size > event.ts; left -= window.advance) {
      lefts.push_back(left);
    }
    if (window.single) lefts = {lefts.back()};
    for (const std::int64_t left : lefts) {
      for (const std::int64_t key : keys) {
        const std::int64_t sum = open[left][key][event.input] += event.value;
        for (std::int64_t n = 0; op.emits_on_update && n < op.max_outputs; ++n) {
          out.emplace_back(op.keeps_time ? event.ts : left + window.size, key,
                           (op.modulus == 0 ? sum : event.value) + n);
        }
      }
    }
  }
  if (end) close(*end);
  std::sort(out.begin(), out.end());
  return out;
}

inline std::vector<Record> keyed_oracle(const std::vector<Tuples>& streams, std::optional<std::int64_t> end = {}) {
  std::vector<KeyedEvent> events;
  for (const auto& [ts, s, i] : total_order(streams)) {
    const Tuples& one = streams[s];
    events.push_back({ts, static_cast<std::size_t>(one.input), one.base[i], one.count[i], one.value[i]});
  }
  return window_oracle(behaviour, events, end);
}

struct JoinAnswer {
  std::vector<Record> records;  // sorted
  std::int64_t compared = 0;
};

// All pairs of the two inputs that are close in time; `by_key`: of those with equal bases.
inline JoinAnswer join_oracle(const std::vector<Tuples>& streams, bool by_key = false) {
  JoinAnswer answer;
  const WindowShape& window = behaviour.window;
  for (const Tuples& left : streams) {
    for (const Tuples& right : streams) {
      if (left.input != 0 || right.input != 1) continue;
      for (std::size_t i = 0; i < left.ts.size(); ++i) {
        for (std::size_t j = 0; j < right.ts.size(); ++j) {
          const std::int64_t a = left.ts[i], b = right.ts[j];
          if (std::abs(a - b) > window.size) continue;
          if (by_key && left.base[i] != right.base[j]) continue;
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

// The expected answer of the first `count` links behind the operator.
inline std::vector<Record> chain_oracle(const std::vector<Tuples>& streams, int count, bool join,
                                        std::optional<std::int64_t> end = {}) {
  std::vector<Record> records = join ? join_oracle(streams).records : keyed_oracle(streams, end);
  std::optional<std::int64_t> watermark;
  if (events_in(streams) != 0) watermark = end.value_or(total_order(streams).back().ts);
  for (int k = 0; k < count; ++k) {
    std::vector<KeyedEvent> events;
    for (const auto& [ts, key, value] : records) events.push_back({ts, 0, key, 2, value});
    if (!events.empty()) watermark = std::max(watermark.value_or(events.back().ts), events.back().ts);
    records = window_oracle(links[static_cast<std::size_t>(k)], events, watermark);
  }
  return records;
}

inline std::vector<Record> sorted(std::vector<Record> records) {
  std::sort(records.begin(), records.end());
  return records;
}

}  // namespace lab::test
