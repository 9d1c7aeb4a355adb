// A random run of the keyed sum (keyed_sum.h) for tests that compare whole runs: keys, groups, streams, options, and
// perhaps a load. Also the outputs that its writer receives.
#pragma once
#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "dgs/tests/keyed_sum.h"

namespace lab::test {

// Drawn from a seed. Later draws of the test come from the same generator.
struct RandomKeyedSum {
  RandomKeyedSum(unsigned seed, int events)
      : random(seed),
        keys(pick(1, 5)),
        groups(pick(0, 1) * pick(1, keys)),
        streams(random_streams(random, pick(1, 6), keys, events, pick(0, 1) == 1, groups)) {
    options.workers = pick(1, 8);
    options.batch = pick(0, 1) == 1 ? 1 : pick(1, 50);
    options.ring_blocks = static_cast<std::uint64_t>(pick(1, 4));
    options.core_count = pick(0, 1) != 0 ? 1 : 64;
    using Gather = DgsOptions::Gather;
    options.gather = std::array{Gather::kNever, Gather::kQuicker, Gather::kAlways,
                                Gather::kInTurn}[static_cast<std::size_t>(pick(0, 3))];
    options.direct = pick(0, 2) != 0;
  }
  RandomKeyedSum(const RandomKeyedSum&) = delete;
  RandomKeyedSum& operator=(const RandomKeyedSum&) = delete;

  int pick(int from, int to) { return std::uniform_int_distribution<int>(from, to)(random); }

  void draw_cuts() { options.cuts = random_cuts(random, streams, static_cast<unsigned>(pick(1, 20))); }

  // One run in `every` has a load.
  void draw_load(int every) {
    if (pick(1, every) != 1) return;
    schedule(streams, pick(0, 2000), static_cast<std::size_t>(pick(1, 100)));
    options.load = LoadOptions{0, 0, pick(0, 1) == 1};
  }

  std::vector<Output> expected() const { return oracle(streams, keys, groups); }

  std::mt19937 random;
  int keys, groups;
  std::vector<Events> streams;
  DgsOptions options;
};

// Returns the outputs that a snapshot passes to its writer.
inline std::vector<Output> collected(const DgsRun& run, const Checkpoints& from) {
  const auto rows = static_cast<std::size_t>(from.rows());
  Events all{std::vector<std::int64_t>(rows), std::vector<std::int32_t>(rows), std::vector<std::int64_t>(rows)};
  const std::array<void*, 3> columns{all.ts.data(), all.tag.data(), all.value.data()};
  from.collect(columns, run.output_itemsizes());
  std::vector<Output> out;
  for (std::size_t i = 0; i < rows; ++i) out.emplace_back(all.ts[i], all.tag[i], all.value[i]);
  return out;
}

inline void add(std::vector<Output>& to, const std::vector<Output>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace lab::test
