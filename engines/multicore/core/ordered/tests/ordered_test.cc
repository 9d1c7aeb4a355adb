// Whole pipelines with native kernels: the outputs are those of sequential execution for any number of workers, batch,
// scheduler, worklist and reordering.
#include <cstdio>

#if defined(__linux__)
#include <sched.h>
#endif

#include "ordered/ordered_run.h"
#include "stages/tests/stage_cases.h"

namespace {

using lab::OrderedOptions;
using lab::OrderedRun;
using lab::test::Behaviour;
using lab::test::behaviours;
using lab::test::contains;
using lab::test::Record;
using lab::test::Rows;
using Kind = lab::StageSpec::Kind;

const char* const kSchedulers[] = {"ct", "lp", "et", "qst"};
// Every worklist with serials of the source. Those of the paper also with serials of operators.
struct Queues {
  const char* serials;
  const char* worklist;
  void apply_to(OrderedOptions& options) const {
    options.serials = serials;
    options.worklist = worklist;
  }
};
const Queues kQueues[] = {{"source", "homed"},   {"source", "hybrid"},   {"source", "partitioned"},
                          {"source", "shared"},  {"operator", "hybrid"}, {"operator", "partitioned"},
                          {"operator", "shared"}};
const char* const kReorderings[] = {"nonblocking", "lock"};

OrderedOptions options_of(int workers, std::int64_t batch) {
  auto options = lab::test::short_run<OrderedOptions>(workers, 2);
  options.batch = batch;
  options.window = batch == 1 ? 64 : 8;
  options.slice_ns = 20'000;
  return options;
}

// Runs the first `operators` behaviours and checks the answer. Returns its number of records.
std::size_t check(const std::vector<Rows>& streams, std::size_t operators, const OrderedOptions& options) {
  const auto runtime = lab::test::run_of<lab::OrderedRun>(options, streams, operators);
  runtime->run();
  const std::vector<Record> expected = lab::test::oracle(streams, operators);
  const std::vector<Record> answer = lab::test::collected(*runtime);
  CHECK_EQ(answer.size(), expected.size());
  CHECK(answer == expected);
  CHECK_EQ(runtime->events(), lab::test::events_in(streams));
  const lab::OrderedCounts counts = runtime->counts();
  CHECK_EQ(counts.adds, counts.sends);
  CHECK_EQ(runtime->totals(0).rows, runtime->events());
  CHECK_EQ(runtime->totals(operators - 1).outputs, runtime->rows());
  for (std::size_t i = 1; i < operators; ++i) CHECK_EQ(runtime->totals(i).rows, runtime->totals(i - 1).outputs);
  return expected.size();
}

std::vector<Rows> input(int seed, int streams, int max_rows, std::int64_t keys = 20) {
  std::mt19937 random(static_cast<unsigned>(seed));
  return lab::test::random_streams(random, streams, max_rows, keys, 3);
}

void every_scheduler_worklist_and_reordering_gives_the_sequential_answer() {
  behaviours = {Behaviour{.kind = Kind::kStateless, .tenths = 8},
                Behaviour{.kind = Kind::kPartitioned, .partitions = 5, .copies = 2, .max_outputs = 2},
                Behaviour{.kind = Kind::kPartitioned, .keys = 3, .partitions = 100, .tenths = 5},
                Behaviour{.kind = Kind::kStateful}};
  const auto streams = input(7, 2, 700);
  lab::test::Turns turns;
  for (const char* scheduler : kSchedulers) {
    for (const Queues& queues : kQueues) {
      for (const char* reordering : kReorderings) {
        for (const int workers : {2, 8}) {
          for (const std::int64_t batch : {1, 64}) {
            if (!turns.next()) continue;
            OrderedOptions options = options_of(workers, batch);
            options.scheduler = scheduler;
            queues.apply_to(options);
            options.reordering = reordering;
            check(streams, 4, options);
          }
        }
      }
    }
  }
}

void as_many_workers_as_permitted_on_few_cores_give_the_sequential_answer() {
  behaviours = {Behaviour{.kind = Kind::kPartitioned, .partitions = 40}, Behaviour{.copies = 2, .max_outputs = 2},
                Behaviour{.kind = Kind::kStateful}};
  const auto streams = input(9, 3, 700);
  for (const Queues& queues : kQueues) {
    OrderedOptions options = options_of(OrderedOptions::kMaxWorkers, 4);
    queues.apply_to(options);
    check(streams, 3, options);
  }
}

// An operator with keys that takes all the time is split, and one that does not is not. The clock measures which
// operator delays others. On a busy machine the second worker may start after all work is done, or the
// worker of the light operator may lose its core. So each outcome must be seen in one run.
void only_an_operator_that_delays_others_is_split() {
  const auto streams = input(8, 3, 4000, 40);
  OrderedOptions options = options_of(2, 16);
  options.window_ns = 200'000;
  for (const bool heavy : {false, true}) {
    behaviours = {Behaviour{.spins = heavy ? 0 : 2000},
                  Behaviour{.kind = Kind::kPartitioned, .keys = 40, .partitions = 4, .spins = heavy ? 2000 : 0}};
    for (bool seen = false; !seen;) {
      const auto runtime = lab::test::run_of<lab::OrderedRun>(options, streams, 2);
      runtime->run();
      CHECK(lab::test::collected(*runtime) == lab::test::oracle(streams, 2));
      seen = (runtime->counts().splits > 0) == heavy;
    }
  }
}

// With all keys in one partition, the partition function is never called.
void a_single_partition_calls_no_partition_function() {
  behaviours = {Behaviour{.kind = Kind::kPartitioned, .partitions = 1}, Behaviour{},
                Behaviour{.kind = Kind::kPartitioned, .partitions = 1}};
  for (const Queues& queues : kQueues) {
    for (const int workers : {1, 4}) {
      lab::test::divisions = 0;
      OrderedOptions options = options_of(workers, 64);
      queues.apply_to(options);
      CHECK(check(input(5, 2, 900), 3, options) > 100);
      CHECK_EQ(lab::test::divisions.load(), 0);
    }
  }
}

void one_key_may_have_all_records() {
  for (const Queues& queues : kQueues) {
    for (const int workers : {1, 2, 4, 8}) {
      behaviours = {Behaviour{.kind = Kind::kPartitioned, .keys = 1}, Behaviour{.kind = Kind::kPartitioned, .keys = 2}};
      OrderedOptions options = options_of(workers, workers % 4 == 0 ? 64 : 1);
      queues.apply_to(options);
      check(input(workers, 1, 3000), 2, options);
    }
  }
}

// The oldest unit lies in a partition that a worker reaches last: the window fills, and all workers turn to it.
void a_small_window_does_not_block() {
  behaviours = {Behaviour{.kind = Kind::kPartitioned, .keys = 50, .partitions = 64},
                Behaviour{.kind = Kind::kPartitioned, .keys = 50, .partitions = 3}};
  for (const Queues& queues : kQueues) {
    for (const char* scheduler : kSchedulers) {
      for (const std::int64_t window : {1, 3}) {
        for (const int workers : {1, 4}) {
          OrderedOptions options = options_of(workers, 16);
          options.window = window;
          queues.apply_to(options);
          options.scheduler = scheduler;
          options.slice_ns = 1;
          check(input(3, 2, 400, 50), 2, options);
        }
      }
    }
  }
}

// With serials of operators, a partition's worker runs ahead of the reordering buffer and is refused. The next unit
// lies in a partition without a worker, so the worker turns to other work.
void a_refused_worker_turns_to_the_unit_that_all_wait_for() {
  behaviours = {Behaviour{.kind = Kind::kPartitioned, .keys = 50, .partitions = 50, .copies = 3, .max_outputs = 3},
                Behaviour{.kind = Kind::kPartitioned, .keys = 50, .partitions = 50}};
  for (const int workers : {1, 3}) {
    OrderedOptions options = options_of(workers, 1);
    options.window = 4;
    Queues{"operator", "partitioned"}.apply_to(options);
    const auto streams = input(4, 1, 2000, 50);
    for (bool refused = false; !refused;) {  // the first run has one worker, which runs ahead of itself
      const auto runtime = lab::test::run_of<lab::OrderedRun>(options, streams, 2);
      runtime->run();
      CHECK(lab::test::collected(*runtime) == lab::test::oracle(streams, 2));
      refused = runtime->counts().refused > 0;
      if (workers == 1) CHECK(refused);
      if (workers == 1) CHECK_EQ(runtime->counts().deferrals, runtime->counts().refused);
    }
  }
}

void inputs_may_be_empty_or_end_early() {
  behaviours = {Behaviour{.kind = Kind::kPartitioned}, Behaviour{}};
  for (const int workers : {1, 2, 4}) {
    const OrderedOptions options = options_of(workers, 4);
    CHECK_EQ(check({}, 2, options), std::size_t{0});
    CHECK_EQ(check(std::vector<Rows>(1), 2, options), std::size_t{0});
    CHECK_EQ(check(std::vector<Rows>(3), 2, options), std::size_t{0});
    auto streams = input(1, 3, 100);
    streams[1] = {};
    CHECK(check(streams, 2, options) > 0);
    std::vector<Rows> one(1);
    one[0].add({5, 1, 2, 3});
    CHECK_EQ(check(one, 2, options), std::size_t{1});
  }
}

// Records of three streams that alternate one by one fill whole units; long runs become views.
void records_of_several_streams_share_units() {
  behaviours = {};
  std::vector<Rows> streams(3);
  for (std::int64_t i = 0; i < 960; ++i) streams[static_cast<std::size_t>(i % 3)].add({i, i, 0, i});
  for (std::int64_t i = 0; i < 640; ++i) streams[1].add({1000 + i, i, 0, i});
  OrderedOptions options = options_of(1, 64);
  const auto runtime = lab::test::run_of<lab::OrderedRun>(options, streams, 1);
  runtime->run();
  CHECK(lab::test::collected(*runtime) == lab::test::oracle(streams, 1));
  CHECK(runtime->counts().adds < 2 * 1600 / 64);
}

void under_a_load_each_output_has_a_latency_and_every_record_is_counted() {
  for (int seed = 0; seed < 8; ++seed) {
    behaviours = {Behaviour{.kind = Kind::kPartitioned, .tenths = 8, .copies = 3, .max_outputs = 3},
                  Behaviour{.kind = seed % 2 == 0 ? Kind::kStateless : Kind::kStateful},
                  Behaviour{.kind = Kind::kPartitioned, .tenths = 5}};
    auto streams = input(seed, 1 + seed % 3, 400);
    lab::test::schedule(streams, 3000);
    for (const int workers : {1, 2, 4}) {
      OrderedOptions options = options_of(workers, seed % 4 < 2 ? 1 : 64);
      options.load = lab::LoadOptions{0, 0, seed % 4 == 3};
      options.ring_blocks = 1024;
      kQueues[seed % 7].apply_to(options);
      const auto runtime = lab::test::run_of<lab::OrderedRun>(options, streams, 3);
      runtime->run();
      const auto expected = lab::test::oracle(streams, 3);
      CHECK(lab::test::collected(*runtime) == expected);
      CHECK_EQ(lab::test::total_of(runtime->latency_counts()), std::ssize(expected));
      CHECK_EQ(lab::test::total_of(runtime->service_counts()), std::ssize(expected));
      const lab::test::ProgressTotals progress = lab::test::progress_of(*runtime);
      CHECK_EQ(progress.consumed, lab::test::events_in(streams));
      CHECK_EQ(progress.emitted, lab::test::events_in(streams));
      CHECK_EQ(progress.outputs, std::ssize(expected));
      options.measure = false;
      const auto unmeasured = lab::test::run_of<lab::OrderedRun>(options, streams, 3);
      unmeasured->run();
      CHECK(lab::test::collected(*unmeasured) == expected);
    }
  }
}

// One stream is silent for 300 ms; its heartbeats release the other's records long before.
void heartbeats_of_a_silent_stream_let_others_pass() {
  constexpr std::int64_t kMs = 1'000'000;
  behaviours = {Behaviour{.kind = Kind::kPartitioned}, Behaviour{.kind = Kind::kStateful}};
  std::vector<Rows> streams(2);
  for (std::int64_t i = 0; i < 100; ++i) {
    streams[1].add({i, i, 0, i});
    streams[1].due.push_back(i * kMs / 10);
  }
  streams[0].add({500, 1, 0, 1});
  streams[0].due = {300 * kMs};
  streams[0].heartbeats = {99};
  streams[0].heartbeat_due = {10 * kMs};
  for (const int workers : {1, 2, 4}) {
    OrderedOptions options = options_of(workers, 8);
    options.load = lab::LoadOptions{0, 0, false};
    options.ring_blocks = 1024;
    const auto runtime = lab::test::run_of<lab::OrderedRun>(options, streams, 2);
    runtime->run();
    CHECK(lab::test::collected(*runtime) == lab::test::oracle(streams, 2));
    const auto progress = runtime->progress();
    std::int64_t early = 0;
    for (std::size_t step = 0; step < 2; ++step) early += progress.at(step).outputs;
    CHECK_EQ(early, 100);
    CHECK(runtime->latency_counts().size() < lab::Histogram::index_of(250 * kMs));
  }
}

// A latency counts from the due time of the record that caused the output, for any other records in its unit.
void a_latency_counts_from_the_record_that_caused_the_output() {
  constexpr std::int64_t kMs = 1'000'000;
  // The first record in the pipeline takes tens of ms and delays the others; they must count their wait.
  behaviours = {Behaviour{.kind = Kind::kPartitioned, .keys = 5}, Behaviour{.kind = Kind::kPartitioned, .keys = 3}};
  std::vector<Rows> streams(1);
  for (std::int64_t i = 0; i < 8; ++i) {
    streams[0].add({i, i, 0, i});
    streams[0].due.push_back(i == 7 ? 200 * kMs : 0);
  }
  OrderedOptions options = options_of(1, 8);
  options.load = lab::LoadOptions{0, 0, true};  // one unit of eight, complete after 200 ms
  options.ring_blocks = 1024;
  const auto runtime = lab::test::run_of<lab::OrderedRun>(options, streams, 2);
  runtime->run();
  std::int64_t waited = 0, at_once = 0;
  const auto counts = runtime->latency_counts();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    (lab::Histogram::highest_in(static_cast<std::int64_t>(i)) >= 199 * kMs ? waited : at_once) += counts[i];
  }
  CHECK_EQ(waited, 7);
  CHECK_EQ(at_once, 1);
}

