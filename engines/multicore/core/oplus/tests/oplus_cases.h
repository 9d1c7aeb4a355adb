// Native operators O+ for the tests, random inputs for them, and their expected answers, event by event.
//
// Keyed: a tuple has `count` keys from `base` on, the first of them twice; its value is added to each. With `slides`,
// single windows halve their sums when they advance, towards zero: then the key is removed.
//
// Join: tuples with values at most 2 apart make a pair, `max_outputs` records of it.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "check.h"

#include "oplus/oplus_run.h"
#include "run/clock.h"

namespace lab::test {

using Record = std::tuple<std::int64_t, std::int64_t, std::int64_t>;

// The behaviour of an operator. The kernels have no argument for it; threads start after it is set.
struct Behaviour {
  WindowShape window;
  std::int64_t buckets = 1;
  std::int64_t max_outputs = 1;
  bool emits_on_update = false;
  bool expires = true;
  bool slides = false;
  std::int64_t raises_at = -1;  // kernels fail at this value
  bool expire_raises = false;
  std::int64_t expire_takes_ns = 0;
  std::int64_t holds_at = -1;  // kernels wait at this value until `gate` is open
};
inline Behaviour behaviour;
inline std::atomic<bool> gate{true};
inline std::atomic<std::int64_t> evaluated{0};  // tuples whose keys a kernel has evaluated, over all instances

inline void hold_at(std::int64_t value) {
  if (value != behaviour.holds_at) return;
  // acquire: pairs with the store that opens the gate
  while (!gate.load(std::memory_order_acquire)) std::this_thread::yield();
}

struct Tuples {
  std::int32_t input = 0;
  std::vector<std::int64_t> ts, base, count, value;
  std::vector<std::int64_t> heartbeats, due, heartbeat_due;
};

struct Sums {
  std::int64_t key;
  std::int64_t left;
  std::int64_t sum;
};

inline std::int64_t bucket_of(std::int64_t key) {
  return static_cast<std::int64_t>(mix_key(key) % static_cast<std::uint64_t>(behaviour.buckets));
}

inline void add_key(KeySet& keys, std::int64_t key) {
  const std::int64_t bucket = bucket_of(key);
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

  template <typename T>
  T of(std::size_t column) const noexcept {
    return static_cast<const T*>(columns[column])[row];
  }
};

inline Place place_of(const InstanceView* view, std::int64_t at) noexcept {
  return {view->streams[view->sources[at]], static_cast<std::size_t>(view->rows[at])};
}

// The keys of a tuple: base, base + 1, ...
struct Told {
  std::int64_t ts, base, count, value;
};

inline std::int64_t entry_bytes_of(const WindowShape& window, std::int64_t inputs) {
  return 8 + window.places() * inputs * static_cast<std::int64_t>(sizeof(Sums));
}

// The windows of a key that begin at `left`, one for each input.
template <std::size_t kInputs>
Sums* windows_at(void* found, const WindowShape& window, std::int64_t left) {
  Sums* const at = static_cast<Sums*>(found) + static_cast<std::size_t>(window.place(left)) * kInputs;
  for (std::size_t n = 0; n < kInputs && at[0].left != left; ++n) at[kInputs - 1 - n] = {at[0].key, left, 0};
  return at;
}

enum class Outcome { kDone, kStopped, kFailed };

// Processes the tuple at place i of those from `begin` on.
template <int kInput>
Outcome process_one(const InstanceView* view, std::int64_t begin, std::int64_t i, const Told& told, Emit* out) {
  const WindowShape& window = behaviour.window;
  KeySet& keys = *view->keys;
  if (told.ts >= view->expire_at) return Outcome::kStopped;
  if (told.value == behaviour.raises_at) return Outcome::kFailed;
  hold_at(told.value);
  evaluated.fetch_add(1, std::memory_order_relaxed);  // relaxed: read after the run
  keys.count = keys.refused = 0;
  for (std::int64_t k = 0; k < told.count; ++k) add_key(keys, told.base + k);
  if (told.count != 0) add_key(keys, told.base);
  if (keys.refused != 0) return Outcome::kStopped;
  view->own[0] = i;
  view->own[1] = keys.count;
  const std::int64_t first = window.earliest(told.ts);
  // Compiled kernels compute the earliest window this way, without a division.
  const bool lazy = window.single && !behaviour.expires && !behaviour.slides;
  if (!lazy) CHECK_EQ(view->left, first);
  const std::int64_t last = window.single ? first : window.latest(told.ts);
  const std::int64_t windows = (last - first) / window.advance + 1;
  if (behaviour.emits_on_update && out->capacity - out->count < keys.count * windows * behaviour.max_outputs) {
    return Outcome::kStopped;
  }
  for (std::int64_t k = 0; k < keys.count; ++k) {
    const std::int64_t key = static_cast<std::int64_t*>(keys.columns[0])[k];
    void* found = view->find(view->instance, key, bucket_of(key), first, view->stamp + i - begin);
    if (found == nullptr) continue;
    for (std::int64_t left = first; left <= last; left += window.advance) {
      Sums& sums = windows_at<2>(found, window, left)[kInput];
      CHECK_EQ(sums.key, key);
      sums.sum += told.value;
      if (!behaviour.emits_on_update) continue;
      for (std::int64_t n = 0; n < behaviour.max_outputs; ++n) append(out, left + window.size, key, sums.sum + n);
    }
  }
  return Outcome::kDone;
}

inline std::int64_t route(const std::int32_t* owner, const void* const* columns, std::int64_t begin, std::int64_t end,
                          std::uint64_t* masks) {
  for (std::int64_t i = begin; i < end; ++i) {
    const Place place{columns, static_cast<std::size_t>(i)};
    const auto base = place.of<std::int64_t>(1);
    if (place.of<std::int64_t>(3) == behaviour.raises_at) return 0;
    masks[i - begin] = 0;
    for (std::int64_t k = 0; k < place.of<std::int64_t>(2); ++k) {
      masks[i - begin] |= std::uint64_t{1} << owner[bucket_of(base + k)];
    }
  }
  return end + 1;
}

template <int kInput>
std::int64_t process(const InstanceView* view, std::int64_t begin, std::int64_t end, Emit* out) {
  for (std::int64_t i = begin; i < end; ++i) {
    const Place place = place_of(view, i);
    const Told told{place.of<std::int64_t>(0), place.of<std::int64_t>(1), place.of<std::int64_t>(2),
                    place.of<std::int64_t>(3)};
    const Outcome outcome = process_one<kInput>(view, begin, i, told, out);
    if (outcome == Outcome::kFailed) return 0;
    if (outcome == Outcome::kStopped) return i + 1;
  }
  return end + 1;
}

// Entries of two inputs: the sum of each, the second's times 1000.
inline std::int64_t expire(void* entries, std::int64_t begin, std::int64_t end, std::int64_t left, Emit* out) {
  struct Entry {
    std::int64_t stamp;
    Sums sums[2];
  };
  static_assert(sizeof(Entry) == 8 + 2 * sizeof(Sums));
  if (behaviour.expire_raises) return 0;
  if (behaviour.expire_takes_ns != 0) {
    for (const std::int64_t until = now_ns() + behaviour.expire_takes_ns; now_ns() < until;) spin_pause();
  }
  auto* all = static_cast<std::byte*>(entries);
  const std::int64_t stride = entry_bytes_of(behaviour.window, 2);
  for (std::int64_t i = begin; i < end; ++i) {
    if (out->capacity - out->count < behaviour.max_outputs) return i + 1;
    Entry& entry = *reinterpret_cast<Entry*>(all + i * stride);
    CHECK_EQ(entry.sums[0].left, left);
    CHECK_EQ(entry.sums[1].left, left);
    CHECK_EQ(entry.sums[0].key, entry.sums[1].key);
    const std::int64_t sum = entry.sums[0].sum + 1000 * entry.sums[1].sum;
    for (std::int64_t n = 0; behaviour.expires && n < behaviour.max_outputs; ++n) {
      append(out, left + behaviour.window.size, entry.sums[0].key, sum + n);
    }
    if (!behaviour.window.single) continue;
    for (Sums& part : entry.sums) {
      if (behaviour.slides) part.sum /= 2;
      part.left = left + behaviour.window.advance;
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
  std::int64_t found = 0;
  for (std::int64_t i = begin; i < end; ++i) {
    if (a[i] == behaviour.raises_at) return 0;
    hold_at(a[i]);
    for (std::int64_t j = first; j < last; ++j) {
      if (!pairs_up(a[i], b[j])) continue;
      if (found < capacity) pairs[found] = kByLeft ? Pair{i, j} : Pair{j, i};
      ++found;
    }
  }
  return found + 1;
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

// Draws a random behaviour of an operator.
inline void choose(std::mt19937& random, bool join) {
  const auto pick = [&](int from, int to) { return std::uniform_int_distribution<int>(from, to)(random); };
  behaviour = {};
  behaviour.buckets = pick(1, 16);
  behaviour.max_outputs = pick(1, 2);
  const std::int64_t advance = pick(1, 12);
  if (join) {
    behaviour.window = {1, pick(1, 60), true};
    return;
  }
  behaviour.window = {advance, advance + pick(0, 2) * pick(0, 10), pick(0, 1) == 1};
  behaviour.expires = pick(0, 3) != 0;
  behaviour.slides = behaviour.window.single && pick(0, 1) == 1;
  behaviour.emits_on_update =
      (behaviour.window.single || behaviour.window.advance == behaviour.window.size) && pick(0, 1) == 1;
}

struct Order {
  std::int64_t ts;
  std::size_t stream, row;
  auto operator<=>(const Order&) const = default;
};

inline std::vector<Order> total_order(const std::vector<Tuples>& streams) {
  std::vector<Order> order;
  for (std::size_t s = 0; s < streams.size(); ++s) {
    for (std::size_t i = 0; i < streams[s].ts.size(); ++i) order.push_back({streams[s].ts[i], s, i});
  }
  std::sort(order.begin(), order.end());
  return order;
}

// Gives tuples due times, `gap_ns` apart, with occasional promises, which reach beyond the last tuple.
inline void schedule(std::vector<Tuples>& streams, std::int64_t gap_ns) {
  const auto order = total_order(streams);
  for (Tuples& one : streams) {
    one.heartbeats.clear();
    one.due.resize(one.ts.size());
  }
  for (std::size_t k = 0; k < order.size(); ++k) {
    streams[order[k].stream].due[order[k].row] = static_cast<std::int64_t>(k) * gap_ns;
    if (k % 16 != 0) continue;
    const bool last = k + 1 == order.size();
    if (!last && order[k + 1].ts <= order[k].ts) continue;
    for (Tuples& one : streams) {
      one.heartbeats.push_back(last ? order[k].ts + 500 : order[k + 1].ts - 1);
      one.heartbeat_due.push_back(static_cast<std::int64_t>(k) * gap_ns);
    }
  }
}

// A keyed operator's expected answer, sorted. `end`: the watermark reached after the last tuple.
inline std::vector<Record> keyed_oracle(const std::vector<Tuples>& streams, std::optional<std::int64_t> end = {}) {
  const WindowShape& window = behaviour.window;
  std::vector<Record> out;
  std::map<std::int64_t, std::map<std::int64_t, std::array<std::int64_t, 2>>> open;  // left, key, sums
  const auto close = [&](std::int64_t watermark) {
    while (!open.empty() && open.begin()->first + window.size <= watermark) {
      const auto [left, keys] = *open.begin();
      open.erase(open.begin());
      for (const auto& [key, sums] : keys) {
        for (std::int64_t n = 0; behaviour.expires && n < behaviour.max_outputs; ++n) {
          out.emplace_back(left + window.size, key, sums[0] + 1000 * sums[1] + n);
        }
        if (!window.single) continue;
        const std::array<std::int64_t, 2> kept =
            behaviour.slides ? std::array<std::int64_t, 2>{sums[0] / 2, sums[1] / 2} : sums;
        if (kept[0] != 0 || kept[1] != 0) open[left + window.advance][key] = kept;
      }
    }
  };
  const auto floor_to = [&](std::int64_t ts) {
    std::int64_t left = ts / window.advance * window.advance;
    return left > ts ? left - window.advance : left;
  };
  for (const auto& [ts, s, i] : total_order(streams)) {
    close(ts);
    std::vector<std::int64_t> lefts;
    for (std::int64_t left = floor_to(ts); left + window.size > ts; left -= window.advance) lefts.push_back(left);
    if (window.single) lefts = {lefts.back()};
    for (const std::int64_t left : lefts) {
      for (std::int64_t k = 0; k < streams[s].count[i]; ++k) {
        const std::int64_t key = streams[s].base[i] + k;
        std::int64_t& sum = open[left][key][static_cast<std::size_t>(streams[s].input)];
        sum += streams[s].value[i];
        for (std::int64_t n = 0; behaviour.emits_on_update && n < behaviour.max_outputs; ++n) {
          out.emplace_back(left + window.size, key, sum + n);
        }
      }
    }
  }
  if (end) close(*end);
  std::sort(out.begin(), out.end());
  return out;
}

struct JoinAnswer {
  std::vector<Record> records;  // sorted
  std::int64_t compared = 0;
};

inline JoinAnswer join_oracle(const std::vector<Tuples>& streams) {
  JoinAnswer answer;
  const WindowShape& window = behaviour.window;
  for (std::size_t i = 0; i < streams[0].ts.size(); ++i) {
    for (std::size_t j = 0; j < streams[1].ts.size(); ++j) {
      const std::int64_t a = streams[0].ts[i], b = streams[1].ts[j];
      if (std::abs(a - b) > window.size) continue;
      ++answer.compared;
      if (!pairs_up(streams[0].value[i], streams[1].value[j])) continue;
      const std::int64_t at = window.earliest(std::max(a, b)) + window.size;
      for (std::int64_t n = 0; n < behaviour.max_outputs; ++n) {
        answer.records.emplace_back(at, streams[0].base[i], streams[1].base[j]);
      }
    }
  }
  std::sort(answer.records.begin(), answer.records.end());
  return answer;
}

inline std::vector<Record> sorted(std::vector<Record> records) {
  std::sort(records.begin(), records.end());
  return records;
}

inline std::int64_t tuples_in(const std::vector<Tuples>& streams) {
  std::int64_t total = 0;
  for (const Tuples& one : streams) total += static_cast<std::int64_t>(one.ts.size());
  return total;
}

}  // namespace lab::test
