// Whole pipelines with native kernels: the outputs of sequential execution, for any workers, batch, scheduler, worklist
// and reordering.
#include <cstdio>

#if defined(__linux__)
#include <sched.h>
#endif

#include "check.h"

#include "ordered/tests/ordered_cases.h"

namespace {

using lab::OrderedOptions;
using lab::OrderedRun;
using lab::test::Behaviour;
using lab::test::behaviours;
using lab::test::Record;
using lab::test::Rows;
using Kind = lab::StageSpec::Kind;

const char* const kSchedulers[] = {"ct", "ct_input", "lp", "et", "qst"};
// Every worklist with serials of the source; the paper's also with serials of operators.
struct Queues {
  const char* serials;
  const char* worklist;
  void into(OrderedOptions& options) const {
    options.serials = serials;
    options.worklist = worklist;
  }
};
const Queues kQueues[] = {{"source", "homed"},   {"source", "hybrid"},   {"source", "partitioned"},
                          {"source", "shared"},  {"operator", "hybrid"}, {"operator", "partitioned"},
                          {"operator", "shared"}};
const char* const kReorderings[] = {"nonblocking", "lock"};

OrderedOptions options_of(int workers, std::int64_t batch) {
  OrderedOptions options;
  options.workers = workers;
  options.batch = batch;
  options.window = batch == 1 ? 64 : 8;
  options.core_count = 2;
  options.slice_ns = 20'000;
  options.grid_steps = 100;  // under a sanitizer, memory for an hour is most of a short run's cost
  return options;
}

// Runs the first `operators` behaviours and checks the answer. Returns its number of records.
std::size_t check(const std::vector<Rows>& streams, std::size_t operators, const OrderedOptions& options) {
  const auto runtime = lab::test::pipeline_of(options, streams, operators);
  runtime->run();
  const std::vector<Record> expected = lab::test::oracle(streams, operators);
  const std::vector<Record> answer = lab::test::collected(*runtime);
  CHECK_EQ(answer.size(), expected.size());
  CHECK(answer == expected);
  CHECK_EQ(runtime->events(), lab::test::records_in(streams));
  const lab::OrderedCounts counts = runtime->counts();
  CHECK_EQ(counts.adds, counts.sends);
  CHECK_EQ(runtime->totals(0).rows, runtime->events());
  CHECK_EQ(runtime->totals(operators - 1).outputs, runtime->rows());
  for (std::size_t i = 1; i < operators; ++i) CHECK_EQ(runtime->totals(i).rows, runtime->totals(i - 1).outputs);
  return expected.size();
}

std::vector<Rows> input(int seed, int streams, int most, std::int64_t keys = 20) {
  std::mt19937 random(static_cast<unsigned>(seed));
  return lab::test::random_streams(random, streams, most, keys, 3);
}

void every_kind_of_operator_gives_the_sequential_answer() {
  const Kind kinds[] = {Kind::kStateless, Kind::kPartitioned, Kind::kStateful};
  std::size_t records = 0;
  lab::test::Turns turns;
  for (int shape = 0; shape < 27; ++shape) {
    behaviours = {};
    behaviours[0].kind = kinds[shape % 3];
    behaviours[1].kind = kinds[shape / 3 % 3];
    behaviours[2].kind = kinds[shape / 9];
    behaviours[1].tenths = 7;
    const std::size_t operators = 1 + static_cast<std::size_t>(shape) % 3;
    for (const int workers : {1, 2, 4}) {
      for (const std::int64_t batch : {1, 64}) {
        if (turns.next()) records += check(input(shape, 1, 900), operators, options_of(workers, batch));
        if (turns.next()) records += check(input(shape, 3, 300), operators, options_of(workers, batch));
      }
    }
  }
  CHECK(records > static_cast<std::size_t>(50'000 / turns.most_left_out()));
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
            queues.into(options);
            options.reordering = reordering;
            check(streams, 4, options);
          }
        }
      }
    }
  }
}

void any_selectivity_is_in_order() {
  lab::test::Turns turns;
  for (const Queues& queues : kQueues) {
    for (const auto& [tenths, copies, most] :
         {std::tuple{0, 1, 1}, {3, 1, 1}, {10, 1, 3}, {10, 50, 50}, {3, 50, 60}, {10, 4, 4}}) {
      for (const Kind kind : {Kind::kStateless, Kind::kPartitioned, Kind::kStateful}) {
        behaviours = {Behaviour{.kind = kind, .tenths = tenths, .copies = copies, .max_outputs = most},
                      Behaviour{.kind = Kind::kPartitioned, .tenths = 5}, Behaviour{.kind = kind, .tenths = 2}};
        for (const int workers : {1, 4}) {
          for (const std::int64_t batch : {1, 64}) {
            if (!turns.next()) continue;
            OrderedOptions options = options_of(workers, batch);
            queues.into(options);
            check(input(tenths + 11, 2, 200), 3, options);
          }
        }
      }
    }
  }
}

