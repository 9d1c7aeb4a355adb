// Whole runs under an offered load: the sequential answer, correct latencies, and no allocation for an event.
#include <atomic>
#include <cstdlib>
#include <new>
#include <thread>

#include "check.h"

#include "dgs/dgs_run.h"
#include "dgs/tests/keyed_sum.h"

namespace {

std::atomic<std::int64_t> allocations{0};  // relaxed throughout: a count, read after the end of the threads

}  // namespace

// Not inlined: otherwise the compiler would warn that `delete` receives memory of `malloc`.
[[gnu::noinline]] void* operator new(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

using lab::test::Events;
using lab::test::KeyedSumRun;
using lab::test::total_of;

lab::DgsOptions options(std::int32_t workers, std::int64_t batch, bool whole = false) {
  auto result = lab::test::short_run<lab::DgsOptions>(workers);
  result.batch = batch;
  result.ring_blocks = 4;
  result.load = lab::LoadOptions{0, 0, whole};
  return result;
}

// Returns the number of samples above `ns`.
std::int64_t count_above(const std::vector<std::int64_t>& counts, std::int64_t ns) {
  return total_of({counts.begin() + lab::Histogram::index_of(ns) + 1, counts.end()});
}

void every_shape_gives_the_sequential_answer() {
  std::mt19937 random(5);
  for (const bool mixed : {false, true}) {
    auto streams = lab::test::random_streams(random, 4, 3, 300, mixed);
    const auto expected = lab::test::oracle(streams, 3);
    const std::int64_t events = lab::test::events_in(streams);
    for (const std::int64_t gap_ns : {0, 1000}) {
      lab::test::schedule(streams, gap_ns, 10);
      for (const std::int32_t workers : {1, 2, 5}) {
        for (const std::int64_t batch : {1, 7, 1000}) {
          for (const bool whole : {false, true}) {
            KeyedSumRun run(streams, 3, options(workers, batch, whole));
            const auto answer = run.run();
            CHECK(answer == expected);
            lab::DgsRun& runtime = run.runtime();
            CHECK_EQ(runtime.events(), events);
            CHECK_EQ(total_of(runtime.lag_counts()), events);
            CHECK_EQ(total_of(runtime.latency_counts()), std::ssize(expected));
            CHECK_EQ(total_of(runtime.service_counts()), std::ssize(expected));
            for (const lab::Progress& step : runtime.progress()) {
              CHECK_EQ(step.outputs > 0, step.p99_ns >= 0);
              CHECK(step.p50_ns <= step.p99_ns);
            }
            const lab::test::ProgressTotals progress = lab::test::progress_of(runtime);
            CHECK_EQ(progress.emitted, events);
            CHECK_EQ(progress.consumed, events);
            CHECK_EQ(progress.outputs, std::ssize(expected));
          }
        }
      }
    }
  }
}

// On every path, each output counts with the due time of its event. The end of the warm-up shows this, as it separates
// outputs by due time.
void outputs_before_the_end_of_the_warm_up_are_kept_apart() {
  std::mt19937 random(6);
  for (const bool mixed : {false, true}) {
    auto streams = lab::test::random_streams(random, 4, 3, 300, mixed);
    lab::test::schedule(streams, 1000, 10);
    std::vector<std::int64_t> due;  // due times of the emitting events
    for (std::size_t s = 0; s < streams.size(); ++s) {
      for (std::size_t i = 0; i < streams[s].ts.size(); ++i) {
        if (streams[s].tag[i] % 2 == 1) due.push_back(streams[s].due[i]);
      }
    }
    std::sort(due.begin(), due.end());
    CHECK(due.size() > 10);
    for (const std::int32_t workers : {1, 2, 5}) {
      for (const std::int64_t batch : {1, 7, 1000}) {
        const std::size_t early = random() % due.size();
        lab::DgsOptions run_options = options(workers, batch, batch == 7);
        run_options.load->warm_up_ns = due[early];
        KeyedSumRun run(streams, 3, run_options);
        run.run();
        CHECK_EQ(total_of(run.runtime().warm_up_counts()), static_cast<std::int64_t>(early));
        CHECK_EQ(total_of(run.runtime().latency_counts()), static_cast<std::int64_t>(due.size() - early));
        CHECK_EQ(total_of(run.runtime().service_counts()), static_cast<std::int64_t>(due.size() - early));
      }
    }
  }
}

// One stream with one output for each event. The engine stalls for 200 ms in the middle of a second.
std::atomic<bool> stalled{false};  // seq_cst by the default operations: one store, outside any hot path

std::int64_t stalling(void* states, const std::int32_t* slots, const void* const* columns, std::int64_t begin,
                      std::int64_t end, lab::Emit* out) {
  if (end > 5'000 && !stalled.exchange(true, std::memory_order_seq_cst)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  return lab::test::KeyedSum::run(states, slots, columns, begin, end, out);
}

void a_stall_shows_in_the_latency_and_hides_from_the_naive_clock() {
  std::vector<Events> streams(1);
  for (int i = 0; i < 10'000; ++i) streams[0].add(i, 1, 0);  // reads: one output for each event
  lab::test::schedule(streams, 100'000, 10);                 // 10,000 events/s
  KeyedSumRun run(streams, 1, options(1, 64));
  lab::Lane& lane = run.runtime().mailbox(0).lanes[0];
  lane.update = {&stalling};
  CHECK(run.run() == lab::test::oracle(streams, 1));
  CHECK(stalled.load(std::memory_order_seq_cst));
  // 500 events were due in the first 50 ms of the stall, and count as slow. A clock that starts when the engine takes
  // an event counts only one block of 64. Other work on the machine delays both, and the first at least as much.
  constexpr std::int64_t kSlowNs = 150'000'000;
  const std::int64_t slow = count_above(run.runtime().latency_counts(), kSlowNs);
  CHECK(slow >= 490);
  CHECK(count_above(run.runtime().service_counts(), kSlowNs) <= slow - 400);
  std::int64_t worst = 0;
  for (const lab::Progress& step : run.runtime().progress()) worst = std::max(worst, step.max_ns);
  CHECK(worst >= 200'000'000);
}

std::int64_t allocated_for(std::size_t events, bool load) {
  std::vector<Events> streams(3);
  for (std::size_t i = 0; i < events; ++i) {
    for (const std::size_t s : {0, 1}) streams[s].add(static_cast<std::int64_t>(i), 0, 1);
  }
  for (std::size_t i = 0; i < 10; ++i) streams[2].add(static_cast<std::int64_t>(i * events / 10), 1, 0);
  lab::test::schedule(streams, 100, 1000);
  lab::DgsOptions run_options = options(2, 8);
  if (!load) run_options.load.reset();
  KeyedSumRun run(streams, 1, run_options);
  run.runtime().start();
  const std::int64_t before = allocations.load(std::memory_order_relaxed);
  run.runtime().run();
  return allocations.load(std::memory_order_relaxed) - before;
}

void no_event_costs_an_allocation() {
  for (const bool load : {false, true}) {
    const std::int64_t few = allocated_for(1'000, load);
    const std::int64_t many = allocated_for(50'000, load);
    CHECK(many <= few + 4);  // 98,000 events more; a vector of the library may grow once or twice
  }
}

void loads_that_do_not_fit_are_refused() {
  lab::DgsOptions run_options = options(1, 1);
  run_options.output_itemsizes = {8};
  lab::DgsRun runtime(run_options);
  const std::vector<std::int64_t> ts{1, 2};
  lab::StreamView view;
  view.ts = ts;
  CHECK_THROWS(runtime.add_stream(view, 0), std::invalid_argument);  // no due times
  // Decreasing, before the start, too large for a sum with a clock reading.
  const std::vector<std::vector<std::int64_t>> wrong{{5, 4}, {-1, 4}, {5, lab::kEndOfTime - 1}};
  for (const std::vector<std::int64_t>& due : wrong) {
    view.due = due;
    CHECK_THROWS(runtime.add_stream(view, 0), std::invalid_argument);
    lab::StreamView silent;
    silent.heartbeats = ts;
    silent.heartbeat_due = due;
    CHECK_THROWS(runtime.add_stream(silent, 0), std::invalid_argument);
  }
  const std::vector<std::int64_t> descending{9, 3};
  const std::vector<std::int64_t> due{5, 6};
  view.due = due;
  view.heartbeats = descending;
  view.heartbeat_due = due;
  CHECK_THROWS(runtime.add_stream(view, 0), std::invalid_argument);
  view.heartbeats = ts;
  runtime.add_stream(view, 0);
  run_options.load->end_ns = lab::kEndOfTime;
  CHECK_THROWS(lab::DgsRun(run_options), std::invalid_argument);
  run_options.load = lab::LoadOptions{-1, 0, false};
  CHECK_THROWS(lab::DgsRun(run_options), std::invalid_argument);
  run_options.load.reset();
  lab::DgsRun at_full_speed(run_options);
  CHECK_THROWS(at_full_speed.add_stream(view, 0), std::invalid_argument);
}

void a_stream_without_readers_delays_no_worker() {
  const std::vector<std::int64_t> ts(1'000, 7);
  const std::vector<std::int64_t> due(ts.size(), 0);
  for (const bool load : {false, true}) {
    lab::DgsOptions run_options = options(2, 3);
    run_options.output_itemsizes = {8};
    if (!load) run_options.load.reset();
    lab::DgsRun runtime(run_options);
    lab::StreamView view;
    view.ts = ts;
    if (load) view.due = due;
    runtime.add_stream(view, 1);
    runtime.run();
    CHECK_EQ(runtime.events(), 0);  // no worker processed them
    CHECK_EQ(lab::test::progress_of(runtime).emitted, 1'000);
  }
}

void a_loaded_runtime_that_never_runs_is_torn_down() {
  std::vector<Events> streams(2);
  lab::test::schedule(streams, 1, 1);
  KeyedSumRun run(streams, 1, options(3, 1));
  run.runtime().start();
}

// If the run does not end early, this takes an hour.
void a_failing_update_ends_a_long_load_early() {
  std::vector<Events> streams(1);
  for (int i = 0; i < 100; ++i) streams[0].add(i, 1, 0);
  lab::test::schedule(streams, 1'000, 10);
  streams[0].due.back() = 3'600'000'000'000;  // an hour of silence before the last event
  KeyedSumRun run(streams, 1, options(1, 1));
  run.runtime().mailbox(0).lanes[0].update = {[](void*, const std::int32_t*, const void* const*, std::int64_t,
                                                 std::int64_t, lab::Emit*) -> std::int64_t { return 0; }};
  CHECK_THROWS(run.run(), std::runtime_error);
}

}  // namespace

int main() {
  every_shape_gives_the_sequential_answer();
  outputs_before_the_end_of_the_warm_up_are_kept_apart();
  a_stall_shows_in_the_latency_and_hides_from_the_naive_clock();
  no_event_costs_an_allocation();
  loads_that_do_not_fit_are_refused();
  a_stream_without_readers_delays_no_worker();
  a_loaded_runtime_that_never_runs_is_torn_down();
  a_failing_update_ends_a_long_load_early();
}
