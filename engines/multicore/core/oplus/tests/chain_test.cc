// Tests queries of several operators with native kernels: the sequential answer for any number of instances, batch, log
// and room between operators.
#include "oplus/tests/oplus_rig.h"

namespace {

using lab::OplusOptions;
using lab::test::Behaviour;
using lab::test::behaviour;
using lab::test::links;
using lab::test::OperatorRunCase;
using lab::test::options_of;
using lab::test::Record;
using lab::test::sorted;
using lab::test::Tuples;

lab::test::Turns turns;

// The machine has fewer cores than most of these have instances.
template <typename Each>
void for_all_ways(Each each) {
  for (const std::int32_t instances : {1, 2, 4}) {
    if (!turns.next()) continue;  // other ways with as many instances give the same
    each(options_of(instances, 1, "order", 1 << 14));
    each(options_of(instances, 64, "order", instances == 2 ? 8 : 2));
    each(options_of(instances, 64, "scalegate", 4));
    each(options_of(instances, 1, "scalegate", 1 << 14));
  }
}

// Runs `count` links behind `behaviour` in all ways. Returns the number of records.
std::size_t check(const std::vector<Tuples>& streams, int count, std::optional<std::int64_t> end = {}) {
  const std::vector<Record> expected = lab::test::chain_oracle(streams, count, false, end);
  std::map<std::int32_t, std::vector<Record>> sequences;
  for_all_ways([&](OplusOptions options) {
    options.end_watermark = end;
    OperatorRunCase run(streams, options, false, count);
    const std::vector<Record> answer = run.run();
    CHECK(sorted(answer) == expected);
    CHECK_EQ(run.runtime().events(), lab::test::events_in(streams));
    // The same sequence for every batch size and log.
    CHECK(sequences.emplace(options.workers, answer).first->second == answer);
  });
  return expected.size();
}

void chains_give_the_sequential_answer() {
  const Behaviour shapes[] = {
      {.window = {20, 20, false}, .modulus = 5},
      {.window = {7, 30, false}, .modulus = 5},
      {.window = {1, 4, false}, .modulus = 5},
      {.window = {15, 15, false}, .modulus = 5, .emits_on_update = true},
      {.window = {15, 15, false}, .modulus = 5, .emits_on_update = true, .expires = false},
      {.window = {10, 25, true}, .modulus = 5, .slides = true},
      {.window = {6, 18, true}, .modulus = 5, .emits_on_update = true, .expires = false},  // lazy
  };
  std::size_t records = 0;
  for (int seed = 0; seed < 21; ++seed) {
    const bool emits = seed % 3 == 1;
    behaviour = {.window = {5, emits ? 5 : 10, seed % 6 == 4}, .buckets = 13, .emits_on_update = emits};
    links = {shapes[seed % 7], shapes[(3 * seed + seed / 7) % 7]};
    std::mt19937 random(static_cast<unsigned>(seed));
    const auto streams = lab::test::random_tuples(random, 1 + seed % 3, 2, 150, seed % 4 == 3 ? 60 : 5);
    std::optional<std::int64_t> end;
    if (seed % 2 == 1 && lab::test::events_in(streams) != 0) {
      end = lab::test::total_order(streams).back().ts + 13 * (seed % 3);
    }
    records += check(streams, 1 + seed % 2, end);
  }
  CHECK(records > 400 * 21);
}

Tuples tuples(const std::vector<std::int64_t>& times, std::int64_t keys) {
  Tuples one;
  for (const std::int64_t ts : times) one.add(ts, 0, keys);
  return one;
}

// All outputs of the first operator have one time, and exceed the rings between the operators. None is ready before all
// instances have passed that time, so instances must continue to read.
void outputs_of_one_time_may_be_more_than_a_ring_holds() {
  Tuples source = lab::test::steady_tuples(500, 20);
  for (const bool later : {false, true}) {
    behaviour = {.window = {1000, 1000, false}, .buckets = 13, .emits_on_update = true, .expires = false};
    links = {Behaviour{.window = {1000, 1000, false}, .modulus = 3, .emits_on_update = true, .expires = false},
             Behaviour{.window = {500, 500, false}, .modulus = 5}};
    if (later) source.add(2500, 0, 20);
    const std::vector<Tuples> streams{source};
    CHECK_EQ(check(streams, 1), source.ts.size() * 20 * 2);
    CHECK_EQ(check(streams, 2), std::size_t{later ? 4U : 0U});
  }
}

// As above: waiting outputs are counted, and the option limits them.
void outputs_that_wait_for_a_ring_are_counted_and_capped() {
  behaviour = {.window = {1000, 1000, false}, .buckets = 13, .emits_on_update = true, .expires = false};
  links = {Behaviour{.window = {1000, 1000, false}, .modulus = 3, .emits_on_update = true, .expires = false}};
  const std::vector<Tuples> streams{lab::test::steady_tuples(500, 20)};
  OplusOptions options = options_of(1, 1, "order", 16);
  OperatorRunCase run(streams, options, false, 1);
  run.run();
  // One instance emits 10,000 records of one time, of which 16 find room.
  CHECK_EQ(lab::test::counter(run.runtime(), "spilled_rows"), 10'000 - 16);
  CHECK_EQ(lab::test::counter(run.runtime(), "spilled_rows_peak"), 10'000 - 16);
  options.spill_rows = 10'000 - 16;
  OperatorRunCase(streams, options, false, 1).run();
  --options.spill_rows;
  OperatorRunCase capped(streams, options, false, 1);
  const std::string message = capped.failure();
  CHECK_EQ(message.find("instance 0: 9984 records wait for room"), std::size_t{0});
  CHECK(lab::test::contains(message, "the limit is 9983"));
}

void streams_may_be_empty_or_end_early() {
  behaviour = {.window = {10, 10, false}, .buckets = 4};
  links = {Behaviour{.window = {30, 30, false}, .modulus = 5}, Behaviour{.window = {50, 50, false}, .modulus = 5}};
  CHECK_EQ(check(std::vector<Tuples>(1), 2), std::size_t{0});
  CHECK_EQ(check(std::vector<Tuples>(3), 1, 1000), std::size_t{0});
  std::vector<std::int64_t> ts;
  for (std::int64_t i = 0; i < 400; ++i) ts.push_back(i - 200);
  CHECK(check({tuples({-199}, 3), tuples(ts, 2), {}}, 2) > 0);
  CHECK_EQ(check({tuples({7}, 1)}, 1), std::size_t{0});  // no later tuple closes its window
  CHECK_EQ(check({tuples({7}, 1)}, 1, 29), std::size_t{0});
  CHECK_EQ(check({tuples({7}, 1)}, 1, 30), std::size_t{2});  // both windows end by 30
  CHECK_EQ(check({tuples({7}, 1)}, 2, 49), std::size_t{0});
  CHECK_EQ(check({tuples({7}, 1)}, 2, 50), std::size_t{3});
}

// Tuples between operators carry later times than the sources; the next operator's watermark follows them.
void the_watermark_follows_the_tuples_between_operators() {
  behaviour = {.window = {10, 10, false}, .buckets = 4, .emits_on_update = true, .expires = false};
  // Tuples of 3 and 12 become records of 10 and 20, whose update gives 40 twice. The last operator has windows up to
  // 20.
  links = {Behaviour{.window = {40, 40, false}, .modulus = 1, .emits_on_update = true, .expires = false},
           Behaviour{.window = {20, 20, false}, .modulus = 1}};
  CHECK_EQ(check({tuples({3, 12}, 1)}, 1), std::size_t{2});
  CHECK_EQ(check({tuples({3, 12}, 1)}, 2), std::size_t{0});
  CHECK_EQ(check({tuples({3, 12, 52}, 1)}, 2), std::size_t{1});  // the record of 60 gives one of 80: 40 to 60 is over
}

constexpr std::int64_t kMs = 1'000'000;

// Tuples, then silence for a second; heartbeats state after 10 ms that the windows of all operators are over.
void windows_close_while_sources_are_silent(int count) {
  behaviour = {.window = {10, 10, false}, .buckets = 4};
  links = {Behaviour{.window = {10, 10, false}, .modulus = 1}, Behaviour{.window = {5, 5, false}, .modulus = 1}};
  std::vector<Tuples> streams(2);
  for (std::size_t s = 0; s < 2; ++s) {
    streams[s] = tuples({static_cast<std::int64_t>(s), 50}, 1);
    streams[s].heartbeats = {25};
    streams[s].due = {0, 1000 * kMs};
    streams[s].heartbeat_due = {10 * kMs};
  }
  const auto expected = lab::test::chain_oracle(streams, count, false);
  CHECK_EQ(expected.size(), std::size_t{1});
  for (const char* log : lab::test::kLogs) {
    OplusOptions options = options_of(2, 1, log, 16);
    lab::test::use_schedule(options);
    OperatorRunCase run(streams, options, false, count);
    CHECK(run.run() == expected);
    // The output comes long before the next tuple is due, and its latency shows it.
    const auto progress = run.runtime().progress();
    std::int64_t early = 0;
    for (std::size_t step = 0; step < 9; ++step) early += progress.at(step).outputs;
    CHECK_EQ(early, 1);
    CHECK(run.runtime().latency_counts().size() < lab::Histogram::index_of(900'000'000));
  }
}

void under_a_load_each_output_of_the_last_has_a_latency() {
  for (int seed = 0; seed < 18; ++seed) {
    std::mt19937 random(static_cast<unsigned>(seed));
    const bool join = seed % 3 == 2;
    lab::test::draw_behaviour(random, join);
    behaviour.expires |= !behaviour.emits_on_update;
    links = {Behaviour{.window = {10, 30, false}, .modulus = 5},
             Behaviour{.window = {12, 12, false}, .modulus = 5, .emits_on_update = true}};
    auto streams = lab::test::random_tuples(random, join ? 2 : 3, 2, 300, 5);
    lab::test::schedule(streams, 2000, 16, 500);
    const int count = seed / 3 % 3;
    const auto expected = lab::test::chain_oracle(streams, count, join);
    for (const std::int32_t readers : {0, 1, 2}) {
      OplusOptions options = options_of(1 + seed % 4, seed % 2 == 0 ? 1 : 32, lab::test::kLogs[(seed + readers) % 2],
                                        seed % 2 == 0 ? 4 : 1024, readers);
      lab::test::use_schedule(options);
      OperatorRunCase run(streams, options, join, count);
      CHECK(sorted(run.run()) == expected);
      CHECK_EQ(lab::test::total_of(run.runtime().latency_counts()), std::ssize(expected));
      if (readers != 0) CHECK_EQ(lab::test::total_of(run.runtime().service_counts()), std::ssize(expected));
      CHECK_EQ(lab::test::progress_of(run.runtime()).outputs, std::ssize(expected));
      // Without measurement the answer is the same; causes are then not stored.
      options.measure = false;
      CHECK(sorted(OperatorRunCase(streams, options, join, count).run()) == expected);
    }
  }
}

// One tuple causes all outputs; the others follow 300 ms later and cause none. The latency starts at the cause.
void a_latency_counts_from_the_tuple_that_caused_the_output() {
  behaviour = {.window = {10, 10, false}, .buckets = 4, .emits_on_update = true, .expires = false};
  links = {Behaviour{.window = {10, 10, false}, .modulus = 1, .emits_on_update = true, .expires = false}, Behaviour{}};
  std::vector<Tuples> streams{tuples({0, 1, 2}, 1)};
  streams[0].due = {0, 300 * kMs, 301 * kMs};
  OplusOptions options = options_of(1, 1, "order", 16);
  lab::test::use_schedule(options);
  OperatorRunCase run(streams, options, false, 1);
  CHECK_EQ(run.run().size(), std::size_t{3});
  // Without the third's due time, it would be 301 ms late.
  CHECK(run.runtime().latency_counts().size() < lab::Histogram::index_of(250 * kMs));
}

void a_kernel_that_fails_ends_the_run_with_an_error() {
  behaviour = {.window = {5, 5, false}, .buckets = 6};
  std::mt19937 random(7);
  const auto streams = lab::test::random_tuples(random, 2, 2, 400, 5);
  links = {Behaviour{.window = {20, 20, false}, .modulus = 5}, Behaviour{.modulus = 5, .raises_at = 3}};
  for_all_ways([&](const OplusOptions& options) {
    OperatorRunCase run(streams, options, false, 2);
    CHECK(lab::test::contains(run.failure(), "operator link 1: keys or update raised an exception"));
    CHECK(!run.runtime().snapshot());
  });
}

template <typename Change>
void refused(const Change& change) {
  OplusOptions options = options_of(2, 1, "order", 16);
  change(options);
  const std::vector<Tuples> streams(1);
  CHECK_THROWS(OperatorRunCase(streams, options, false, 1), std::invalid_argument);
}

void invalid_chains_are_refused() {
  behaviour = {.window = {10, 10, false}};
  links = {};
  refused([](OplusOptions& o) { o.shared_nothing = true; });
  refused([](OplusOptions& o) { o.link_rows = 0; });
  refused([](OplusOptions& o) { o.link_rows = 12; });
  const std::vector<Tuples> streams(1);
  OperatorRunCase run(streams, options_of(1, 1, "order", 16), false, 1);
  CHECK_THROWS(run.runtime().reconfigure({0}, {0}, 2), std::invalid_argument);
  CHECK_THROWS((lab::test::add_link<0>(run.runtime(), 1)), std::logic_error);  // it has started
  CHECK(run.run().empty());
  OplusOptions options = options_of(1, 1, "order", 16);
  options.output_itemsizes = {8, 8, 8};
  const lab::OperatorSpec link = lab::test::spec_of<1>();
  lab::OplusRun runtime(options, link);
  lab::OperatorSpec two = link;
  two.inputs = 2;
  CHECK_THROWS(runtime.add_operator(two, &lab::test::process<0, lab::test::read_record, 1>, {8}),
               std::invalid_argument);
  CHECK_THROWS(runtime.add_operator(link, &lab::test::process<0, lab::test::read_record, 1>, {4}),
               std::invalid_argument);
  CHECK_THROWS(runtime.map({0}, 1), std::invalid_argument);
  runtime.add_operator(link, &lab::test::process<0, lab::test::read_record, 1>, {8, 8, 8});
  CHECK_THROWS(runtime.start(), std::logic_error);  // without a mapping
}

}  // namespace

int main() {
  chains_give_the_sequential_answer();
  outputs_of_one_time_may_be_more_than_a_ring_holds();
  outputs_that_wait_for_a_ring_are_counted_and_capped();
  streams_may_be_empty_or_end_early();
  the_watermark_follows_the_tuples_between_operators();
  for (const int count : {0, 2}) windows_close_while_sources_are_silent(count);
  under_a_load_each_output_of_the_last_has_a_latency();
  a_latency_counts_from_the_tuple_that_caused_the_output();
  a_kernel_that_fails_ends_the_run_with_an_error();
  invalid_chains_are_refused();
  return 0;
}
