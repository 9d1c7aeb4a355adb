// Stress test of random queries of two and three operators, with more threads than cores and little room between
// operators. Instances change at random moments, with downstream readers and without. The answer is always the
// sequential one, and the run ends.
#include <algorithm>
#include <cstdio>
#include <iterator>

#include "check.h"
#include "counter.h"

#include "oplus/tests/chain_cases.h"

namespace {

using lab::test::behaviour;
using lab::test::links;
using lab::test::Tuples;

std::int64_t records = 0;
std::int64_t sleeps = 0;
std::int64_t applied = 0;

std::vector<std::int32_t> random_owner(std::mt19937& random, std::int64_t buckets, std::int32_t instances) {
  std::vector<std::int32_t> owner;
  for (std::int64_t b = 0; b < buckets; ++b) {
    owner.push_back(static_cast<std::int32_t>(random() % static_cast<unsigned>(instances)));
  }
  return owner;
}

// Requests switches of any operator until the run is over, several at a time; waits for some of them.
void reconfigure(lab::OplusRun& runtime, unsigned seed, std::int32_t most, int count) {
  std::mt19937 random(seed);
  for (;;) {
    const auto op = static_cast<std::size_t>(random() % static_cast<unsigned>(count + 1));
    const auto instances = 1 + static_cast<std::int32_t>(random() % static_cast<unsigned>(most));
    const std::int64_t buckets = op == 0 ? behaviour.buckets : links[op - 1].buckets;
    const std::int64_t number = runtime.reconfigure(instances, random_owner(random, buckets, instances), op);
    if (number < 0) return;
    const auto next = random() % 4;
    if (next == 0) continue;  // other switches meanwhile, or one that overtakes it
    if (next == 1) {
      for (auto i = random() % 100; i > 0; --i) std::this_thread::yield();
    } else if (!runtime.await(number, op)) {
      return;
    }
  }
}

// Returns the records that only one of two sorted answers has.
void tell(const char* what, const std::vector<lab::test::Record>& one, const std::vector<lab::test::Record>& other) {
  std::vector<lab::test::Record> alone;
  std::set_difference(one.begin(), one.end(), other.begin(), other.end(), std::back_inserter(alone));
  for (const auto& [ts, key, value] : alone) {
    std::fprintf(stderr, "%s: ts %lld, key %lld, value %lld\n", what, static_cast<long long>(ts),
                 static_cast<long long>(key), static_cast<long long>(value));
  }
}

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
  const bool elastic = pick(0, 1) == 1;
  if (elastic) options.most_instances = pick(options.workers, 8);
  if (pick(0, 1) == 1) options.downstream = pick(1, 3);
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
  const auto inner = static_cast<unsigned>(random());
  const auto answer = lab::test::sorted(run.run([&](lab::OplusRun& runtime) {
    if (elastic) reconfigure(runtime, inner, options.most_instances, count);
    while (runtime.snapshot()) std::this_thread::yield();  // as a controller reads it
  }));
  const auto wanted = lab::test::chain_oracle(streams, count, join, options.end_watermark);
  if (answer != wanted) {
    std::fprintf(stderr, "seed %u\n", seed);
    tell("too much", answer, wanted);
    tell("missing", wanted, answer);
  }
  CHECK(answer == wanted);
  CHECK_EQ(run.runtime().events(), lab::test::tuples_in(streams));
  if (options.load && options.measure) {
    std::int64_t timed = 0;
    for (const std::int64_t n : run.runtime().latency_counts()) timed += n;
    CHECK_EQ(timed, static_cast<std::int64_t>(answer.size()));
  }
  for (std::size_t op = 0; op <= static_cast<std::size_t>(count); ++op) {
    for (const lab::Switch& one : run.runtime().switches(op)) applied += one.done_ns >= 0 ? 1 : 0;
  }
  records += static_cast<std::int64_t>(answer.size());
  sleeps += lab::test::counter(run.runtime(), "sleeps");
}

}  // namespace

int main() {
  const int least = lab::test::stress_rounds(20) * 5;
  const int rounds = lab::test::rounds_until(least, round_of, [&] { return applied >= least; });
  std::printf("%d rounds, %lld records, %lld switches, %lld sleeps\n", rounds, static_cast<long long>(records),
              static_cast<long long>(applied), static_cast<long long>(sleeps));
  CHECK(records > 100 * rounds);
  return 0;
}