std::string failure_of(const std::vector<Rows>& streams, std::size_t operators, const OrderedOptions& options) {
  const auto runtime = lab::test::run_of<lab::OrderedRun>(options, streams, operators);
  return lab::test::failure_of([&] { runtime->run(); });
}

void an_operator_that_fails_ends_the_run_and_is_named() {
  const auto streams = input(5, 2, 2000);
  lab::test::Turns turns;
  for (const Kind kind : {Kind::kStateless, Kind::kPartitioned, Kind::kStateful}) {
    for (const Queues& queues : kQueues) {
      for (const char* reordering : kReorderings) {
        for (const int workers : {1, 2, 8}) {
          if (!turns.next()) continue;
          OrderedOptions options = options_of(workers, workers == 2 ? 64 : 1);
          queues.apply_to(options);
          options.reordering = reordering;
          behaviours = {Behaviour{}, Behaviour{.kind = kind}, Behaviour{.kind = Kind::kPartitioned}};
          behaviours[1].raises_at = 5 * streams[0].value[streams[0].value.size() / 2];
          const std::string raised = failure_of(streams, 3, options);
          CHECK(contains(raised, "operator number 1: its function "));
          CHECK(contains(raised, "raised an exception"));
          behaviours[1].raises_at = std::numeric_limits<std::int64_t>::min();
          behaviours[1].copies = 3;
          behaviours[1].max_outputs = 2;
          const std::string emitted = failure_of(streams, 3, options);
          CHECK(contains(emitted, "operator number 1: its function emitted "));
          CHECK(contains(emitted, "beyond max_outputs"));
          behaviours[1].copies = 1;
          behaviours[2].key_raises = true;
          const std::string key = failure_of(streams, 3, options);
          CHECK(contains(key, "operator number 2: ") && contains(key, "its key function raised"));
        }
      }
    }
  }
}

