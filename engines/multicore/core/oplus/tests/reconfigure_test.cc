// Tests reconfigurations of operators O+ at named places: before the first tuple, after the last, between tuples of one
// time, over negative times.
#include "oplus/tests/oplus_rig.h"

namespace {

using lab::first_instances;
using lab::OplusOptions;
using lab::OplusRun;
using lab::test::behaviour;
using lab::test::OperatorRunCase;
using lab::test::Record;
using lab::test::sorted;
using lab::test::Tuples;

constexpr std::int64_t kBuckets = 8;
constexpr std::int64_t kHeld = 99;

template <typename Instances>
std::vector<std::int32_t> spread(const Instances& instances, std::int32_t first = 0) {
  return lab::test::spread(kBuckets, instances, first);
}

OplusOptions options_of(const char* log, std::int32_t instances) {
  OplusOptions options = lab::test::options_of(instances, 1, log);
  options.max_instances = 8;
  options.core_count = 1;
  options.log.rows_in_flight = 64;  // a requested switch comes at most 64 rows after the processed ones
  options.batch_rows = 8;
  return options;
}

// `n` tuples, one at each time from `from` on, in each of two streams.
std::vector<Tuples> steps(std::int64_t n, std::int64_t from, std::int64_t step = 1) {
  std::vector<Tuples> streams(2);
  for (std::size_t s = 0; s < 2; ++s) {
    streams[s].input = static_cast<std::int32_t>(s);
    for (std::int64_t i = 0; i < n; ++i) streams[s].add(from + i * step, i % 11, 3, 1 + i % 5);
  }
  return streams;
}

std::vector<Record> oracle(const std::vector<Tuples>& streams, bool join) {
  return join ? lab::test::join_oracle(streams).records : lab::test::keyed_oracle(streams);
}

template <typename Each>
void for_all_kinds(Each each) {
  for (const bool join : {false, true}) {
    behaviour = {.window = {10, 30, false}, .buckets = kBuckets};
    if (join) behaviour.window = {1, 20, true};
    for (const char* log : lab::test::kLogs) each(join, log);
  }
}

void a_switch_called_before_the_run_happens_before_the_first_tuple() {
  for_all_kinds([](bool join, const char* log) {
    const auto streams = steps(300, -150);
    OperatorRunCase run(streams, options_of(log, 1), join);
    CHECK_EQ(run.runtime().reconfigure(first_instances(5), spread(5)), 1);
    CHECK(sorted(run.run()) == oracle(streams, join));
    const auto done = run.runtime().switches();
    CHECK_EQ(done.size(), std::size_t{1});
    CHECK(done[0].before == first_instances(1));
    CHECK(done[0].after == first_instances(5));
    CHECK(done[0].done_ns >= 0 && done[0].called_ns == 0);
    CHECK_EQ(run.runtime().events(), 600);
  });
}

// All times are negative: the watermark starts below them, not at 0.
void switches_take_place_at_negative_times() {
  for_all_kinds([](bool join, const char* log) {
    auto streams = steps(4000, -20'000, 4);
    for (Tuples& one : streams) one.value[2000] = kHeld;
    behaviour.holds_at = kHeld;
    lab::test::gate.store(false, std::memory_order_release);
    OperatorRunCase run(streams, options_of(log, 2), join);
    std::optional<lab::Switch> done;
    const auto answer = run.run([&](OplusRun& runtime) {
      lab::test::wait_for(runtime, 10);
      const std::int64_t number = runtime.reconfigure(first_instances(7), spread(7));
      lab::test::gate.store(true, std::memory_order_release);
      if (number > 0) done = runtime.await(number);
    });
    CHECK(sorted(answer) == oracle(streams, join));
    CHECK(done.has_value());
    CHECK(done->event_ts >= -20'000 + 4 * 9 && done->event_ts < -20'000 + 4 * 4000);
    CHECK_EQ(done->event_ts % 4, 0);
  });
}

void a_switch_called_at_the_end_never_happens_and_no_thread_waits_for_it() {
  for_all_kinds([](bool join, const char* log) {
    // One time for all tuples: a switch requested after the first of them has no later tuple to precede.
    const auto streams = steps(300, 7, 0);
    OperatorRunCase run(streams, options_of(log, 3), join);
    const auto answer = run.run([&](OplusRun& runtime) {
      lab::test::wait_for(runtime, 1);
      const std::int64_t number = runtime.reconfigure(first_instances(1), spread(1));
      if (number > 0) CHECK(!runtime.await(number));
    });
    CHECK(sorted(answer) == oracle(streams, join));
    CHECK_EQ(run.runtime().events(), 600);
    for (const lab::Switch& one : run.runtime().switches()) CHECK_EQ(one.done_ns, -1);
    CHECK_EQ(run.runtime().reconfigure(first_instances(1), spread(1)), -1);
  });
}

void a_later_switch_overtakes_an_earlier_one() {
  for_all_kinds([](bool join, const char* log) {
    const auto streams = steps(300, 0);
    OperatorRunCase run(streams, options_of(log, 2), join);
    // Both stand before the first tuple: the first is never applied.
    CHECK_EQ(run.runtime().reconfigure(first_instances(8), spread(8)), 1);
    CHECK_EQ(run.runtime().reconfigure(first_instances(3), spread(3, 1)), 2);
    CHECK(sorted(run.run()) == oracle(streams, join));
    const auto done = run.runtime().switches();
    CHECK_EQ(done.size(), std::size_t{2});
    CHECK_EQ(done[0].done_ns, -1);
    CHECK(done[1].done_ns >= 0);
    CHECK(done[1].before == first_instances(2));
    CHECK(done[1].after == first_instances(3));
  });
}

// An instance's scratch, skipped rows and own buckets must not survive its time in the pool.
void instances_leave_and_join_again() {
  for_all_kinds([](bool join, const char* log) {
    auto streams = steps(3000, -50);
    for (Tuples& one : streams) one.value[1000] = kHeld;  // so that the run is not over before the first call
    behaviour.holds_at = kHeld;
    lab::test::gate.store(false, std::memory_order_release);  // pairs with the load in `hold_at`
    OperatorRunCase run(streams, options_of(log, 4), join);
    int applied = 0;
    const auto answer = run.run([&](OplusRun& runtime) {
      for (int i = 0;; ++i) {
        const std::vector<std::int32_t> instances = first_instances(i % 2 == 0 ? 1 : 1 + i % 8);
        const std::int64_t number = runtime.reconfigure(instances, spread(instances, i));
        lab::test::gate.store(true, std::memory_order_release);
        if (number < 0 || !runtime.await(number)) return;
        ++applied;
      }
    });
    CHECK(sorted(answer) == oracle(streams, join));
    CHECK_EQ(run.runtime().events(), 6000);
    CHECK(applied > 0);
    if (join) CHECK_EQ(run.runtime().compared(), lab::test::join_oracle(streams).compared);
    std::vector<std::int32_t> before = first_instances(4);
    for (const lab::Switch& one : run.runtime().switches()) {
      if (one.done_ns < 0) continue;
      CHECK(one.before == before);
      CHECK(one.done_ns >= one.called_ns);
      before = one.after;
    }
  });
}

// No instance needs to stay, and the first one may be inactive, also at the end.
void a_switch_names_its_instances() {
  const std::vector<std::vector<std::int32_t>> sets{{2}, {1, 3}, {0, 7}, {3, 4, 5, 6}, {6}, {1, 2, 5}};
  for_all_kinds([&](bool join, const char* log) {
    for (const std::size_t last : {std::size_t{0}, sets.size() - 1}) {  // the set with which the run ends
      auto streams = steps(3000, -50);
      for (Tuples& one : streams) one.value[1000] = kHeld;  // so that the run is not over before the first call
      behaviour.holds_at = kHeld;
      lab::test::gate.store(false, std::memory_order_release);  // pairs with the load in `hold_at`
      OperatorRunCase run(streams, options_of(log, 2), join);
      std::size_t applied = 0;
      const auto answer = run.run([&](OplusRun& runtime) {
        for (std::size_t i = 0; i <= last; ++i) {
          const std::int64_t number = runtime.reconfigure(sets[i], spread(sets[i], static_cast<std::int32_t>(i)));
          lab::test::gate.store(true, std::memory_order_release);
          if (number < 0 || !runtime.await(number)) return;
          ++applied;
          if (const auto seen = runtime.snapshot()) CHECK(seen->active == sets[i]);
        }
      });
      CHECK(sorted(answer) == oracle(streams, join));
      CHECK_EQ(run.runtime().events(), 6000);
      if (join) CHECK_EQ(run.runtime().compared(), lab::test::join_oracle(streams).compared);
      CHECK(applied > 0);
      std::vector<std::int32_t> before = first_instances(2);
      for (const lab::Switch& one : run.runtime().switches()) {
        if (one.done_ns < 0) continue;
        CHECK(one.before == before);
        before = one.after;
      }
      CHECK(before == sets[applied - 1]);
    }
  });
}

void sets_that_are_none_are_refused() {
  behaviour = {.window = {10, 30, false}, .buckets = 2};
  const auto streams = steps(1, 0);
  OperatorRunCase run(streams, options_of("order", 2));
  const auto refusal = [&](std::vector<std::int32_t> instances, std::vector<std::int32_t> owner) {
    return lab::test::failure_of([&] { run.runtime().reconfigure(instances, owner); });
  };
  using lab::test::contains;
  CHECK(contains(refusal({}, {0, 0}), "no active instance; give at least one"));
  CHECK(contains(refusal({0, 8}, {0, 0}), "instance 8 does not exist; give instances from 0 to 7"));
  CHECK(contains(refusal({-1}, {0, 0}), "instance -1 does not exist"));
  CHECK(contains(refusal({3, 1}, {1, 3}), "instance 1 follows instance 3; give each once, in ascending order"));
  CHECK(contains(refusal({3, 3}, {3, 3}), "instance 3 follows instance 3"));
  CHECK(contains(refusal({1, 3}, {1, 2}), "a bucket belongs to instance 2, which is not active"));
  CHECK(contains(refusal({1, 3}, {1}), "there are 1 owners; give one for each of 2 buckets"));
  CHECK(run.run().size() == oracle(streams, false).size());
}

}  // namespace

int main() {
  a_switch_called_before_the_run_happens_before_the_first_tuple();
  switches_take_place_at_negative_times();
  a_switch_called_at_the_end_never_happens_and_no_thread_waits_for_it();
  a_later_switch_overtakes_an_earlier_one();
  instances_leave_and_join_again();
  a_switch_names_its_instances();
  sets_that_are_none_are_refused();
  return 0;
}
