// Tests downstream readers of TB_out: all take all outputs in order, for any log and number of readers, instances and
// operators. Latency ends with them; outputs of instances that left are taken as well.
#include "oplus/tests/queues_cases.h"

namespace {

using lab::first_instances;
using lab::OplusOptions;
using lab::OplusRun;
using lab::test::Behaviour;
using lab::test::behaviour;
using lab::test::links;
using lab::test::OperatorRunCase;
using lab::test::Record;
using lab::test::SharedNothingRun;
using lab::test::sorted;
using lab::test::spread;
using lab::test::steady_tuples;
using lab::test::Tuples;

OplusOptions options_of(std::int32_t instances, std::int32_t readers, const char* log, std::int64_t link_rows) {
  OplusOptions options = lab::test::options_of(instances, instances == 2 ? 64 : 1, log, link_rows, readers);
  options.ring_blocks = 16;
  return options;
}

lab::test::Turns turns;

template <typename Each>
void for_all_ways(Each each) {
  for (const std::int32_t instances : {1, 2, 4}) {
    for (const std::int32_t readers : {1, 3}) {
      for (const char* log : lab::test::kLogs) {
        if (turns.next()) each(options_of(instances, readers, log, instances == 4 ? 4 : 1 << 12));
      }
    }
  }
}

// The sequence equals that of outputs merged after the run.
void readers_take_what_would_be_collected() {
  std::size_t records = 0;
  for (int seed = 0; seed < 4; ++seed) {
    std::mt19937 random(static_cast<unsigned>(seed));
    const bool join = seed % 4 == 3;
    lab::test::draw_behaviour(random, join);
    lab::test::draw_links(random);
    const int count = seed % 3;
    const auto streams = lab::test::random_tuples(random, join ? 2 : 1 + seed % 3, 2, 150, 5);
    for_all_ways([&](OplusOptions options) {
      OperatorRunCase run(streams, options, join, count);
      const std::vector<Record> answer = run.run();
      CHECK_EQ(run.runtime().events(), lab::test::events_in(streams));
      options.downstream = 0;
      CHECK(answer == OperatorRunCase(streams, options, join, count).run());
      CHECK(sorted(answer) == lab::test::chain_oracle(streams, count, join));
      records += answer.size();
    });
  }
  CHECK(records > 500);
}

// Each tuple emits 20 records, ready at once; a ring holds 16. An instance that reads on meanwhile would pile them up.
void an_instance_waits_for_readers_with_work() {
  behaviour = {.window = {1, 1, false}, .buckets = 13, .emits_on_update = true, .expires = false};
  const std::vector<Tuples> streams{steady_tuples(1000, 20)};
  for (const char* log : lab::test::kLogs) {
    OplusOptions options = options_of(1, 1, log, 16);
    options.log.rows_in_flight = 64;  // an instance reads no more at once
    OperatorRunCase run(streams, options);
    CHECK_EQ(run.run().size(), std::size_t{20'000});
    CHECK(lab::test::counter(run.runtime(), "spilled_rows_peak") <= 64 * 20);
  }
}

// All records have one time, and none is ready before every instance has read everything.
void no_instance_waits_for_readers_without_work() {
  behaviour = {.window = {10'000, 10'000, false}, .buckets = 13, .emits_on_update = true, .expires = false};
  const std::vector<Tuples> streams{steady_tuples(100, 20)};
  for_all_ways([&](OplusOptions options) {
    options.link_rows = 4;
    OperatorRunCase run(streams, options);
    CHECK_EQ(run.run().size(), std::size_t{2'000});
  });
}

// Instances leave with outputs that found no room, and join again before and after these find room.
void instances_leave_with_outputs_that_wait_and_join_again() {
  behaviour = {.window = {60, 60, false}, .buckets = 13, .emits_on_update = true};
  const std::vector<Tuples> streams{steady_tuples(1500, 9)};
  const auto expected = lab::test::keyed_oracle(streams);
  std::int64_t applied = 0;
  const auto change = [&](OplusRun& runtime) {
    for (int i = 0;; ++i) {
      // Sets with and without the first instance, and without a common one.
      const std::vector<std::int32_t> sets[] = {{0}, {1, 3, 5}, {2}, first_instances(2 + i % 5), {4, 5}, {0, 2}};
      const std::vector<std::int32_t>& instances = sets[i % 6];
      const std::int64_t number = runtime.reconfigure(instances, spread(13, instances));
      if (number < 0 || !runtime.await(number)) return;
      ++applied;
    }
  };
  const auto run_round = [&](unsigned round) {
    const char* const log = lab::test::kLogs[round % 2];
    for (const std::int64_t link_rows : {2, 64}) {
      OplusOptions options = options_of(4, 2, log, link_rows);
      options.max_instances = 6;
      options.batch_rows = 8;
      options.log.rows_in_flight = 32;
      OperatorRunCase run(streams, options);
      CHECK(sorted(run.run(change)) == expected);
      SharedNothingRun apart(streams, options);
      CHECK(sorted(apart.run(change)) == expected);
    }
  };
  lab::test::rounds_until(2, run_round, [&] { return applied > 8; });
}

// Lemma 3 at its limit: at the switch, a single instance has emitted records timed far ahead of its watermark, and
// readers have had them. The next instance's outputs have the same time.
void an_instance_that_joins_may_emit_at_the_time_that_readers_have_seen() {
  behaviour = {.window = {1000, 1000, false}, .buckets = 13, .emits_on_update = true, .expires = false, .holds_at = 99};
  std::vector<Tuples> streams{steady_tuples(900, 13)};
  streams[0].value[400] = 99;
  for (const char* log : lab::test::kLogs) {
    lab::test::gate.store(false, std::memory_order_release);  // pairs with the load in `hold_at`
    OplusOptions options = options_of(1, 2, log, 1 << 10);
    options.max_instances = 3;
    options.batch_rows = 8;
    options.log.rows_in_flight = 64;
    OperatorRunCase run(streams, options);
    std::optional<lab::Switch> done;
    const auto answer = run.run([&](OplusRun& runtime) {
      lab::test::wait_for(runtime, 300);
      const std::int64_t number = runtime.reconfigure(first_instances(3), spread(13, 3));
      lab::test::gate.store(true, std::memory_order_release);
      done = runtime.await(number);
    });
    CHECK(sorted(answer) == lab::test::keyed_oracle(streams));
    CHECK(done.has_value() && done->before == first_instances(1) && done->after == first_instances(3));
  }
}

// The input ends soon after instances joined, in the middle of the first operator's window. For the next operator, time
// has passed up to there, not up to that window's end, although joined instances emit no rows before it.
void an_instance_that_joins_makes_no_time_pass() {
  behaviour = {.window = {1000, 1000, false}, .buckets = 13, .holds_at = 99};
  links = {Behaviour{.window = {900, 900, false}, .modulus = 5}};  // one ends in between, at 2,700
  std::vector<Tuples> streams{steady_tuples(2501, 13)};
  streams[0].value[2490] = 99;
  const auto expected = lab::test::chain_oracle(streams, 1, false);
  for (const char* log : lab::test::kLogs) {
    for (const std::int32_t readers : {0, 1}) {
      lab::test::gate.store(false, std::memory_order_release);  // pairs with the load in `hold_at`
      OplusOptions options = options_of(1, readers, log, 64);
      options.max_instances = 3;
      options.batch_rows = 8;
      options.log.rows_in_flight = 4;
      OperatorRunCase run(streams, options, false, 1);
      std::optional<lab::Switch> done;
      const auto answer = run.run([&](OplusRun& runtime) {
        lab::test::wait_for(runtime, 2480);
        const std::int64_t number = runtime.reconfigure(first_instances(3), spread(13, 3));
        lab::test::gate.store(true, std::memory_order_release);
        done = runtime.await(number);
      });
      CHECK(done.has_value() && done->after == first_instances(3) && done->event_ts > 2400);
      CHECK(sorted(answer) == expected);
    }
  }
}

void operators_of_a_chain_change_one_by_one() {
  behaviour = {.window = {5, 10, false},
               .buckets = 13,
               .holds_at = 99};  // so that each operator gets at least one switch in time
  links = {Behaviour{.window = {20, 20, false}, .modulus = 5}, Behaviour{.window = {7, 30, false}, .modulus = 5}};
  std::vector<Tuples> streams{steady_tuples(3000, 5)};
  streams[0].value[400] = 99;
  const auto expected = lab::test::chain_oracle(streams, 2, false);
  for (const char* log : lab::test::kLogs) {
    for (const std::int32_t readers : {0, 1}) {
      OplusOptions options = options_of(2, readers, log, 64);
      options.max_instances = 5;
      options.batch_rows = 16;
      options.log.rows_in_flight = 64;
      std::int64_t applied[3] = {};
      lab::test::gate.store(false, std::memory_order_release);  // pairs with the load in `hold_at`
      OperatorRunCase run(streams, options, false, 2);
      const auto answer = run.run([&](OplusRun& runtime) {
        const auto call = [&](int i) {
          const auto op = static_cast<std::size_t>(i % 3);
          const std::vector<std::int32_t> sets[] = {{0}, {3}, {1, 4}, {0, 1, 2, 3, 4}, {2, 3}, {1}, {0, 4}};
          const std::vector<std::int32_t>& instances = sets[i % 7];
          const std::int64_t buckets = op == 0 ? behaviour.buckets : links[op - 1].buckets;
          return runtime.reconfigure(instances, spread(buckets, instances), op);
        };
        lab::test::wait_for(runtime, 300);
        std::int64_t numbers[3];
        for (int op = 0; op < 3; ++op) numbers[op] = call(op);
        lab::test::gate.store(true, std::memory_order_release);
        for (std::size_t op = 0; op < 3; ++op) applied[op] += runtime.await(numbers[op], op) ? 1 : 0;
        for (int i = 3;; ++i) {
          const auto op = static_cast<std::size_t>(i % 3);
          const std::int64_t number = call(i);
          if (number < 0 || !runtime.await(number, op)) return;
          ++applied[op];
        }
      });
      CHECK(sorted(answer) == expected);
      CHECK_EQ(run.runtime().events(), lab::test::events_in(streams));
      for (std::size_t op = 0; op < 3; ++op) {
        std::vector<std::int32_t> before = first_instances(2);
        for (const lab::Switch& one : run.runtime().switches(op)) {
          if (one.done_ns < 0) continue;
          CHECK(one.before == before);
          before = one.after;
        }
        CHECK(applied[op] > 0);
      }
    }
  }
}

void a_run_that_fails_ends() {
  behaviour = {.window = {5, 5, false}, .buckets = 6, .raises_at = 77};
  std::vector<Tuples> streams{steady_tuples(400, 3)};
  streams[0].value[300] = 77;
  for_all_ways([&](const OplusOptions& options) {
    OperatorRunCase run(streams, options);
    CHECK_THROWS(run.run(), std::runtime_error);
  });
}

void invalid_options_are_refused() {
  behaviour = {.window = {10, 10, false}};
  const std::vector<Tuples> streams(1);
  for (const std::int32_t readers : {-1, 257}) {
    CHECK_THROWS(OperatorRunCase(streams, options_of(1, readers, "order", 16)), std::invalid_argument);
  }
  CHECK_THROWS(OperatorRunCase(streams, options_of(1, 1, "order", 12)), std::invalid_argument);
  CHECK(OperatorRunCase(streams, options_of(2, 2, "order", 16)).run().empty());
}

}  // namespace

int main() {
  readers_take_what_would_be_collected();
  an_instance_waits_for_readers_with_work();
  no_instance_waits_for_readers_without_work();
  instances_leave_with_outputs_that_wait_and_join_again();
  an_instance_that_joins_may_emit_at_the_time_that_readers_have_seen();
  an_instance_that_joins_makes_no_time_pass();
  operators_of_a_chain_change_one_by_one();
  a_run_that_fails_ends();
  invalid_options_are_refused();
  return 0;
}