void pipelines_make_progress_on_one_core() {
#if defined(__linux__)
  cpu_set_t before, one;
  CHECK_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  for (std::size_t core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &before)) continue;
    CPU_SET(core, &one);
    break;
  }
  CHECK_EQ(sched_setaffinity(0, sizeof one, &one), 0);  // threads inherit it
  behaviours = {Behaviour{.kind = Kind::kPartitioned, .spins = 300}, Behaviour{.spins = 100},
                Behaviour{.kind = Kind::kPartitioned, .keys = 2}};
  for (const Queues& queues : kQueues) {
    for (const char* reordering : kReorderings) {
      for (const int workers : {4, 8}) {
        for (const int core_count : {0, 1}) {  // 1: the runtime knows that cores are few
          OrderedOptions options = options_of(workers, workers == 4 ? 1 : 16);
          options.core_count = core_count;
          options.window_ns = 50'000;  // so that homed bundles split
          queues.apply_to(options);
          options.reordering = reordering;
          check(input(9, 2, 1500), 3, options);
        }
      }
    }
  }
  CHECK_EQ(sched_setaffinity(0, sizeof before, &before), 0);
#endif
}

template <typename Change>
void refused(const Change& change) {
  OrderedOptions options = options_of(2, 1);
  change(options);
  CHECK_THROWS(lab::test::run_of<lab::OrderedRun>(options, std::vector<Rows>(1), 1), std::invalid_argument);
}

