// Shared-nothing operators for the tests: streams of tuples with a list of words, their keys, and a value.
//
// `behaviour` of oplus/tests/oplus_cases.h defines the operator and its answer.
#pragma once
#include <functional>
#include <memory>
#include <numeric>

#include "check.h"

#include "oplus/queues.h"
#include "oplus/tests/operator_run_case.h"

namespace lab::test {

// One stream; it must not change once it is viewed.
struct Texts {
  std::int32_t input = 0;
  std::vector<std::int64_t> ts, begins, ends, value;
  std::vector<std::int32_t> words;
  std::vector<std::int64_t> heartbeats, due, heartbeat_due;

  void add(std::int64_t at, const std::vector<std::int32_t>& of, std::int64_t what = 1) {
    ts.push_back(at);
    begins.push_back(std::ssize(words));
    words.insert(words.end(), of.begin(), of.end());
    ends.push_back(std::ssize(words));
    value.push_back(what);
  }

  // The same tuples: `count` keys from `base` on become a list of words.
  static Texts of(const Tuples& tuples) {
    Texts result;
    result.input = tuples.input;
    for (std::size_t i = 0; i < tuples.ts.size(); ++i) {
      std::vector<std::int32_t> list(static_cast<std::size_t>(tuples.count[i]));
      std::iota(list.begin(), list.end(), static_cast<std::int32_t>(tuples.base[i]));
      result.add(tuples.ts[i], list, tuples.value[i]);
    }
    result.heartbeats = tuples.heartbeats;
    result.due = tuples.due;
    result.heartbeat_due = tuples.heartbeat_due;
    return result;
  }

  StreamView view() const {
    StreamView result;
    result.ts = ts;
    result.columns = {ts.data(), begins.data(), ends.data(), words.data(), value.data()};
    result.heartbeats = heartbeats;
    result.due = due;
    result.heartbeat_due = heartbeat_due;
    return result;
  }
};

inline const std::vector<ColumnShape> kTextShapes{{4, true}, {8, false}};

inline std::span<const std::int32_t> words_of(const void* const* columns, std::int64_t row) {
  const std::int64_t begin = static_cast<const std::int64_t*>(columns[1])[row];
  const std::int64_t end = static_cast<const std::int64_t*>(columns[2])[row];
  return {static_cast<const std::int32_t*>(columns[3]) + begin, static_cast<std::size_t>(end - begin)};
}

inline std::int64_t route_texts(const std::int32_t* owner, const void* const* columns, std::int64_t begin,
                                std::int64_t end, std::uint64_t* masks) {
  const auto* value = static_cast<const std::int64_t*>(columns[4]);
  for (std::int64_t i = begin; i < end; ++i) {
    if (value[i] == behaviour.raises_at) return 0;
    std::uint64_t mask = 0;
    for (const std::int32_t word : words_of(columns, i)) mask |= std::uint64_t{1} << owner[bucket_of(word)];
    masks[i - begin] = mask;
  }
  return end + 1;
}

// A text's words, and the first of them once more.
inline std::int64_t map_texts(KeySet* keys, const void* const* columns, const std::int64_t* rows, std::int64_t count,
                              std::int64_t* ends) {
  for (std::int64_t i = 0; i < count; ++i) {
    if (static_cast<const std::int64_t*>(columns[4])[rows[i]] == behaviour.raises_at) return 0;
    const std::span<const std::int32_t> words = words_of(columns, rows[i]);
    for (const std::int32_t word : words) add_key(*keys, word);
    if (!words.empty()) add_key(*keys, words[0]);
    if (keys->refused != 0) return i + 1;
    ends[i] = keys->count;
  }
  return count + 1;
}
inline const MappedStream kMappedTexts{&map_texts, {{4, 8}}};

// As `process`, for tuples that map instances made of texts: one key, and the text's value.
template <int kInput>
std::int64_t process_mapped(const InstanceView* view, std::int64_t begin, std::int64_t end, Emit* out) {
  for (std::int64_t i = begin; i < end; ++i) {
    const Place place = place_of(view, i);
    const Told told{place.of<std::int64_t>(0), place.of<std::int64_t>(1), 1, place.of<std::int64_t>(2)};
    const Outcome outcome = process_one<kInput>(view, begin, i, told, out);
    if (outcome == Outcome::kFailed) return 0;
    if (outcome == Outcome::kStopped) return i + 1;
  }
  return end + 1;
}

// As `process`, for texts made by `Texts::of`: their words are consecutive, or the copy is damaged.
template <int kInput>
std::int64_t process_texts(const InstanceView* view, std::int64_t begin, std::int64_t end, Emit* out) {
  for (std::int64_t i = begin; i < end; ++i) {
    const Place place = place_of(view, i);
    const std::span<const std::int32_t> words = words_of(place.columns, static_cast<std::int64_t>(place.row));
    const std::int64_t base = words.empty() ? 0 : words[0];
    const std::int64_t count = std::ssize(words);
    for (std::int64_t k = 0; k < count; ++k) CHECK_EQ(words[static_cast<std::size_t>(k)], base + k);
    const Told told{place.of<std::int64_t>(0), base, count, place.of<std::int64_t>(4)};
    const Outcome outcome = process_one<kInput>(view, begin, i, told, out);
    if (outcome == Outcome::kFailed) return 0;
    if (outcome == Outcome::kStopped) return i + 1;
  }
  return end + 1;
}

// One run of the shared-nothing operator that `behaviour` describes, with threads. With a map stage if the options set
// one; its map instances drop repeated keys unless it is for a `bag`.
class SharedNothingRun {
 public:
  SharedNothingRun(const std::vector<Tuples>& streams, OplusOptions options, bool bag = false)
      : runtime_(with(options), spec(bag)) {
    for (const Tuples& one : streams) texts_.push_back(Texts::of(one));
    for (const Texts& one : texts_) {
      if (options.map_instances != 0) {
        runtime_.add_mapped_stream(one.view(), one.input, one.input == 0 ? &process_mapped<0> : &process_mapped<1>,
                                   kMappedTexts);
        continue;
      }
      runtime_.add_stream(one.view(), one.input, one.input == 0 ? &process_texts<0> : &process_texts<1>, &route_texts,
                          kTextShapes);
    }
    std::vector<std::int32_t> owner;
    for (std::int32_t b = 0; b < behaviour.buckets; ++b) owner.push_back(b % options.workers);
    runtime_.map(owner);
    runtime_.start();
  }

  std::vector<Record> run(const std::function<void(OplusRun&)>& meanwhile = {}) {
    return outputs_of(runtime_, meanwhile);
  }

  OplusRun& runtime() noexcept { return runtime_; }

 private:
  static OplusOptions with(OplusOptions options) {
    options.shared_nothing = options.map_instances == 0;
    options.output_itemsizes = {8, 8, 8};
    options.grid_steps = 50;  // sanitizers pay for all of it
    return options;
  }

  static OperatorSpec spec(bool bag) {
    OperatorSpec result;
    result.bag = bag;
    result.window = behaviour.window;
    result.inputs = 2;
    result.entry_bytes = entry_bytes_of(behaviour.window, 2);
    result.buckets = static_cast<std::int32_t>(behaviour.buckets);
    result.max_outputs = behaviour.max_outputs;
    result.emits_on_update = behaviour.emits_on_update;
    if (behaviour.expires || behaviour.slides) result.expire = &expire;
    return result;
  }

  std::deque<Texts> texts_;  // deque, so that addresses are stable
  OplusRun runtime_;
};

}  // namespace lab::test
