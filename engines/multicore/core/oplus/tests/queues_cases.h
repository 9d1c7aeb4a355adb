// Shared-nothing operators for the tests: streams of tuples with a list of words, their keys, and a value.
//
// `behaviour` of oplus/tests/oplus_cases.h defines the operator and its answer.
#pragma once
#include <memory>
#include <numeric>

#include "oplus/queues.h"
#include "oplus/tests/oplus_rig.h"

namespace lab::test {

// One stream; it must not change once it is viewed.
struct Texts : Times {
  std::int32_t input = 0;
  std::vector<std::int64_t> begins, ends, value;
  std::vector<std::int32_t> words;

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
    show_in(result);
    result.columns = {ts.data(), begins.data(), ends.data(), words.data(), value.data()};
    return result;
  }
};

inline const std::vector<ColumnShape> kTextShapes{{4, true}, {8, false}};

inline std::span<const std::int32_t> words_of(const void* const* columns, std::int64_t row) {
  const std::int64_t begin = static_cast<const std::int64_t*>(columns[1])[row];
  const std::int64_t end = static_cast<const std::int64_t*>(columns[2])[row];
  return {static_cast<const std::int32_t*>(columns[3]) + begin, static_cast<std::size_t>(end - begin)};
}

inline std::int64_t route_texts(const std::int32_t* owner, std::int64_t first, const void* const* columns,
                                std::int64_t begin, std::int64_t end, std::uint64_t* masks) {
  const auto* value = static_cast<const std::int64_t*>(columns[4]);
  for (std::int64_t i = begin; i < end; ++i) {
    if (value[i] == behaviour.raises_at) return 0;
    std::uint64_t mask = 0;
    for (const std::int32_t word : words_of(columns, i)) mask |= bit_of(owner[bucket_of(word)], first);
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

// A tuple that map instances made of a text: one key, and the text's value.
inline Tuple read_mapped(const Place& place) { return {place.of(0), place.of(1), 1, place.of(2)}; }

// A text made by `Texts::of`: its words are consecutive, or the copy is damaged.
inline Tuple read_text(const Place& place) {
  const std::span<const std::int32_t> words = words_of(place.columns, static_cast<std::int64_t>(place.row));
  const std::int64_t base = words.empty() ? 0 : words[0];
  for (std::size_t k = 0; k < words.size(); ++k) CHECK_EQ(words[k], base + static_cast<std::int64_t>(k));
  return {place.of(0), base, std::ssize(words), place.of(4)};
}

// The shared-nothing operator that `behaviour` describes. With a map stage if the options set one; its map instances
// drop repeated keys unless it is for a `bag`.
class SharedNothingRun : public OplusCase {
 public:
  SharedNothingRun(const std::vector<Tuples>& streams, OplusOptions options, bool bag = false)
      : OplusCase(shared_nothing(options), spec(bag)) {
    for (const Tuples& one : streams) texts_.push_back(Texts::of(one));
    for (const Texts& one : texts_) {
      if (options.map_instances != 0) {
        runtime_.add_mapped_stream(one.view(), one.input, process_of<read_mapped>(one.input), kMappedTexts);
      } else {
        runtime_.add_stream(one.view(), one.input, process_of<read_text>(one.input), &route_texts, kTextShapes);
      }
    }
    start();
  }

 private:
  static OplusOptions shared_nothing(OplusOptions options) {
    options.shared_nothing = options.map_instances == 0;
    return options;
  }

  static OperatorSpec spec(bool bag) {
    OperatorSpec result = spec_of<0>();
    result.bag = bag;
    return result;
  }

  std::deque<Texts> texts_;  // deque, so that addresses are stable
};

}  // namespace lab::test