void options_out_of_range_are_refused() {
  behaviours = {};
  refused([](OrderedOptions& o) { o.workers = 0; });
  refused([](OrderedOptions& o) { o.workers = 257; });
  refused([](OrderedOptions& o) { o.batch = 0; });
  refused([](OrderedOptions& o) { o.window = 0; });
  refused([](OrderedOptions& o) { o.window = 1 << 17; });
  refused([](OrderedOptions& o) { o.slice_ns = 0; });
  refused([](OrderedOptions& o) { o.scheduler = "fifo"; });
  refused([](OrderedOptions& o) { o.reordering = "none"; });
  refused([](OrderedOptions& o) { o.serials = "stream"; });
  refused([](OrderedOptions& o) { Queues{"operator", "homed"}.apply_to(o); });
  refused([](OrderedOptions& o) { o.ring_blocks = 0; });
  behaviours[0] = Behaviour{.kind = Kind::kPartitioned};
  refused([](OrderedOptions& o) { o.worklist = "heap"; });
  behaviours[0].partitions = 0;
  refused([](OrderedOptions&) {});
  behaviours[0].partitions = 1 << 20;
  refused([](OrderedOptions&) {});  // times a window of 64 units
  behaviours[0] = Behaviour{.max_outputs = 0};
  refused([](OrderedOptions&) {});
  behaviours = {};
  const auto runtime = lab::test::run_of<lab::OrderedRun>(options_of(2, 1), std::vector<Rows>(1), 1);
  runtime->start();
  CHECK_THROWS(runtime->start(), std::logic_error);
  CHECK_THROWS(runtime->add_stage(lab::test::stage_of(0)), std::logic_error);
  runtime->run();
  CHECK_THROWS(runtime->run(), std::logic_error);
  OrderedOptions bare = options_of(1, 1);
  bare.input_itemsizes = {8};
  OrderedRun none(bare);
  CHECK_THROWS(none.start(), std::logic_error);  // without an operator
  const auto never_run = lab::test::run_of<lab::OrderedRun>(options_of(4, 1), std::vector<Rows>(1), 1);
  never_run->start();  // its threads end with it
}

