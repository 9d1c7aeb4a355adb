// Benchmark of dgs/forest.h: synchronizes the two leaves of a tree, which alternate as the last to arrive. One thread
// does the work of both.
#include <vector>

#include "registry.h"

#include "dgs/bench/sum_kernels.h"
#include "dgs/forest.h"

namespace lab::bench {
namespace {

TreeTemplate two_leaves() {
  TreeTemplate shape;
  shape.nodes.resize(3);
  shape.nodes[0].first = 1;
  shape.nodes[0].second = 2;
  shape.nodes[0].fork = &sums::fork_halves;
  shape.nodes[0].join = &sums::join;
  shape.nodes[1].parent = 0;
  shape.nodes[2].parent = 0;
  return shape;
}

std::int64_t run(std::int64_t n) {
  Forest forest;
  std::int64_t leaf[3] = {};
  std::vector<Parker> parkers(2);
  forest.add_state_type(8);
  forest.add_trees(forest.add_template(two_leaves()), 1);
  for (const int node : {1, 2}) forest.place(0, node, &leaf[node]);
  const std::int64_t zero = 0;
  forest.initialise(0, std::as_bytes(std::span(&zero, 1)));
  const Tree& tree = forest.tree(0);
  return measure([&] {
    std::int64_t releases = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int32_t early = 1 + static_cast<std::int32_t>(i % 2);
      const std::int32_t late = 3 - early;
      leaf[early] += 1;
      const Arrival parked = forest.arrive(tree, early, 0, early - 1, i);
      leaf[late] += 2;
      const Arrival won = forest.arrive(tree, late, 0, late - 1, i);
      *static_cast<std::int64_t*>(tree.states[won.node]) += won.latest_stamp;
      forest.descend(tree, won.node, late, parkers);
      if (!parked.won && Forest::released(tree, parked)) {
        forest.descend(tree, early, early, parkers);
        ++releases;
      }
    }
    return leaf[1] + leaf[2] + releases;
  });
}

std::int64_t expected(std::int64_t n) { return 3 * n + n * (n - 1) / 2 + n; }

}  // namespace

const Bench forest_synchronize{"forest_synchronize", "synchronizations", 200'000, &run, &expected};

}  // namespace lab::bench
