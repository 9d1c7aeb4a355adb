// Tests operators O+ with native kernels: the sequential answer for any number of instances, batch and log.
#include "oplus/tests/oplus_rig.h"

namespace {

using lab::OplusOptions;
using lab::test::Behaviour;
using lab::test::behaviour;
using lab::test::contains;
using lab::test::OperatorRunCase;
using lab::test::options_of;
using lab::test::Record;
using lab::test::sorted;
using lab::test::Tuples;

lab::test::Turns turns;

// Runs `each(instances, batch, log)`. The machine has fewer cores than most of these have instances.
template <typename Each>
void for_all_ways(Each each) {
  for (const std::int32_t instances : {1, 3, 8}) {
    if (!turns.next()) continue;  // other ways with as many instances give the same
    each(options_of(instances, 1, "order"));
    each(options_of(instances, 64, "order"));
    each(options_of(instances, instances == 3 ? 1 : 64, "scalegate"));
  }
}

void keyed(const Behaviour& what, int seed, int most, int step) {
  behaviour = what;
  behaviour.buckets = 13;
  std::mt19937 random(static_cast<unsigned>(seed));
  const auto streams = lab::test::random_tuples(random, 1 + seed % 4, 2, most, step);
  const std::int64_t tuples = lab::test::events_in(streams);
  std::optional<std::int64_t> end;
  if (seed % 2 == 1 && tuples != 0) {
    const auto last = lab::test::total_order(streams).back();
    end = last.ts + behaviour.window.size * (seed % 3);
  }
  const std::vector<Record> expected = lab::test::keyed_oracle(streams, end);
  std::map<std::int32_t, std::vector<Record>> sequences;
  for_all_ways([&](OplusOptions options) {
    options.end_watermark = end;
    OperatorRunCase run(streams, options);
    const std::vector<Record> answer = run.run();
    CHECK(sorted(answer) == expected);
    CHECK_EQ(run.runtime().events(), tuples);
    // The same sequence for every batch size and log.
    CHECK(sequences.emplace(options.workers, answer).first->second == answer);
  });
}

void keyed_operators_give_the_sequential_answer() {
  const Behaviour all[] = {
      {.window = {10, 10, false}},                   // windows that tumble
      {.window = {5, 20, false}},                    // that slide
      {.window = {7, 17, false}, .max_outputs = 3},  // size no multiple of the advance
      {.window = {1, 6, false}},
      {.window = {9, 9, false}, .max_outputs = 2, .emits_on_update = true},
      {.window = {9, 9, false}, .max_outputs = 2, .emits_on_update = true, .expires = false},  // no trace
      {.window = {4, 12, false}, .expires = false},
      {.window = {10, 30, true}},                 // one window that keeps its sums
      {.window = {6, 13, true}, .slides = true},  // keys are removed when their sums are zero
      {.window = {6, 6, true}, .emits_on_update = true, .slides = true},
      {.window = {5, 15, true}, .emits_on_update = true, .expires = false},  // lazy: moved when touched
      {.window = {3, 11, true}, .max_outputs = 2, .emits_on_update = true, .expires = false, .slides = true},
  };
  int seed = 0;
  for (const Behaviour& what : all) {
    for (int i = 0; i < 2; ++i) keyed(what, seed++, 300, i == 1 ? 60 : 5);
  }
}

void a_tuple_may_have_more_keys_than_there_is_room_for_at_first() {
  behaviour = {.window = {10, 20, false}, .buckets = 3};
  std::vector<Tuples> streams(1);
  streams[0].add(0, 0, 255, 1);
  streams[0].add(1, -5000, 6000, 2);
  streams[0].add(2, 7, 257, 3);
  streams[0].add(12, 100, 20'000, 4);
  streams[0].add(50, 0, 1, 5);
  const auto expected = lab::test::keyed_oracle(streams);
  for_all_ways(
      [&](const OplusOptions& options) { CHECK(sorted(OperatorRunCase(streams, options).run()) == expected); });
}

constexpr auto kRecordsOfAChunk = static_cast<std::int64_t>(lab::OutputBuffer::kChunkBytes / sizeof(Record));

Tuples many_keys(std::int64_t keys) {
  Tuples result;
  result.add(0, 0, keys, 1);
  result.add(1, 5, keys, 2);
  result.add(30, 0, 1, 5);
  return result;
}

void outputs_continue_in_the_next_chunk() {
  for (const bool emits : {false, true}) {
    behaviour = {
        .window = {10, 10, false}, .buckets = 5, .max_outputs = 2, .emits_on_update = emits, .expires = !emits};
    const std::vector<Tuples> streams{many_keys(emits ? kRecordsOfAChunk / 3 : kRecordsOfAChunk * 8 / 7)};
    const auto expected = lab::test::keyed_oracle(streams);
    for (const std::int32_t instances : {1, 2}) {
      CHECK(sorted(OperatorRunCase(streams, options_of(instances, 64, "order")).run()) == expected);
    }
  }
}

void a_tuple_that_emits_more_than_a_chunk_holds_is_an_error() {
  behaviour = {.window = {10, 10, false}, .max_outputs = 2, .emits_on_update = true, .expires = false};
  const std::vector<Tuples> streams{many_keys(kRecordsOfAChunk)};
  OperatorRunCase run(streams, options_of(1, 64, "order"));
  const std::string message =
      "one tuple may emit " + std::to_string(2 * kRecordsOfAChunk + 2) + " records, a chunk holds";
  CHECK(contains(run.failure(), message));
}

void a_kernel_that_fails_ends_the_run_with_an_error() {
  std::mt19937 random(7);
  auto streams = lab::test::random_tuples(random, 2, 2, 400, 5);
  while (streams[0].ts.size() < 200 || streams[1].ts.size() < 200)
    streams = lab::test::random_tuples(random, 2, 2, 400, 5);
  streams[0].value[150] = 77;
  streams[0].count[150] = 4;
  for_all_ways([&](const OplusOptions& options) {
    behaviour = {.window = {5, 20, false}, .buckets = 6, .raises_at = 77};
    OperatorRunCase update(streams, options);
    CHECK(contains(update.failure(), "keys or update raised an exception"));
    CHECK(!update.runtime().snapshot());
    behaviour = {.window = {5, 20, false}, .buckets = 6, .expire_raises = true};
    OperatorRunCase expiry(streams, options);
    CHECK(contains(expiry.failure(), "expire or slide raised an exception"));
    behaviour = {.window = {5, 20, true}, .buckets = 6, .raises_at = 77};
    OperatorRunCase join(streams, options, true);
    CHECK(contains(join.failure(), "match raised an exception"));
  });
}

// A thread waits for a switch that comes only after the failure.
void a_failure_releases_a_thread_that_waits_for_a_switch() {
  behaviour = {.window = {5, 20, false}, .buckets = 2, .raises_at = 77};
  std::vector<Tuples> streams(1);
  // One time: the switch would come at a later one, which never comes.
  for (std::int64_t i = 0; i < 3000; ++i) streams[0].add(0, i, 1, i == 2999 ? 77 : 1);
  OperatorRunCase run(streams, options_of(2, 1, "order"));
  const std::string message = run.failure([](lab::OplusRun& runtime) {
    lab::test::wait_for(runtime, 1);
    const std::int64_t number = runtime.reconfigure({1}, {1, 1});
    if (number > 0) CHECK(!runtime.await(number));
  });
  CHECK(contains(message, "raised an exception"));
}

void joins(int seed, int most, int step, const lab::WindowShape& window, std::int64_t max_outputs) {
  behaviour = {.window = window, .max_outputs = max_outputs};
  behaviour.buckets = 1 + seed % 5;
  std::mt19937 random(static_cast<unsigned>(seed));
  auto streams = lab::test::random_tuples(random, 2, 2, most, step);
  for (Tuples& one : streams) {
    for (std::size_t i = 0; i < one.ts.size(); ++i) one.base[i] = static_cast<std::int64_t>(i);  // distinguishes them
  }
  const lab::test::JoinAnswer expected = lab::test::join_oracle(streams);
  std::vector<Record> first;
  for_all_ways([&](const OplusOptions& options) {
    OperatorRunCase run(streams, options, true);
    const std::vector<Record> answer = run.run();
    CHECK(sorted(answer) == expected.records);
    CHECK_EQ(run.runtime().compared(), expected.compared);
    CHECK_EQ(run.runtime().events(), lab::test::events_in(streams));
    if (options.workers != 1) return;
    if (first.empty()) first = answer;
    CHECK(first == answer);
  });
}

void joins_give_the_answer_of_all_pairs() {
  int seed = 0;
  for (const std::int64_t size : {1, 5, 40, 400}) {
    joins(seed++, 500, 5, {1, size, true}, 1);
    joins(seed++, 900, 2, {1, size, true}, 2);
    joins(seed++, 700, 1, {size, size, true}, 1);  // outputs are timed by windows that advance in steps
    joins(seed++, 700, 0, {1, size, true}, 1);     // all of a stream at one time, but for gaps
  }
  joins(seed++, 900, 300, {1, 5, true}, 1);
}

// More threads than cores; the last word is part full.
void more_instances_than_a_word_has_bits_give_the_sequential_answer() {
  behaviour = {.window = {5, 20, false}, .buckets = 300};
  std::mt19937 random(11);
  const auto streams = lab::test::random_tuples(random, 2, 2, 100, 3);
  const std::vector<Record> expected = lab::test::keyed_oracle(streams, {});
  CHECK(sorted(OperatorRunCase(streams, options_of(150, 16, "order")).run()) == expected);
}

void a_join_may_find_more_pairs_than_its_scratch_holds() {
  behaviour = {.window = {1, 1000, true}, .buckets = 3, .max_outputs = 2};
  std::vector<Tuples> streams(2);
  for (std::int64_t i = 0; i < 400; ++i) {
    for (Tuples& one : streams) one.add(i / 3, i, 0, i % 2);  // all match: several chunks of outputs
  }
  streams[1].input = 1;
  const lab::test::JoinAnswer expected = lab::test::join_oracle(streams);
  CHECK_EQ(expected.compared, 160'000);
  for (const std::int32_t instances : {1, 8}) {
    OperatorRunCase run(streams, options_of(instances, 64, "order"), true);
    CHECK(sorted(run.run()) == expected.records);
    CHECK_EQ(run.runtime().compared(), expected.compared);
  }
}

constexpr std::int64_t kMs = 1'000'000;

// Two tuples of one window, then silence; heartbeats state after 10 ms that the window is over.
std::vector<Tuples> silence() {
  std::vector<Tuples> streams(2);
  for (std::size_t s = 0; s < 2; ++s) {
    streams[s].add(static_cast<std::int64_t>(s), 3, 1);
    streams[s].add(50, 4, 1);
    streams[s].due = {0, 100 * kMs};
    streams[s].heartbeats = {15};
    streams[s].heartbeat_due = {10 * kMs};
  }
  return streams;
}

// Heartbeats reach further than the last tuple. They expire no window: the answer ends with the tuples.
void promises_beyond_the_last_tuple_close_nothing() {
  for (const std::optional<std::int64_t> end : {std::optional<std::int64_t>{}, std::optional<std::int64_t>{25}}) {
    behaviour = {.window = {10, 10, false}};
    std::vector<Tuples> streams(2);
    for (Tuples& one : streams) {
      one.add(1, 3, 1);
      one.add(9, 4, 1);
      one.add(19, 5, 1);
      one.due = {0, 0, 0};
      one.heartbeats = {19, 400};  // no more tuples at or before 19, or 400
      one.heartbeat_due = {1000, 20'000'000};
    }
    const auto expected = lab::test::keyed_oracle(streams, end);
    CHECK_EQ(expected.size(), end ? std::size_t{3} : std::size_t{2});
    for (const char* log : lab::test::kLogs) {
      OplusOptions options = options_of(2, 1, log);
      lab::test::use_schedule(options);
      options.end_watermark = end;
      OperatorRunCase run(streams, options);
      CHECK(sorted(run.run()) == expected);
    }
  }
}

// Only heartbeats end the windows: no tuple is processed then.
void the_time_of_expiry_counts_as_busy() {
  behaviour = {.window = {10, 10, false}, .expire_takes_ns = 30 * kMs};
  const auto streams = silence();
  OplusOptions options = options_of(1, 1, "order");
  lab::test::use_schedule(options);
  OperatorRunCase run(streams, options);
  CHECK_EQ(run.run().size(), std::size_t{1});
  std::int64_t busy_ns = 0;
  const auto steps = run.runtime().load_steps();
  for (const lab::LoadStep& step : steps.at(0)) busy_ns += step.busy_ns;
  CHECK(busy_ns >= 30 * kMs);
}

// A controller that waits for processed tuples needs no measurement.
void tuples_are_counted_though_nothing_is_measured() {
  behaviour = {.window = {10, 10, false}, .holds_at = 77};
  std::vector<Tuples> streams(1);
  for (std::int64_t i = 0; i < 100; ++i) streams[0].add(i, i, 1, i == 50 ? 77 : 1);
  OplusOptions options = options_of(1, 1, "order");
  options.measure = false;
  options.log.rows_in_flight = 8;                           // so that rows are read piece by piece
  lab::test::gate.store(false, std::memory_order_release);  // pairs with the load in `hold_at`
  OperatorRunCase run(streams, options);
  std::int64_t seen = 0;
  run.run([&](lab::OplusRun& runtime) {
    while (seen == 0) {
      const std::optional<lab::Snapshot> now = runtime.snapshot();  // the run is blocked: it is not over
      if (now) seen = now->processed[0];
      std::this_thread::yield();
    }
    lab::test::gate.store(true, std::memory_order_release);
  });
  CHECK(seen > 0 && seen <= 50);
}

void options_out_of_range_are_refused() {
  behaviour = {.window = {10, 10, false}, .buckets = 1};
  const std::vector<Tuples> streams(1);
  void (*const wrong[])(OplusOptions&) = {
      [](OplusOptions& o) { o.workers = 0; },    [](OplusOptions& o) { o.max_instances = 257; },
      [](OplusOptions& o) { o.batch = 0; },      [](OplusOptions& o) { o.tuple_buffer = "nosuch"; },
      [](OplusOptions& o) { o.batch_rows = 0; }, [](OplusOptions& o) { o.ring_blocks = 0; },
  };
  for (const auto make_wrong : wrong) {
    OplusOptions options = options_of(1, 1, "order");
    make_wrong(options);
    CHECK_THROWS(OperatorRunCase(streams, options), std::invalid_argument);
  }
  OperatorRunCase run(streams, options_of(1, 1, "order"));
  CHECK_THROWS(run.runtime().reconfigure({}, {0}), std::invalid_argument);
  CHECK_THROWS(run.runtime().reconfigure({0, 1}, {0}), std::invalid_argument);
  CHECK_THROWS(run.runtime().reconfigure({-1}, {-1}), std::invalid_argument);
  CHECK_THROWS(run.runtime().reconfigure({0}, {1}), std::invalid_argument);
  CHECK_THROWS(run.runtime().reconfigure({0}, {0, 0}), std::invalid_argument);
  CHECK(run.run().empty());
  CHECK_EQ(run.runtime().reconfigure({0}, {0}), -1);
  CHECK_THROWS(run.run(), std::logic_error);
}

std::map<std::int64_t, std::int64_t> sums_by_key(const std::vector<Record>& records) {
  std::map<std::int64_t, std::int64_t> result;
  for (const auto& [ts, key, value] : records) result[key] += value;
  return result;
}

// Sources write the times of rows while instances read those of earlier ones.
void rows_with_arrival_times_are_each_in_one_window() {
  behaviour = {.window = {10, 10, false}};
  for (unsigned seed = 0; seed < 8; ++seed) {
    std::mt19937 random(seed);
    auto streams = lab::test::random_tuples(random, 3, 1, 1000, 5);
    lab::test::schedule(streams, 2000, 16, 500);
    const std::int64_t last = lab::test::total_order(streams).back().ts;
    const auto expected = sums_by_key(lab::test::keyed_oracle(streams, last + 100));
    CHECK(!expected.empty());
    for_all_ways([&](lab::OplusOptions options) {
      lab::test::use_schedule(options);
      options.load->tick_ns = 1000;
      options.end_watermark = 1'000'000'000;  // of the flush, after all arrivals
      const auto records = OperatorRunCase(streams, options, false).run();
      CHECK(sums_by_key(records) == expected);
      for (const auto& [ts, key, value] : records) CHECK_EQ(ts % 10, 0);
    });
  }
}

}  // namespace

int main() {
  keyed_operators_give_the_sequential_answer();
  a_tuple_may_have_more_keys_than_there_is_room_for_at_first();
  outputs_continue_in_the_next_chunk();
  a_tuple_that_emits_more_than_a_chunk_holds_is_an_error();
  a_kernel_that_fails_ends_the_run_with_an_error();
  a_failure_releases_a_thread_that_waits_for_a_switch();
  joins_give_the_answer_of_all_pairs();
  more_instances_than_a_word_has_bits_give_the_sequential_answer();
  a_join_may_find_more_pairs_than_its_scratch_holds();
  promises_beyond_the_last_tuple_close_nothing();
  the_time_of_expiry_counts_as_busy();
  tuples_are_counted_though_nothing_is_measured();
  rows_with_arrival_times_are_each_in_one_window();
  options_out_of_range_are_refused();
  return 0;
}
