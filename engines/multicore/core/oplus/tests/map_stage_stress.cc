// Stress test of aggregate instances behind a map stage, with more threads than cores: the sequential answer, every
// tuple counted once, and an end, always.
#include <cstdio>

#include "oplus/tests/queues_cases.h"

namespace {

using lab::OplusOptions;
using lab::test::behaviour;
using lab::test::SharedNothingRun;
using lab::test::sorted;
using lab::test::Tuples;

constexpr std::int64_t kHeld = 99;

// Each tuple, followed by one with its first key again: a bag of keys counts it twice.
std::vector<Tuples> with_repeats(const std::vector<Tuples>& streams) {
  std::vector<Tuples> result;
  for (const Tuples& one : streams) {
    Tuples& more = result.emplace_back();
    more.input = one.input;
    for (std::size_t i = 0; i < one.ts.size(); ++i) {
      for (const std::int64_t count : {one.count[i], std::min<std::int64_t>(one.count[i], 1)}) {
        more.ts.push_back(one.ts[i]);
        more.base.push_back(one.base[i]);
        more.count.push_back(count);
        more.value.push_back(one.value[i]);
      }
    }
  }
  return result;
}

void round_of(unsigned seed) {
  std::mt19937 random(seed);
  const auto pick = [&](int from, int to) { return std::uniform_int_distribution<int>(from, to)(random); };
  lab::test::choose(random, false);
  auto streams = lab::test::random_tuples(random, pick(1, 6), 2, 1200, pick(1, 6));
  OplusOptions options;
  options.workers = pick(1, 8);
  options.map_instances = pick(1, pick(0, 3) == 0 ? lab::kMaxLogSources / static_cast<int>(streams.size()) : 4);
  options.batch = pick(0, 1) == 1 ? 1 : pick(1, 64);
  options.batch_rows = pick(0, 1) == 1 ? 4096 : pick(1, 20);
  options.ring_blocks = static_cast<std::uint64_t>(pick(1, 4));
  options.core_count = pick(0, 2) != 0 ? 1 : 64;
  options.tuple_buffer = pick(0, 1) == 1 ? "order" : "scalegate";
  options.log.entries = 1 << pick(4, 10);
  const std::int64_t tuples = lab::test::tuples_in(streams);
  if (pick(0, 1) == 1 && tuples != 0) {
    options.end_watermark = lab::test::total_order(streams).back().ts + pick(-50, 100);
  }
  if (pick(0, 3) == 0) {
    options.load = lab::LoadOptions{0, 0, pick(0, 1) == 1};
    lab::test::schedule(streams, pick(0, 3000));
  }
  const bool bag = pick(0, 1) == 1;
  SharedNothingRun run(streams, options, bag);
  const auto wanted = lab::test::keyed_oracle(bag ? with_repeats(streams) : streams, options.end_watermark);
  const bool right = sorted(run.run()) == wanted;
  if (!right) std::fprintf(stderr, "seed %u\n", seed);
  CHECK(right);
  CHECK_EQ(run.runtime().events(), tuples);
}

std::vector<Tuples> busy(std::int64_t rows, std::int64_t keys) {
  std::vector<Tuples> streams(2);
  for (std::size_t s = 0; s < 2; ++s) {
    for (std::int64_t i = 0; i < rows; ++i) {
      streams[s].ts.push_back(i / 4);
      streams[s].base.push_back(i % 3);
      streams[s].count.push_back(keys);
      streams[s].value.push_back(1);
    }
  }
  return streams;
}

// An instance stops until the others have filled its queues, and map instances wait for it.
void a_full_queue_holds_back_its_sources_and_nobody_for_ever(const char* log) {
  behaviour = {.window = {50, 100, false}, .holds_at = kHeld};
  behaviour.buckets = 4;
  auto streams = busy(6000, 4);
  streams[0].value[10] = kHeld;
  OplusOptions options;
  options.workers = 4;
  options.map_instances = 3;
  options.core_count = 1;
  options.batch = 16;
  options.tuple_buffer = log;
  lab::test::gate.store(false, std::memory_order_release);
  SharedNothingRun run(streams, options);
  const auto answer = run.run([](lab::OplusRun&) {
    // Long enough for the queues to fill on most machines; the answer does not depend on it.
    for (int i = 0; i < 3000; ++i) std::this_thread::yield();
    lab::test::gate.store(true, std::memory_order_release);
  });
  CHECK(sorted(answer) == lab::test::keyed_oracle(streams));
  CHECK_EQ(run.runtime().events(), 12'000);
}

// A tuple has more keys than a queue holds.
void a_tuple_of_very_many_keys_passes() {
  behaviour = {.window = {50, 50, false}};
  behaviour.buckets = 64;
  auto streams = busy(20, 3);
  streams[1].count[7] = 30'000;
  for (const std::int32_t workers : {1, 4}) {
    OplusOptions options;
    options.workers = workers;
    options.map_instances = 5;
    options.core_count = 1;
    SharedNothingRun run(streams, options);
    CHECK(sorted(run.run()) == lab::test::keyed_oracle(streams));
  }
}

void a_kernel_that_fails_while_mapping_ends_the_run() {
  behaviour = {.window = {10, 20, false}, .raises_at = 77};
  behaviour.buckets = 3;
  auto streams = busy(500, 1);
  streams[1].value[300] = 77;
  OplusOptions options;
  options.workers = 8;
  options.map_instances = 4;
  options.core_count = 1;
  SharedNothingRun run(streams, options);
  std::string message;
  try {
    run.run();
  } catch (const std::runtime_error& error) {
    message = error.what();
  }
  CHECK(message.find("keys raised an exception") != std::string::npos);
}

void the_number_of_instances_is_fixed() {
  behaviour = {.window = {50, 100, false}};
  behaviour.buckets = 4;
  const auto streams = busy(100, 3);
  OplusOptions options;
  options.workers = 4;
  options.map_instances = 2;
  options.core_count = 1;
  SharedNothingRun run(streams, options);
  bool refused = false;
  try {
    static_cast<void>(run.runtime().reconfigure(1, {0, 0, 0, 0}));
  } catch (const std::invalid_argument& error) {
    refused = std::string(error.what()).find("behind a map stage is fixed") != std::string::npos;
  }
  CHECK(refused);
}

}  // namespace

int main() {
  const int rounds = lab::test::stress_rounds(20) * 4;
  for (int round = 0; round < rounds; ++round) round_of(static_cast<unsigned>(round));
  for (const char* log : {"order", "scalegate"}) a_full_queue_holds_back_its_sources_and_nobody_for_ever(log);
  a_tuple_of_very_many_keys_passes();
  a_kernel_that_fails_while_mapping_ends_the_run();
  the_number_of_instances_is_fixed();
  std::printf("%d rounds\n", rounds);
  return 0;
}
