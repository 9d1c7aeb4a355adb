// The synchronization plan while it runs: trees of states, joined and forked as in a combining tree.
//
// Source: DGS paper, section 3.4, without its threads at inner nodes: the last child to arrive at a node
// does the node's work and goes on towards the node that owns the event; the first one stays parked there.
// After the update the winner walks back down its own path, forks at each node and releases whoever is
// parked there, who does the same below. A join hands over pointers: states never move.
//
// Laws of a cell, for each synchronization that passes through its node:
//  - both children arrive exactly once; before arriving, a child has written its state and its side's fields;
//  - `arrived` goes 0 -> 1 -> 2 -> 0; whoever makes it 2 owns both children's states, the node's state and the
//    cell until it releases; nobody else touches them;
//  - `epoch` grows by one at each release, after both children's states have been filled.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "run/cacheline.h"
#include "run/kernel.h"
#include "run/parker.h"

namespace lab {

// The shape that many trees share. Node 0 is the root; children come after their parents.
struct TreeTemplate {
  struct Node {
    std::int32_t parent = -1;
    std::int32_t first = -1;  // -1: leaf
    std::int32_t second = -1;
    std::int32_t state_type = 0;
    std::int32_t cell = -1;                   // inner nodes: index among the inner nodes
    std::int64_t there_and_back[2] = {0, 0};  // inner nodes: bytes of a child's state, joined and forked elsewhere
    ForkKernel fork = nullptr;
    JoinKernel join = nullptr;
    std::vector<std::uint8_t> pred1, pred2;  // by kind: what the wires to the children may carry

    bool leaf() const noexcept { return first < 0; }
  };
  std::vector<Node> nodes;
  std::int32_t cells = 0;
};

// What an inner node needs at run time.
struct alignas(kCacheLine) Cell {
  std::atomic<std::uint32_t> arrived{0};
  // What each child brings: written by the child before it arrives, read by the winner.
  std::int32_t worker[2] = {-1, -1};      // whom to wake when the child's side is released
  std::int64_t latest_stamp[2] = {0, 0};  // latest due time of the events below
  // Written by the winner's release, read by the parked child.
  alignas(kCacheLine) std::atomic<std::uint32_t> epoch{0};
};

// A tree of the forest.
struct Tree {
  const TreeTemplate* shape = nullptr;
  Cell* cells = nullptr;    // one per inner node
  void** states = nullptr;  // one per node
};

// Throws std::runtime_error: a compiled function raised. `role`: update, fork or join.
[[noreturn]] void kernel_failed(const char* role);

// Where a leaf's climb ended.
struct Arrival {
  bool won = false;               // reached the owner: the caller holds the joined state there
  std::int32_t node = -1;         // won: the owner; else the node at which the caller is parked
  std::int32_t side = 0;          // parked: which child of `node` the caller is (0 or 1)
  std::uint32_t epoch = 0;        // parked: released once the cell's epoch differs from this
  std::int64_t latest_stamp = 0;  // won: latest due time of all events below the owner
  std::int64_t moved_bytes = 0;   // of states of other workers that it joined on its way; they come back by forks
};

class Forest {
 public:
  // Adds a shape; returns its index. `nodes` are checked: parents first, two children or none.
  // Throws std::invalid_argument.
  std::int32_t add_template(TreeTemplate shape);

  // Sets the size of a state type in bytes.
  void add_state_type(std::int64_t nbytes) { state_bytes_.push_back(nbytes); }

  // Adds `count` trees of one shape; returns the index of the first.
  std::int32_t add_trees(std::int32_t shape, std::int32_t count);

  std::int64_t state_bytes(std::int32_t type) const { return state_bytes_.at(static_cast<std::size_t>(type)); }
  const Tree& tree(std::int32_t index) const { return trees_[static_cast<std::size_t>(index)]; }
  std::int32_t size() const noexcept { return static_cast<std::int32_t>(trees_.size()); }

  // Makes `memory` the state of a leaf; inner nodes have their own.
  void place(std::int32_t tree, std::int32_t node, void* memory) {
    trees_[static_cast<std::size_t>(tree)].states[node] = memory;
  }

  // Copies `initial` to the root and forks it down to the leaves. Before the run; all leaves placed.
  // Throws std::runtime_error when a fork raises, as do `arrive` and `descend` when a join or fork does.
  void initialise(std::int32_t tree, std::span<const std::byte> initial);

  // Climbs from `leaf` towards `owner`. On a win the children of every node on the path are joined and the
  // caller must end the synchronization with `descend`. Never waits.
  Arrival arrive(const Tree& tree, std::int32_t leaf, std::int32_t owner, std::int32_t worker,
                 std::int64_t latest_stamp);

  // Whether a parked caller has been released; its side's state is then filled.
  static bool released(const Tree& tree, const Arrival& parked) noexcept {
    const TreeTemplate::Node& node = tree.shape->nodes[static_cast<std::size_t>(parked.node)];
    // acquire: sees the forked state; seq_cst for a caller about to sleep. Pairs with the store in `descend`.
    return tree.cells[node.cell].epoch.load(std::memory_order_seq_cst) != parked.epoch;
  }

  // Forks from `top` (an inner node whose state the caller holds, or the leaf itself) down to `leaf`, and
  // releases at each node the child that is not on the path. `parkers` by worker index.
  void descend(const Tree& tree, std::int32_t top, std::int32_t leaf, std::span<Parker> parkers);

 private:
  std::vector<std::unique_ptr<TreeTemplate>> shapes_;
  std::vector<std::int64_t> state_bytes_;
  std::vector<Tree> trees_;
  std::vector<std::unique_ptr<Cell[]>> cell_blocks_;
  std::vector<std::unique_ptr<void*[]>> pointer_blocks_;
  std::vector<std::unique_ptr<std::int64_t[]>> state_blocks_;
};

}  // namespace lab
