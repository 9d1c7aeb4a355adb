// Trees join on the way up and fork on the way down, for any order of arrival.
#include "dgs/forest.h"

#include <stdexcept>
#include <thread>
#include <vector>

#include "check.h"

#include "dgs/bench/sum_kernels.h"

namespace {

// Nodes: 0 root {1, 4}; 1 {2, 3}; leaves 2, 3, 4.
lab::TreeTemplate three_leaves() {
  lab::TreeTemplate shape;
  shape.nodes.resize(5);
  const std::int32_t parents[] = {-1, 0, 1, 1, 0};
  for (std::size_t i = 0; i < 5; ++i) {
    shape.nodes[i].parent = parents[i];
    shape.nodes[i].fork = &lab::sums::fork_halves;
    shape.nodes[i].join = &lab::sums::join;
  }
  shape.nodes[0].first = 1;
  shape.nodes[0].second = 4;
  shape.nodes[1].first = 2;
  shape.nodes[1].second = 3;
  return shape;
}

struct Fixture {
  lab::Forest forest;
  std::int64_t leaf[5] = {};
  std::vector<lab::Parker> parkers = std::vector<lab::Parker>(3);

  explicit Fixture(std::int64_t initial) {
    forest.add_state_type(8);
    forest.add_trees(forest.add_template(three_leaves()), 1);
    for (const int node : {2, 3, 4}) forest.place(0, node, &leaf[node]);
    forest.initialise(0, std::as_bytes(std::span(&initial, 1)));
  }