// An operator with keys that takes all the time is split, once for two workers of even keys; another is not. The clock
// measures which operator delays others. On a busy machine the second worker may start after all work is done, or the
// worker of the light operator may lose its core. So each outcome must be seen in one run.
void only_an_operator_that_holds_others_up_comes_apart() {
  const auto streams = input(8, 3, 4000, 40);
  OrderedOptions options = options_of(2, 16);
  options.window_ns = 200'000;
  for (const bool heavy : {false, true}) {
    behaviours = {Behaviour{.spins = heavy ? 0 : 2000},
                  Behaviour{.kind = Kind::kPartitioned, .keys = 40, .partitions = 4, .spins = heavy ? 2000 : 0}};
    for (bool seen = false; !seen;) {
      const auto runtime = lab::test::pipeline_of(options, streams, 2);
      runtime->run();
      CHECK(lab::test::collected(*runtime) == lab::test::oracle(streams, 2));
      seen = (runtime->counts().splits > 0) == heavy;
    }
  }
}

// With all keys in one partition, the partition function is never called.
void a_single_partition_is_not_looked_for() {
  behaviours = {Behaviour{.kind = Kind::kPartitioned, .partitions = 1}, Behaviour{},
                Behaviour{.kind = Kind::kPartitioned, .partitions = 1}};
  for (const Queues& queues : kQueues) {
    for (const int workers : {1, 4}) {
      lab::test::divisions = 0;
      OrderedOptions options = options_of(workers, 64);
      queues.into(options);
      CHECK(check(input(5, 2, 900), 3, options) > 100);
      CHECK_EQ(lab::test::divisions.load(), 0);
    }
  }
}

