// Forest: the trees of a running synchronization plan. Mailboxes (dgs/mailbox.h) join and fork the states of the trees,
// as in a combining tree.
//
// Source: DGS paper, section 3.4, without threads at inner nodes. An inner node has two children. The first child to
// arrive at the node is parked there. The second joins the states of both and climbs on, towards the node that owns the
// event. The child that reaches that node, the *winner*, applies the update and walks back down its path. At each node
// on the path the winner forks the state and releases the parked child, which does the same below. A join passes
// pointers: states never move.
//
// Laws of a cell, for each synchronization that passes through its node:
//  - both children arrive exactly once; a child writes its state and the fields of its side before it arrives;
//  - `arrived` goes 0 -> 1 -> 2 -> 0. The child that raises it to 2 owns both children's states, the node's state and
//    the cell until it releases them; no other thread touches them before;
//  - `epoch` grows by one at each release, after the fork has filled both children's states.
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

// Every eighth synchronization is timed: two readings of the clock cost about as much as a join.
inline constexpr std::int64_t kSyncSampling = 8;

// The shape of many trees. Node 0 is the root; children come after their parents.
struct TreeTemplate {
  struct Node {
    std::int32_t parent = -1;
    std::int32_t first = -1;  // children; -1 for a leaf
    std::int32_t second = -1;
    std::int32_t state_type = 0;
    std::int32_t cell = -1;  // index of an inner node among the inner nodes
    // Inner nodes: the number of bytes, by child, that move when another worker joins and forks the child's state.
    std::int64_t round_trip_bytes[2] = {0, 0};
    ForkKernel fork = nullptr;
    JoinKernel join = nullptr;
    std::vector<std::uint8_t> pred1, pred2;  // by event kind: whether the first, second child may get this kind

    bool leaf() const noexcept { return first < 0; }
  };
  std::vector<Node> nodes;
  std::int32_t cells = 0;
};

// The run-time state of an inner node.
struct alignas(kCacheLine) Cell {
  std::atomic<std::uint32_t> arrived{0};
  // By child. The child writes its entries before it arrives, the winner reads them.
  std::int32_t worker[2] = {-1, -1};      // worker to wake when the child is released
  std::int64_t latest_stamp[2] = {0, 0};  // latest due time of the events below the child
  // Written by the winner to release the parked child, which reads it.
  alignas(kCacheLine) std::atomic<std::uint32_t> epoch{0};
};

// A tree of the forest.
struct Tree {
  const TreeTemplate* shape = nullptr;
  Cell* cells = nullptr;    // one per inner node
  void** states = nullptr;  // one per node
};

// Throws std::runtime_error after a compiled function has raised. `role`: update, across, fork or join.
[[noreturn]] void kernel_failed(const char* role);

// Throws std::runtime_error if a program has emitted more records than it declares; `refused` is their number.
void check_refused(std::int64_t refused);

// The result of a leaf's climb.
struct Arrival {
  bool won = false;               // whether the climb reached the owner; the caller then holds the joined state there
  std::int32_t node = -1;         // the owner after a win; otherwise the node where the caller is parked
  std::int32_t side = 0;          // the parked caller's child of `node` (0 or 1)
  std::uint32_t epoch = 0;        // the parked caller is released once the cell's epoch differs from this one
  std::int64_t latest_stamp = 0;  // after a win, the latest due time of all events below the owner
  std::int64_t moved_bytes = 0;   // bytes of the joined states that move from other workers and back
};

class Forest {
 public:
  // Adds a shape and returns its index. Throws std::invalid_argument unless parents come first and each node has two
  // children or none.
  std::int32_t add_template(TreeTemplate shape);

  // Adds a state type of `nbytes` bytes.
  void add_state_type(std::int64_t nbytes) { state_bytes_.push_back(nbytes); }

  // Adds `count` trees of one shape; returns the index of the first.
  std::int32_t add_trees(std::int32_t shape, std::int32_t count);

  std::int64_t state_bytes(std::int32_t type) const { return state_bytes_.at(static_cast<std::size_t>(type)); }
  const Tree& tree(std::int32_t index) const { return trees_[static_cast<std::size_t>(index)]; }
  std::int32_t size() const noexcept { return static_cast<std::int32_t>(trees_.size()); }

  // Makes `memory` the state of a leaf. The forest allocates the states of inner nodes.
  void place(std::int32_t tree, std::int32_t node, void* memory) {
    trees_[static_cast<std::size_t>(tree)].states[node] = memory;
  }

  // Copies `initial` to the root and forks it down to the leaves. Call it before the run, after `place` for all leaves.
  // Like `arrive` and `descend`, it throws std::runtime_error if a join or fork raises.
  void initialise(std::int32_t tree, std::span<const std::byte> initial);

  // Climbs from `leaf` towards `owner`. After a win, the children of every node on the path are joined, and the caller
  // must end the synchronization with `descend`. Never waits.
  Arrival arrive(const Tree& tree, std::int32_t leaf, std::int32_t owner, std::int32_t worker,
                 std::int64_t latest_stamp);

  // `fork` fills the children's states from the state of inner node `index`; `join` does the reverse. Only the owner of
  // all three states calls these functions. They throw std::runtime_error if the kernel raises. They are inline, since
  // every synchronization calls them.
  static void fork(const Tree& tree, const TreeTemplate::Node& node, std::int32_t index) {
    const std::int64_t done = node.fork(tree.states[index], node.pred1.data(), node.pred2.data(),
                                        tree.states[node.first], tree.states[node.second]);
    if (done != kDone) kernel_failed("fork");
  }
  static void join(const Tree& tree, const TreeTemplate::Node& node, std::int32_t index) {
    if (node.join(tree.states[node.first], tree.states[node.second], tree.states[index]) != kDone)
      kernel_failed("join");
  }

  // Returns whether the winner has released a parked caller. If so, the state of the caller's child node is filled.
  static bool released(const Tree& tree, const Arrival& parked) noexcept {
    const TreeTemplate::Node& node = tree.shape->nodes[static_cast<std::size_t>(parked.node)];
    // acquire: sees the forked state; seq_cst for a caller about to sleep. Pairs with the store in `descend`.
    return tree.cells[node.cell].epoch.load(std::memory_order_seq_cst) != parked.epoch;
  }

  // Forks from `top` down to `leaf`; `top` is an inner node whose state the caller holds, or the leaf itself. Releases
  // the other child at each node on the path. `parkers`: by worker index.
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
