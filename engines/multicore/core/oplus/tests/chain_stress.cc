// Random queries of two and three operators, with more threads than cores and little room between operators: the
// sequential answer, and an end, always.
#include <cstdio>

#include "oplus/tests/chain_cases.h"
#include "check.h"
#include "counter.h"

namespace {

using lab::test::behaviour;
using lab::test::links;
using lab::test::Tuples;

std::int64_t records = 0;
std::int64_t sleeps = 0;

void round_of(unsigned seed) {
  std::mt19937 random(seed);
  const auto pick = [&](int from, int to) { return std::uniform_int_distribution<int>(from, to)(random); };
  const bool join = pick(0, 4) == 0;
  behaviour = {};
  behaviour.buckets = pick(1, 16);
  const std::int64_t advance = pick(1, 12);
  if (join) {
    behaviour.window = {1, pick(1, 20), true};
  } else {
    behaviour.window = {advance, advance + pick(0, 1) * pick(0, 10), pick(0, 2) == 0};
    behaviour.slides = behaviour.window.single && pick(0, 1) == 1;
    behaviour.emits_on_update =
        (behaviour.window.single || behaviour.window.advance == behaviour.window.size) && pick(0, 1) == 1;
    behaviour.expires = !behaviour.emits_on_update || pick(0, 1) == 1;
  }
  for (lab::test::Link& link : links) link = lab::test::random_link(random);
  const int count = pick(1, lab::test::kMostLinks);
  auto streams = lab::test::random_tuples(random, join ? 2 : pick(1, 4), 2, join ? 300 : 600, pick(1, 6));
  lab::OplusOptions options;
  options.workers = pick(1, 8);
  options.batch = pick(0, 1) == 1 ? 1 : pick(1, 64);
  options.batch_rows = pick(0, 1) == 1 ? 4096 : pick(1, 20);
  options.ring_blocks = static_cast<std::uint64_t>(pick(1, 4));
  options.core_count = pick(0, 2) != 0 ? 1 : 64;
  options.tuple_buffer = pick(0, 1) == 1 ? "order" : "scalegate";
  options.log.entries = 1 << pick(4, 10);
  options.log.rows_in_flight = pick(1, 500);
  options.link_rows = 1 << pick(1, 10);
  options.measure = pick(0, 3) != 0;
  if (pick(0, 1) == 1 && lab::test::tuples_in(streams) != 0) {
    options.end_watermark = lab::test::total_order(streams).back().ts + pick(0, 100);
  }
  if (pick(0, 3) == 0) {  // on a schedule, with promises, which reach beyond the last tuple
    options.load = lab::LoadOptions{0, 0, pick(0, 1) == 1};
    options.ring_blocks = 1024;
    lab::test::schedule(streams, pick(0, 3000));
  }
  lab::test::OperatorRunCase run(streams, options, join, lab::test::behind(count));
  const auto answer = lab::test::sorted(run.run([](lab::OplusRun& runtime) {
    while (runtime.snapshot()) std::this_thread::yield();  // as a controller looks
  }));
  const bool right = answer == lab::test::chain_oracle(streams, count, join, options.end_watermark);
  if (!right) std::fprintf(stderr, "seed %u\n", seed);
  CHECK(right);
  CHECK_EQ(run.runtime().events(), lab::test::tuples_in(streams));
  if (options.load && options.measure) {
    std::int64_t timed = 0;
    for (const std::int64_t n : run.runtime().latency_counts()) timed += n;
    CHECK_EQ(timed, static_cast<std::int64_t>(answer.size()));
  }
  records += static_cast<std::int64_t>(answer.size());
  sleeps += lab::test::counter(run.runtime(), "sleeps");
}

}  // namespace

int main() {
  const int rounds = lab::test::stress_rounds(20) * 5;
  for (int round = 0; round < rounds; ++round) round_of(static_cast<unsigned>(round));
  std::printf("%d rounds, %lld records, %lld sleeps\n", rounds, static_cast<long long>(records),
              static_cast<long long>(sleeps));
  CHECK(records > 100 * rounds);
  return 0;
}
