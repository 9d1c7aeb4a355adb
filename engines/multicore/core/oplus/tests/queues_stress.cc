// Stress test of shared-nothing operators with more threads than cores, under random switches: the sequential answer,
// every tuple counted once, and an end, always.
#include <cstdio>

#include "oplus/tests/queues_cases.h"

namespace {

using lab::OplusOptions;
using lab::OplusRun;
using lab::test::behaviour;
using lab::test::SharedNothingRun;
using lab::test::sorted;
using lab::test::Tuples;

constexpr std::int64_t kHeld = 99;

struct Totals {
  std::int64_t called = 0, applied = 0, moved_bytes = 0;
};

std::vector<std::int32_t> random_owner(std::mt19937& random, std::int32_t instances) {
  std::vector<std::int32_t> owner;
  for (std::int64_t b = 0; b < behaviour.buckets; ++b) {
    owner.push_back(static_cast<std::int32_t>(random() % static_cast<unsigned>(instances)));
  }
  return owner;
}

// Requests switches until the run is over; waits for some of them.
void reconfigure(OplusRun& runtime, unsigned seed, std::int32_t most, Totals& totals) {
  std::mt19937 random(seed);
  for (;;) {
    const auto instances = 1 + static_cast<std::int32_t>(random() % static_cast<unsigned>(most));
    const std::int64_t number = runtime.reconfigure(instances, random_owner(random, instances));
    if (number < 0) return;
    ++totals.called;
    const auto next = random() % 8;
    if (next == 0) continue;  // the next call waits itself
    if (next == 1) {
      static_cast<void>(runtime.snapshot());
    } else if (!runtime.await(number)) {
      return;
    }
    if (next == 2) {
      for (auto i = random() % 200; i > 0; --i) std::this_thread::yield();
    }
  }
}

void round_of(unsigned seed, Totals& totals) {
  std::mt19937 random(seed);
  const auto pick = [&](int from, int to) { return std::uniform_int_distribution<int>(from, to)(random); };
  behaviour = {};
  behaviour.buckets = pick(1, 16);
  behaviour.max_outputs = pick(1, 2);
  const std::int64_t advance = pick(1, 12);
  behaviour.window = {advance, advance + pick(0, 2) * pick(0, 10), pick(0, 1) == 1};
  behaviour.expires = pick(0, 3) != 0;
  behaviour.slides = behaviour.window.single && pick(0, 1) == 1;
  behaviour.emits_on_update =
      (behaviour.window.single || behaviour.window.advance == behaviour.window.size) && pick(0, 1) == 1;
  auto streams = lab::test::random_tuples(random, pick(1, 6), 2, 1200, pick(1, 6));
  OplusOptions options;
  options.workers = pick(1, 8);
  options.most_instances = pick(options.workers, 8);
  options.batch = pick(0, 1) == 1 ? 1 : pick(1, 64);
  options.batch_rows = pick(0, 1) == 1 ? 4096 : pick(1, 20);
  options.ring_blocks = static_cast<std::uint64_t>(pick(1, 4));
  options.core_count = pick(0, 2) != 0 ? 1 : 64;
  options.tuple_buffer = pick(0, 1) == 1 ? "order" : "scalegate";
  options.log.entries = 1 << pick(4, 10);
  if (pick(0, 1) == 1) {
    options.downstream = pick(1, 3);
    options.link_rows = 1 << pick(1, 10);
  }
  const std::int64_t tuples = lab::test::tuples_in(streams);
  if (pick(0, 1) == 1 && tuples != 0) {
    options.end_watermark = lab::test::total_order(streams).back().ts + pick(-50, 100);
  }
  if (pick(0, 3) == 0) {
    options.load = lab::LoadOptions{0, 0, pick(0, 1) == 1};
    lab::test::schedule(streams, pick(0, 3000));
  }
  SharedNothingRun run(streams, options);
  const auto inner = static_cast<unsigned>(random());
  const bool elastic = pick(0, 3) != 0;
  std::function<void(OplusRun&)> meanwhile;
  if (elastic) {
    meanwhile = [&](OplusRun& runtime) { reconfigure(runtime, inner, options.most_instances, totals); };
  }
  const bool right = sorted(run.run(meanwhile)) == lab::test::keyed_oracle(streams, options.end_watermark);
  if (!right) std::fprintf(stderr, "seed %u\n", seed);
  CHECK(right);
  CHECK_EQ(run.runtime().events(), tuples);
  for (const lab::Switch& one : run.runtime().switches()) {
    if (one.done_ns < 0) continue;
    ++totals.applied;
    totals.moved_bytes += one.moved_bytes;
  }
}

// An instance stops until the others have filled its queue and their own sources wait for it.
void a_full_queue_holds_back_its_source_and_nobody_for_ever(const char* log) {
  behaviour = {.window = {50, 100, false}, .holds_at = kHeld};
  behaviour.buckets = 4;
  std::vector<Tuples> streams(2);
  for (std::size_t s = 0; s < 2; ++s) {
    for (std::int64_t i = 0; i < 6000; ++i) {
      streams[s].ts.push_back(i / 4);
      streams[s].base.push_back(i % 3);
      streams[s].count.push_back(4);
      streams[s].value.push_back(s == 0 && i == 10 ? kHeld : 1);
    }
  }
  OplusOptions options;
  options.workers = 4;
  options.core_count = 1;
  options.batch = 16;
  options.tuple_buffer = log;
  lab::test::gate.store(false, std::memory_order_release);
  SharedNothingRun run(streams, options);
  const auto answer = run.run([](OplusRun&) {
    // Long enough for the rings to fill on most machines; the answer does not depend on it.
    for (int i = 0; i < 3000; ++i) std::this_thread::yield();
    lab::test::gate.store(true, std::memory_order_release);
  });
  CHECK(sorted(answer) == lab::test::keyed_oracle(streams));
  CHECK_EQ(run.runtime().events(), 12'000);
}

void a_kernel_that_fails_while_routing_ends_the_run() {
  behaviour = {.window = {10, 20, false}, .raises_at = 77};
  behaviour.buckets = 3;
  std::vector<Tuples> streams(1);
  for (std::int64_t i = 0; i < 500; ++i) {
    streams[0].ts.push_back(i);
    streams[0].base.push_back(i % 7);
    streams[0].count.push_back(1);
    streams[0].value.push_back(i == 300 ? 77 : 1);
  }
  OplusOptions options;
  options.workers = 8;
  options.core_count = 1;
  SharedNothingRun run(streams, options);
  std::string message;
  try {
    run.run([](OplusRun& runtime) {
      const std::int64_t number = runtime.reconfigure(1, {0, 0, 0});
      if (number > 0) static_cast<void>(runtime.await(number));  // released by the failure at the latest
    });
  } catch (const std::runtime_error& error) {
    message = error.what();
  }
  CHECK(message.find("keys raised an exception") != std::string::npos);
}

}  // namespace

int main() {
  const int least = lab::test::stress_rounds(20) * 4;
  Totals totals;
  const int rounds = lab::test::rounds_until(
      least, [&](unsigned round) { round_of(round, totals); },
      [&] { return totals.applied >= least && totals.moved_bytes > 0; });
  for (const char* log : {"order", "scalegate"}) a_full_queue_holds_back_its_source_and_nobody_for_ever(log);
  a_kernel_that_fails_while_routing_ends_the_run();
  std::printf("%d rounds, %lld switches called, %lld applied, %lld bytes moved\n", rounds,
              static_cast<long long>(totals.called), static_cast<long long>(totals.applied),
              static_cast<long long>(totals.moved_bytes));
  return 0;
}