void one_key_may_have_everything() {
  for (const Queues& queues : kQueues) {
    for (const int workers : {1, 2, 4, 8}) {
      behaviours = {Behaviour{.kind = Kind::kPartitioned, .keys = 1}, Behaviour{.kind = Kind::kPartitioned, .keys = 2}};
      OrderedOptions options = options_of(workers, workers % 4 == 0 ? 64 : 1);
      queues.into(options);
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
          queues.into(options);
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
void a_worker_that_is_refused_turns_to_what_all_wait_for() {
  behaviours = {Behaviour{.kind = Kind::kPartitioned, .keys = 50, .partitions = 50, .copies = 3, .max_outputs = 3},
                Behaviour{.kind = Kind::kPartitioned, .keys = 50, .partitions = 50}};
  for (const int workers : {1, 3}) {
    OrderedOptions options = options_of(workers, 1);
    options.window = 4;
    Queues{"operator", "partitioned"}.into(options);
    const auto streams = input(4, 1, 2000, 50);
    for (bool refused = false; !refused;) {  // the first run has one worker, which runs ahead of itself
      const auto runtime = lab::test::pipeline_of(options, streams, 2);
      runtime->run();
      CHECK(lab::test::collected(*runtime) == lab::test::oracle(streams, 2));
      refused = runtime->counts().refused > 0;
      if (workers == 1) CHECK(refused);
      if (workers == 1) CHECK_EQ(runtime->counts().put_aside, runtime->counts().refused);
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
void records_of_several_streams_are_put_together() {
  behaviours = {};
  std::vector<Rows> streams(3);
  for (std::int64_t i = 0; i < 960; ++i) streams[static_cast<std::size_t>(i % 3)].add({i, i, 0, i});
  for (std::int64_t i = 0; i < 640; ++i) streams[1].add({1000 + i, i, 0, i});
  OrderedOptions options = options_of(1, 64);
  const auto runtime = lab::test::pipeline_of(options, streams, 1);
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
      kQueues[seed % 7].into(options);
      const auto runtime = lab::test::pipeline_of(options, streams, 3);
      runtime->run();
      const auto expected = lab::test::oracle(streams, 3);
      CHECK(lab::test::collected(*runtime) == expected);
      std::int64_t timed = 0;
      for (const std::int64_t n : runtime->latency_counts()) timed += n;
      CHECK_EQ(timed, static_cast<std::int64_t>(expected.size()));
      std::int64_t served = 0;
      for (const std::int64_t n : runtime->service_counts()) served += n;
      CHECK_EQ(served, timed);
      std::int64_t consumed = 0, outputs = 0, emitted = 0;
      for (const lab::Progress& step : runtime->progress()) {
        consumed += step.consumed;
        outputs += step.outputs;
        emitted += step.emitted;
      }
      CHECK_EQ(consumed, lab::test::records_in(streams));
      CHECK_EQ(emitted, lab::test::records_in(streams));
      CHECK_EQ(outputs, timed);
      options.measure = false;
      const auto unmeasured = lab::test::pipeline_of(options, streams, 3);
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
    const auto runtime = lab::test::pipeline_of(options, streams, 2);
    runtime->run();
    CHECK(lab::test::collected(*runtime) == lab::test::oracle(streams, 2));
    const auto progress = runtime->progress();
    std::int64_t early = 0;
    for (std::size_t step = 0; step < 2; ++step) early += progress.at(step).outputs;
    CHECK_EQ(early, 100);
    CHECK(runtime->latency_counts().size() < lab::Histogram::index_of(250 * kMs));
  }
}

// A latency counts from the due time of the record that caused the output, whatever else is in its unit.
void a_latency_counts_from_the_record_that_the_output_came_from() {
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
  const auto runtime = lab::test::pipeline_of(options, streams, 2);
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
  const auto runtime = lab::test::pipeline_of(options, streams, operators);
  try {
    runtime->run();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
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
          queues.into(options);
          options.reordering = reordering;
          behaviours = {Behaviour{}, Behaviour{.kind = kind}, Behaviour{.kind = Kind::kPartitioned}};
          behaviours[1].raises_at = 5 * streams[0].value[streams[0].value.size() / 2];
          const std::string raised = failure_of(streams, 3, options);
          CHECK(raised.find("operator number 1: its function ") != std::string::npos);
          CHECK(raised.find("raised an exception") != std::string::npos);
          behaviours[1].raises_at = std::numeric_limits<std::int64_t>::min();
          behaviours[1].copies = 3;
          behaviours[1].max_outputs = 2;
          const std::string emitted = failure_of(streams, 3, options);
          CHECK(emitted.find("operator number 1: its function emitted ") != std::string::npos);
          CHECK(emitted.find("beyond max_outputs") != std::string::npos);
          behaviours[1].copies = 1;
          behaviours[2].key_raises = true;
          const std::string key = failure_of(streams, 3, options);
          CHECK(key.find("operator number 2: ") != std::string::npos &&
                key.find("its key function raised") != std::string::npos);
        }
      }
    }
  }
}

void all_makes_progress_on_one_core() {
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
        for (const bool told : {false, true}) {  // whether the runtime knows that cores are few
          OrderedOptions options = options_of(workers, workers == 4 ? 1 : 16);
          options.core_count = told ? 1 : 0;
          options.window_ns = 50'000;  // so that homed bundles split
          queues.into(options);
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
  CHECK_THROWS(lab::test::pipeline_of(options, std::vector<Rows>(1), 1), std::invalid_argument);
}

void what_is_out_of_range_is_refused() {
  behaviours = {};
  refused([](OrderedOptions& o) { o.workers = 0; });
  refused([](OrderedOptions& o) { o.workers = 65; });
  refused([](OrderedOptions& o) { o.batch = 0; });
  refused([](OrderedOptions& o) { o.window = 0; });
  refused([](OrderedOptions& o) { o.window = 1 << 17; });
  refused([](OrderedOptions& o) { o.slice_ns = 0; });
  refused([](OrderedOptions& o) { o.scheduler = "fifo"; });
  refused([](OrderedOptions& o) { o.reordering = "none"; });
  refused([](OrderedOptions& o) { o.serials = "stream"; });
  refused([](OrderedOptions& o) { Queues{"operator", "homed"}.into(o); });
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
  const auto runtime = lab::test::pipeline_of(options_of(2, 1), std::vector<Rows>(1), 1);
  runtime->start();
  CHECK_THROWS(runtime->start(), std::logic_error);
  CHECK_THROWS(runtime->add_stage(lab::test::stage_of(0)), std::logic_error);
  runtime->run();
  CHECK_THROWS(runtime->run(), std::logic_error);
  OrderedOptions bare = options_of(1, 1);
  bare.input_itemsizes = {8};
  OrderedRun none(bare);
  CHECK_THROWS(none.start(), std::logic_error);  // without an operator
  const auto never_run = lab::test::pipeline_of(options_of(4, 1), std::vector<Rows>(1), 1);
  never_run->start();  // its threads end with it
}

void a_processing_latency_is_measured_at_full_speed() {
  behaviours = {};
  const auto streams = input(2, 1, 5000);
  for (const std::int64_t batch : {1, 64, 256}) {
    const auto runtime = lab::test::pipeline_of(options_of(2, batch), streams, 2);
    runtime->run();
    std::int64_t timed = 0;
    for (const std::int64_t n : runtime->processing_counts()) timed += n;
    const std::int64_t units = (runtime->events() + batch - 1) / batch;
    const std::int64_t every = std::max<std::int64_t>(1, 64 / batch);
    CHECK_EQ(timed, (units + every - 1) / every);
  }
}

}  // namespace

int main() {
  every_kind_of_operator_gives_the_sequential_answer();
  every_scheduler_worklist_and_reordering_gives_the_sequential_answer();
  any_selectivity_is_in_order();
  only_an_operator_that_holds_others_up_comes_apart();
  a_single_partition_is_not_looked_for();
  one_key_may_have_everything();
  a_small_window_does_not_block();
  a_worker_that_is_refused_turns_to_what_all_wait_for();
  inputs_may_be_empty_or_end_early();
  records_of_several_streams_are_put_together();
  under_a_load_each_output_has_a_latency_and_every_record_is_counted();
  heartbeats_of_a_silent_stream_let_others_pass();
  a_latency_counts_from_the_record_that_the_output_came_from();
  an_operator_that_fails_ends_the_run_and_is_named();
  all_makes_progress_on_one_core();
  what_is_out_of_range_is_refused();
  a_processing_latency_is_measured_at_full_speed();
  return 0;
}
