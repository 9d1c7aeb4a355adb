// Tests shared-nothing operators, with and without a map stage, with more threads than cores: full queues, failures.
#include <cstdio>

#include "oplus/tests/queues_cases.h"

namespace {

using lab::OplusOptions;
using lab::OplusRun;
using lab::test::behaviour;
using lab::test::dense_tuples;
using lab::test::SharedNothingRun;
using lab::test::sorted;

OplusOptions options_with(std::int32_t workers, std::int32_t map_instances) {
  auto options = lab::test::short_run<OplusOptions>(workers);
  options.map_instances = map_instances;
  return options;
}

// An instance stops until the others have filled its queues, and sources or map instances wait for it.
void a_full_queue_holds_back_its_sources_but_not_for_ever(const char* log, std::int32_t map_instances) {
  constexpr std::int64_t kHeld = 99;
  behaviour = {.window = {50, 100, false}, .buckets = 4, .holds_at = kHeld};
  auto streams = dense_tuples(6000, 4);
  streams[0].value[10] = kHeld;
  OplusOptions options = options_with(4, map_instances);
  options.batch = 16;
  options.tuple_buffer = log;
  lab::test::gate.store(false, std::memory_order_release);  // pairs with the load in `hold_at`
  SharedNothingRun run(streams, options);
  const auto answer = run.run([](OplusRun&) {
    // Long enough for the rings to fill on most machines; the answer does not depend on it.
    for (int i = 0; i < 3000; ++i) std::this_thread::yield();
    lab::test::gate.store(true, std::memory_order_release);
  });
  CHECK(sorted(answer) == lab::test::keyed_oracle(streams));
  CHECK_EQ(run.runtime().events(), 12'000);
}

void a_kernel_that_fails_while_routing_or_mapping_ends_the_run(std::int32_t map_instances) {
  behaviour = {.window = {10, 20, false}, .buckets = 3, .raises_at = 77};
  auto streams = dense_tuples(500, 1);
  streams[1].value[300] = 77;
  SharedNothingRun run(streams, options_with(8, map_instances));
  const std::string message = run.failure([&](OplusRun& runtime) {
    if (map_instances != 0) return;
    const std::int64_t number = runtime.reconfigure({5}, {5, 5, 5});
    if (number > 0) static_cast<void>(runtime.await(number));  // released by the failure at the latest
  });
  CHECK(lab::test::contains(message, "keys raised an exception"));
}

// A tuple has more keys than a queue holds.
void a_tuple_of_very_many_keys_passes() {
  behaviour = {.window = {50, 50, false}, .buckets = 64};
  auto streams = dense_tuples(20, 3);
  streams[1].count[7] = 30'000;
  for (const std::int32_t workers : {1, 4}) {
    SharedNothingRun run(streams, options_with(workers, 5));
    CHECK(sorted(run.run()) == lab::test::keyed_oracle(streams));
  }
}

void the_number_of_instances_behind_a_map_stage_is_fixed() {
  behaviour = {.window = {50, 100, false}, .buckets = 4};
  const auto streams = dense_tuples(100, 3);
  SharedNothingRun run(streams, options_with(4, 2));
  CHECK_THROWS(run.runtime().reconfigure({0}, {0, 0, 0, 0}), std::invalid_argument);
}

}  // namespace

int main() {
  for (const std::int32_t map_instances : {0, 3}) {
    for (const char* log : lab::test::kLogs) a_full_queue_holds_back_its_sources_but_not_for_ever(log, map_instances);
    a_kernel_that_fails_while_routing_or_mapping_ends_the_run(map_instances);
  }
  a_tuple_of_very_many_keys_passes();
  the_number_of_instances_behind_a_map_stage_is_fixed();
  return 0;
}
