// Tests stored tuples, and joins that store them by key.
#include <deque>

#include "oplus/tests/stored_cases.h"

namespace {

using lab::OperatorSpec;
using lab::OplusOptions;
using lab::StoredTuples;
using lab::test::behaviour;
using lab::test::stored_behaviour;
using lab::test::StoredRun;
using lab::test::StoredTuple;
using lab::test::Tuples;

// Compares with a deque, with bursts and lulls.
void a_deque_of_columns_is_a_deque() {
  std::mt19937 random(1);
  StoredTuples tuples{};
  std::deque<StoredTuple> expected;
  const auto check = [&expected](const StoredTuples& actual) {
    CHECK_EQ(actual.count(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const StoredTuple tuple = lab::test::stored_tuple(actual, i);
      CHECK_EQ(tuple.ts, expected[i].ts);
      CHECK_EQ(tuple.base, expected[i].base);
      CHECK_EQ(tuple.value, expected[i].value);
    }
  };
  std::int64_t now = 0;
  for (int round = 0; round < 20'000; ++round) {
    for (auto more = random() % 7; more > 0; --more) {
      CHECK(tuples.reserve(lab::test::kStoredFields));
      expected.push_back({now, 3 * now, -now});
      lab::test::append_stored(tuples, expected.back());
      ++now;
    }
    const std::int64_t until = now - static_cast<std::int64_t>(random() % 40);
    tuples.purge(until);
    while (!expected.empty() && expected.front().ts < until) expected.pop_front();
    check(tuples);
  }
  CHECK(tuples.room() <= 128);
  StoredTuples other = tuples;
  CHECK(other.detach(lab::test::kStoredFields));
  CHECK(other.memory == nullptr || other.memory != tuples.memory);
  check(other);
  other.release();
  tuples.release();
  CHECK(tuples.memory == nullptr && tuples.count() == 0);
}

void any_number_of_instances_gives_the_pairs() {
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    lab::test::draw_stored(random);
    const int streams = 2 + static_cast<int>(seed % 4);  // some sides have several
    const auto tuples = lab::test::random_tuples(random, streams, 2, 300, 4);
    const auto expected = lab::test::stored_oracle(tuples);
    for (const int workers : {1, 2, 4}) {
      OplusOptions options;
      options.workers = workers;
      options.batch = seed % 3 == 0 ? 1 : 64;
      options.shared_nothing = seed % 2 == 1;
      StoredRun run(tuples, options);
      CHECK(lab::test::sorted(run.run()) == expected.records);
      CHECK_EQ(run.runtime().compared(), expected.compared);
    }
  }
}

// More pairs than a chunk of outputs holds: a tuple resumes at the key where it stopped.
void a_tuple_whose_outputs_find_no_room_is_resumed() {
  behaviour = {.window = {1, 1'000, true}, .buckets = 3, .expires = false};
  stored_behaviour = {3, false};
  std::vector<Tuples> streams(2);
  for (std::size_t s = 0; s < 2; ++s) {
    streams[s].input = static_cast<std::int32_t>(s);
    for (std::int64_t i = 0; i < 700; ++i) streams[s].add(i, i, 0, 5);
  }
  const auto expected = lab::test::stored_oracle(streams);
  CHECK_EQ(std::ssize(expected.records), 700 * 700);
  for (const int workers : {1, 2}) {
    OplusOptions options;
    options.workers = workers;
    StoredRun run(streams, options);
    CHECK(lab::test::sorted(run.run()) == expected.records);
    CHECK_EQ(run.runtime().compared(), expected.compared);
  }
}

// Keys without new tuples are removed, a window or two later, bucket by bucket.
void keys_without_new_tuples_are_removed() {
  behaviour = {.window = {1, 100, true}, .buckets = 4, .expires = false};
  stored_behaviour = {1, true};
  const OperatorSpec spec = lab::test::stored_spec();
  Tuples left, right;
  right.input = 1;
  for (std::int64_t i = 0; i < 5000; ++i) left.add(i, i, 0, i);  // each has its own key
  const lab::StreamView view = lab::test::view_of(left);
  const lab::StreamView none = lab::test::view_of(right);
  const std::vector<lab::OperatorStream> streams{{&view, 0, &lab::test::process_stored<0>},
                                                 {&none, 1, &lab::test::process_stored<1>}};
  lab::WindowState state(spec);
  lab::OutputBuffer out(std::make_shared<lab::OutputPool>(std::vector<std::int32_t>{8, 8, 8}, 1));
  lab::Recorder recorder;
  const std::atomic<bool> stop{false};
  lab::KeyedInstance instance(0, spec, streams, out, recorder, stop, state, false);
  const std::vector<std::int32_t> owner(4, 0);
  instance.adopt(owner.data());
  std::size_t before = 0;
  for (std::int64_t row = 0; row < 5000; ++row) {
    lab::LogRun run{};
    run.begin = row;
    run.end = row + 1;
    instance.process({&run, 1}, lab::LogOrder{});
    std::size_t keys = 0;
    for (std::int64_t b = 0; b < 4; ++b) keys += state.table(b).count();
    CHECK(keys <= 210);
    CHECK(keys + 30 >= before);  // a bucket has a quarter of the keys
    before = keys;
  }
  CHECK_EQ(instance.in_window(0), 101);
  CHECK_EQ(instance.in_window(1), 0);
}

void an_invalid_join_by_key_is_refused() {
  behaviour = {};
  behaviour.window = {1, 5, true};
  void (*const invalid[])(OperatorSpec&) = {
      [](OperatorSpec& spec) { spec.stored_fields[0] = 4; },
      [](OperatorSpec& spec) { spec.stored_fields.clear(); },
      [](OperatorSpec& spec) { spec.inputs = 1; },
      [](OperatorSpec& spec) { spec.window.single = false; },
  };
  static_cast<void>(lab::checked(lab::test::stored_spec()));
  for (const auto change : invalid) {
    OperatorSpec spec = lab::test::stored_spec();
    change(spec);
    CHECK_THROWS(lab::checked(spec), std::invalid_argument);
  }
}

}  // namespace

int main() {
  a_deque_of_columns_is_a_deque();
  any_number_of_instances_gives_the_pairs();
  a_tuple_whose_outputs_find_no_room_is_resumed();
  keys_without_new_tuples_are_removed();
  an_invalid_join_by_key_is_refused();
  return 0;
}