void a_processing_latency_is_measured_at_full_speed_without_the_first_and_last_fifth() {
  behaviours = {};
  const auto streams = input(2, 1, 5000);
  for (const std::int64_t batch : {1, 64, 256}) {
    const auto runtime = lab::test::run_of<lab::OrderedRun>(options_of(2, batch), streams, 2);
    runtime->run();
    const std::int64_t timed = lab::test::total_of(runtime->processing_counts());
    const std::int64_t events = runtime->events(), fifth = events / 5;
    const std::int64_t first = fifth / batch, last = (events - fifth - 1) / batch;  // units
    const std::int64_t every = std::max<std::int64_t>(1, 64 / batch);
    CHECK_EQ(timed, (last - first) / every + 1);
  }
}

}  // namespace

int main() {
  every_scheduler_worklist_and_reordering_gives_the_sequential_answer();
  as_many_workers_as_permitted_on_few_cores_give_the_sequential_answer();
  only_an_operator_that_delays_others_is_split();
  a_single_partition_calls_no_partition_function();
  one_key_may_have_all_records();
  a_small_window_does_not_block();
  a_refused_worker_turns_to_the_unit_that_all_wait_for();
  inputs_may_be_empty_or_end_early();
  records_of_several_streams_share_units();
  under_a_load_each_output_has_a_latency_and_every_record_is_counted();
  heartbeats_of_a_silent_stream_let_others_pass();
  a_latency_counts_from_the_record_that_caused_the_output();
  an_operator_that_fails_ends_the_run_and_is_named();
  pipelines_make_progress_on_one_core();
  options_out_of_range_are_refused();
  a_processing_latency_is_measured_at_full_speed_without_the_first_and_last_fifth();
  return 0;
}
