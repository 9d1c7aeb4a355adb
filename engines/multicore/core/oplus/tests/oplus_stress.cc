// Stress test of all kinds of operators O+ under random switches, with more threads than cores: the sequential answer,
// every tuple counted once, and an end, always.
#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>
#include <memory>

#include "oplus/tests/queues_cases.h"
#include "oplus/tests/stored_cases.h"

namespace {

using lab::test::behaviour;
using lab::test::Record;
using lab::test::Tuples;

enum class Kind { kShared, kChain, kSharedNothing, kMapStage, kStored };
constexpr std::array kNames{"shared", "chain", "shared-nothing", "map stage", "stored"};

std::array<lab::test::StressTotals, kNames.size()> totals;

// Each tuple, followed by one with its first key again: a bag of keys counts it twice.
std::vector<Tuples> with_repeats(const std::vector<Tuples>& streams) {
  std::vector<Tuples> result;
  for (const Tuples& one : streams) {
    Tuples& more = result.emplace_back();
    more.input = one.input;
    for (std::size_t i = 0; i < one.ts.size(); ++i) {
      for (const std::int64_t count : {one.count[i], std::min<std::int64_t>(one.count[i], 1)}) {
        more.add(one.ts[i], one.base[i], count, one.value[i]);
      }
    }
  }
  return result;
}

void print_records(const char* title, const std::vector<Record>& of, const std::vector<Record>& without) {
  std::vector<Record> difference;
  std::set_difference(of.begin(), of.end(), without.begin(), without.end(), std::back_inserter(difference));
  for (const auto& [ts, key, value] : difference) {
    std::fprintf(stderr, "%s: ts %lld, key %lld, value %lld\n", title, static_cast<long long>(ts),
                 static_cast<long long>(key), static_cast<long long>(value));
  }
}

void run_round(unsigned seed, Kind kind) {
  std::mt19937 random(seed);
  const auto pick = [&](int from, int to) { return std::uniform_int_distribution<int>(from, to)(random); };
  const bool stored = kind == Kind::kStored;
  const bool join = (kind == Kind::kShared || kind == Kind::kChain) && pick(0, 2) == 0;
  if (stored) {
    lab::test::draw_stored(random);
  } else {
    lab::test::draw_behaviour(random, join);
  }
  lab::test::draw_links(random);
  const int count = kind == Kind::kChain ? pick(1, lab::test::kMaxLinks) : 0;
  if (count != 0) behaviour.expires |= !behaviour.emits_on_update;  // links have records to read
  const int most = stored || count != 0 ? 600 : 1200;
  auto streams =
      lab::test::random_tuples(random, join ? 2 : pick(stored ? 2 : 1, 6), 2, join ? most / 2 : most, pick(1, 6));
  const std::int64_t tuples = lab::test::events_in(streams);

  lab::OplusOptions options = lab::test::draw_options(random, streams);
  const bool elastic = kind != Kind::kMapStage && pick(0, 3) != 0;
  if (elastic) options.max_instances = pick(options.workers, 8);
  if (kind == Kind::kMapStage) {
    options.map_instances = pick(1, pick(0, 3) == 0 ? lab::kMaxLogSources / static_cast<int>(streams.size()) : 4);
  } else if (pick(0, 1) == 1) {
    options.downstream = pick(1, 3);
  }
  options.shared_nothing = stored && pick(0, 1) == 1;
  if (!join && !stored && pick(0, 1) == 1 && tuples != 0) {
    options.end_watermark = lab::test::total_order(streams).back().ts + pick(count == 0 ? -50 : 0, 100);
  }
  const bool bag = kind == Kind::kMapStage && pick(0, 1) == 1;

  std::unique_ptr<lab::test::OplusCase> run;
  if (stored) {
    run = std::make_unique<lab::test::StoredRun>(streams, options);
  } else if (kind == Kind::kSharedNothing || kind == Kind::kMapStage) {
    run = std::make_unique<lab::test::SharedNothingRun>(streams, options, bag);
  } else {
    run = std::make_unique<lab::test::OperatorRunCase>(streams, options, join, count);
  }
  const auto switch_seed = static_cast<unsigned>(random());
  const auto answer = lab::test::sorted(run->run([&](lab::OplusRun& runtime) {
    if (elastic) lab::test::switch_at_random(runtime, switch_seed, options.max_instances, count + 1);
    while (runtime.snapshot()) std::this_thread::yield();  // as a controller reads it
  }));

  const auto pairs = stored ? lab::test::stored_oracle(streams)
                     : join ? lab::test::join_oracle(streams)
                            : lab::test::JoinAnswer{};
  const auto expected =
      stored ? pairs.records
             : lab::test::chain_oracle(bag ? with_repeats(streams) : streams, count, join, options.end_watermark);
  if (answer != expected) {
    std::fprintf(stderr, "%s, seed %u\n", kNames[static_cast<std::size_t>(kind)], seed);
    print_records("too much", answer, expected);
    print_records("missing", expected, answer);
  }
  CHECK(answer == expected);
  const lab::OplusRun& runtime = run->runtime();
  CHECK_EQ(runtime.events(), tuples);
  if (stored || join) CHECK_EQ(runtime.compared(), pairs.compared);
  if (options.load && options.measure) {
    CHECK_EQ(lab::test::total_of(runtime.latency_counts()), std::ssize(answer));
  }
  lab::test::StressTotals& total = totals[static_cast<std::size_t>(kind)];
  for (std::size_t op = 0; op <= static_cast<std::size_t>(count); ++op) {
    for (const lab::Switch& one : runtime.switches(op)) {
      if (one.done_ns < 0) continue;
      ++total["switches"];
      total["bytes moved"] += one.moved_bytes;
      CHECK(options.shared_nothing || kind == Kind::kSharedNothing || one.moved_bytes == 0);
    }
  }
  total["records"] += std::ssize(answer);
  total.add(runtime, {"sleeps"});
}

}  // namespace

int main() {
  const int least = lab::test::stress_rounds(20) * 4;
  for (std::size_t k = 0; k < kNames.size(); ++k) {
    const auto kind = static_cast<Kind>(k);
    lab::test::StressTotals& total = totals[k];
    const int rounds = lab::test::rounds_until(
        least, [&](unsigned round) { run_round(round, kind); },
        [&] {
          if (kind == Kind::kMapStage) return true;
          const bool moves = kind == Kind::kSharedNothing || kind == Kind::kStored;
          return total["switches"] >= least && (!moves || total["bytes moved"] > 0);
        });
    std::printf("%s: ", kNames[k]);
    total.print(rounds);
    CHECK(total["records"] > 50 * rounds);
  }
  return 0;
}