  std::int64_t& root() { return *static_cast<std::int64_t*>(forest.tree(0).states[0]); }
};

void initial_state_is_forked_to_the_leaves() {
  Fixture fixture(100);
  CHECK_EQ(fixture.leaf[2], 25);
  CHECK_EQ(fixture.leaf[3], 25);
  CHECK_EQ(fixture.leaf[4], 50);
}

void last_arrival_wins_and_releases_all(std::vector<std::int32_t> order) {
  Fixture fixture(100);
  const lab::Tree& tree = fixture.forest.tree(0);
  fixture.leaf[2] += 1;
  fixture.leaf[3] += 10;
  fixture.leaf[4] += 100;
  std::vector<std::pair<std::int32_t, lab::Arrival>> parked;
  for (const std::int32_t leaf : order) {
    const lab::Arrival arrival = fixture.forest.arrive(tree, leaf, 0, leaf - 2, 1000 + leaf);
    if (!arrival.won) {
      CHECK(!lab::Forest::released(tree, arrival));
      parked.emplace_back(leaf, arrival);
      continue;
    }
    CHECK_EQ(leaf, order.back());
    CHECK_EQ(fixture.root(), 211);
    CHECK_EQ(arrival.latest_stamp, 1004);
    fixture.root() = 1000;
    fixture.forest.descend(tree, 0, leaf, fixture.parkers);
  }
  CHECK_EQ(parked.size(), 2U);
  // The leaf parked highest releases those below it.
  for (int pass = 0; pass < 2; ++pass) {
    for (auto& [leaf, arrival] : parked) {
      if (leaf < 0 || !lab::Forest::released(tree, arrival)) continue;
      const auto& node = tree.shape->nodes[static_cast<std::size_t>(arrival.node)];
      fixture.forest.descend(tree, arrival.side == 0 ? node.first : node.second, leaf, fixture.parkers);
      leaf = -1;
    }
  }
  for (const auto& [leaf, arrival] : parked) CHECK_EQ(leaf, -1);
  CHECK_EQ(fixture.leaf[2] + fixture.leaf[3] + fixture.leaf[4], 1000);
  CHECK_EQ(fixture.leaf[4], 500);
}

void inner_owner_leaves_the_other_branch_alone() {
  Fixture fixture(100);
  const lab::Tree& tree = fixture.forest.tree(0);
  CHECK(!fixture.forest.arrive(tree, 3, 1, 1, 0).won);
  const lab::Arrival arrival = fixture.forest.arrive(tree, 2, 1, 0, 0);
  CHECK(arrival.won && arrival.node == 1);
  CHECK_EQ(*static_cast<std::int64_t*>(tree.states[1]), 50);
  fixture.forest.descend(tree, 1, 2, fixture.parkers);
  CHECK_EQ(fixture.leaf[4], 50);
}

// Only the states of children on other workers count as moved, up and down.
void states_of_other_workers_move_both_ways() {
  Fixture fixture(100);
  const lab::Tree& tree = fixture.forest.tree(0);
  CHECK_EQ(fixture.forest.arrive(tree, 2, 0, 0, 0).moved_bytes, 0);
  CHECK_EQ(fixture.forest.arrive(tree, 4, 0, 1, 0).moved_bytes, 0);
  CHECK_EQ(fixture.forest.arrive(tree, 3, 0, 1, 0).moved_bytes, 2 * 8);
  Fixture single(100);
  const lab::Tree& single_tree = single.forest.tree(0);
  for (const int leaf : {2, 3, 4}) CHECK_EQ(single.forest.arrive(single_tree, leaf, 0, 7, 0).moved_bytes, 0);
}

void malformed_templates_are_refused() {
  lab::Forest forest;
  forest.add_state_type(8);
  CHECK_THROWS(forest.add_template({}), std::invalid_argument);
  lab::TreeTemplate one_child = three_leaves();
  one_child.nodes[1].second = -1;
  CHECK_THROWS(forest.add_template(one_child), std::invalid_argument);
  lab::TreeTemplate no_fork = three_leaves();
  no_fork.nodes[0].fork = nullptr;
  CHECK_THROWS(forest.add_template(no_fork), std::invalid_argument);
  lab::TreeTemplate wrong_parent = three_leaves();
  wrong_parent.nodes[4].parent = 1;
  CHECK_THROWS(forest.add_template(wrong_parent), std::invalid_argument);
  lab::TreeTemplate unknown_type = three_leaves();
  unknown_type.nodes[2].state_type = 7;
  CHECK_THROWS(forest.add_template(unknown_type), std::invalid_argument);
}

void a_kernel_that_raises_is_an_error() {
  Fixture fixture(100);
  lab::TreeTemplate shape = three_leaves();
  for (auto& node : shape.nodes) node.join = [](const void*, const void*, void*) -> std::int64_t { return 0; };
  fixture.forest.add_trees(fixture.forest.add_template(shape), 1);
  std::int64_t leaf[5] = {};
  for (const int node : {2, 3, 4}) fixture.forest.place(1, node, &leaf[node]);
  const lab::Tree& tree = fixture.forest.tree(1);
  CHECK(!fixture.forest.arrive(tree, 2, 0, 0, 0).won);
  CHECK_THROWS(fixture.forest.arrive(tree, 3, 0, 1, 0), std::runtime_error);
}

// Threads that only synchronize: in each round, each leaf adds one to the sum.
void threads_meet_at_every_round(int rounds) {
  Fixture fixture(0);
  const lab::Tree& tree = fixture.forest.tree(0);
  std::vector<std::thread> threads;
  for (const std::int32_t leaf : {2, 3, 4}) {
    threads.emplace_back([&, leaf] {
      lab::Parker& parker = fixture.parkers[static_cast<std::size_t>(leaf - 2)];
      for (int round = 1; round <= rounds; ++round) {
        fixture.leaf[leaf] += 1;
        const lab::Arrival arrival = fixture.forest.arrive(tree, leaf, 0, leaf - 2, round);
        std::int32_t top = 0;
        if (arrival.won) {
          CHECK_EQ(fixture.root(), 3 * round);
          CHECK_EQ(arrival.latest_stamp, round);
        } else {
          while (!lab::Forest::released(tree, arrival)) {
            const std::uint32_t ticket = parker.prepare();
            if (lab::Forest::released(tree, arrival)) {
              parker.cancel();
            } else {
              parker.commit(ticket);
            }
          }
          const auto& node = tree.shape->nodes[static_cast<std::size_t>(arrival.node)];
          top = arrival.side == 0 ? node.first : node.second;
        }
        fixture.forest.descend(tree, top, leaf, fixture.parkers);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

int main() {
  initial_state_is_forked_to_the_leaves();
  last_arrival_wins_and_releases_all({2, 3, 4});
  last_arrival_wins_and_releases_all({4, 3, 2});
  last_arrival_wins_and_releases_all({3, 4, 2});
  inner_owner_leaves_the_other_branch_alone();
  states_of_other_workers_move_both_ways();
  malformed_templates_are_refused();
  a_kernel_that_raises_is_an_error();
  threads_meet_at_every_round(lab::test::stress_rounds(20) * 200);
  return 0;
}
