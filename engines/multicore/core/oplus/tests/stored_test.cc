// Tests stored tuples, and joins that store them by key.
#include <cstdio>
#include <deque>
#include <stdexcept>

#include "oplus/tests/stored_cases.h"

namespace {

using lab::OperatorSpec;
using lab::OplusOptions;
using lab::StoredTuples;
using lab::test::behaviour;
using lab::test::Kept;
using lab::test::stored_behaviour;
using lab::test::StoredRun;
using lab::test::Tuples;

// Compares with a deque, with bursts and lulls.
void a_deque_of_bytes_is_a_deque() {
  std::mt19937 random(1);
  StoredTuples tuples{};
  std::deque<std::int64_t> wanted;
  std::int64_t now = 0;
  for (int round = 0; round < 20'000; ++round) {
    for (auto more = random() % 7; more > 0; --more) {
      CHECK(tuples.reserve(sizeof(Kept)));
      const Kept kept{now, 0, 0};
      std::memcpy(tuples.last, &kept, sizeof kept);
      tuples.last += sizeof kept;
      wanted.push_back(now++);
    }
    const std::int64_t until = now - static_cast<std::int64_t>(random() % 40);
    tuples.purge(until, sizeof(Kept));
    while (!wanted.empty() && wanted.front() < until) wanted.pop_front();
    CHECK_EQ(tuples.bytes(), wanted.size() * sizeof(Kept));
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      CHECK_EQ(reinterpret_cast<const Kept*>(tuples.first)[i].ts, wanted[i]);
    }
  }
  StoredTuples other = tuples;
  CHECK(other.detach());
  CHECK(other.memory == nullptr || other.memory != tuples.memory);
  CHECK_EQ(other.bytes(), tuples.bytes());
  other.release();
  tuples.release();
  CHECK(tuples.memory == nullptr && tuples.bytes() == 0);
}

void any_number_of_instances_gives_the_pairs() {
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    lab::test::choose_stored(random);
    const int streams = 2 + static_cast<int>(seed % 4);  // some sides have several
    const auto tuples = lab::test::random_tuples(random, streams, 2, 300, 4);
    const auto wanted = lab::test::stored_oracle(tuples);
    for (const int workers : {1, 2, 4}) {
      OplusOptions options;
      options.workers = workers;
      options.batch = seed % 3 == 0 ? 1 : 64;
      options.shared_nothing = seed % 2 == 1;
      StoredRun run(tuples, options);
      CHECK(run.run() == wanted.records);
      CHECK_EQ(run.runtime().compared(), wanted.compared);
    }
  }
}

// More pairs than a chunk of outputs holds: a tuple resumes at the key where it stopped.
void a_tuple_whose_outputs_find_no_room_is_taken_up_again() {
  behaviour = {};
  behaviour.expires = false;
  behaviour.window = {1, 1'000, true};
  behaviour.buckets = 3;
  stored_behaviour = {3, false};
  std::vector<Tuples> streams(2);
  for (std::size_t s = 0; s < 2; ++s) {
    streams[s].input = static_cast<std::int32_t>(s);
    for (std::int64_t i = 0; i < 700; ++i) {
      streams[s].ts.push_back(i);
      streams[s].base.push_back(i);
      streams[s].count.push_back(0);
      streams[s].value.push_back(5);
    }
  }
  const auto wanted = lab::test::stored_oracle(streams);
  CHECK_EQ(std::ssize(wanted.records), 700 * 700);
  for (const int workers : {1, 2}) {
    OplusOptions options;
    options.workers = workers;
    StoredRun run(streams, options);
    CHECK(run.run() == wanted.records);
    CHECK_EQ(run.runtime().compared(), wanted.compared);
  }
}

// Keys without new tuples are removed, a window or two later.
void what_no_tuple_meets_is_swept() {
  behaviour = {};
  behaviour.expires = false;
  behaviour.window = {1, 10, true};
  behaviour.buckets = 4;
  stored_behaviour = {1, true};
  const OperatorSpec spec = StoredRun::spec();
  Tuples left, right;
  right.input = 1;
  for (std::int64_t i = 0; i < 1000; ++i) {
    left.ts.push_back(i);
    left.base.push_back(i);  // each has its own key
    left.count.push_back(0);
    left.value.push_back(i);
  }
  const lab::StreamView view = lab::test::OperatorRunCase::view(left, false);
  const lab::StreamView none = lab::test::OperatorRunCase::view(right, false);
  const std::vector<lab::OperatorStream> streams{{&view, 0, &lab::test::process_stored<0>},
                                                 {&none, 1, &lab::test::process_stored<1>}};
  lab::WindowState state(spec);
  lab::OutputBuffer out(std::make_shared<lab::OutputPool>(std::vector<std::int32_t>{8, 8, 8}, 1));
  lab::Recorder recorder;
  const std::atomic<bool> stop{false};
  lab::KeyedInstance instance(0, spec, streams, out, recorder, stop, state);
  const std::vector<std::int32_t> owner(4, 0);
  instance.adopt(owner.data());
  for (std::int64_t row = 0; row < 1000; ++row) {
    lab::LogRun run{};
    run.begin = row;
    run.end = row + 1;
    instance.process({&run, 1}, lab::LogOrder{});
    std::size_t keys = 0;
    for (std::int64_t b = 0; b < 4; ++b) keys += state.table(b).count();
    CHECK(keys <= 22);
  }
  CHECK_EQ(instance.in_window(0), 11);
  CHECK_EQ(instance.in_window(1), 0);
}

void a_join_by_key_that_cannot_be_is_refused() {
  behaviour = {};
  behaviour.window = {1, 5, true};
  const auto refused = [](auto change) {
    OperatorSpec spec = StoredRun::spec();
    change(spec);
    try {
      static_cast<void>(lab::checked(spec));
    } catch (const std::invalid_argument&) {
      return true;
    }
    return false;
  };
  CHECK(!refused([](OperatorSpec&) {}));
  CHECK(refused([](OperatorSpec& spec) { spec.stored_bytes = 12; }));
  CHECK(refused([](OperatorSpec& spec) { spec.stored_bytes = 0; }));
  CHECK(refused([](OperatorSpec& spec) { spec.inputs = 1; }));
  CHECK(refused([](OperatorSpec& spec) { spec.window.single = false; }));
}

}  // namespace

int main() {
  a_deque_of_bytes_is_a_deque();
  any_number_of_instances_gives_the_pairs();
  a_tuple_whose_outputs_find_no_room_is_taken_up_again();
  what_no_tuple_meets_is_swept();
  a_join_by_key_that_cannot_be_is_refused();
  std::puts("ok");
  return 0;
}
