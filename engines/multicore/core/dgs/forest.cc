// Implements the trees that dgs/forest.h explains.
#include "dgs/forest.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

namespace lab {
namespace {

// Returns the size of a state in units, rounded up to whole cache lines, since states of neighbouring trees belong to
// different workers.
std::int64_t padded_units(std::int64_t nbytes) {
  const auto line = static_cast<std::int64_t>(kCacheLine);
  return (std::max<std::int64_t>(nbytes, 1) + line - 1) / line * line / kStateUnit;
}

}  // namespace

void kernel_failed(const char* role) {
  throw std::runtime_error(std::string("the program's ") + role + " function raised an exception");
}

void check_refused(std::int64_t refused) {
  if (refused == 0) return;
  throw std::runtime_error("update emitted " + std::to_string(refused) +
                           " records beyond what the program declares (max_outputs_per_event; of across: "
                           "max_outputs, outputs_per_member); raise it there");
}

std::int32_t Forest::add_template(TreeTemplate shape) {
  if (shape.nodes.empty()) throw std::invalid_argument("a tree needs at least one node");
  for (std::size_t i = 0; i < shape.nodes.size(); ++i) {
    TreeTemplate::Node& node = shape.nodes[i];
    const auto index = static_cast<std::int32_t>(i);
    const bool has_valid_parent = i == 0 ? node.parent == -1 : node.parent >= 0 && node.parent < index;
    if (!has_valid_parent) throw std::invalid_argument("node " + std::to_string(i) + " does not come after its parent");
    if ((node.first < 0) != (node.second < 0)) {
      throw std::invalid_argument("node " + std::to_string(i) + " has one child; expected none or two");
    }
    if (node.state_type < 0 || static_cast<std::size_t>(node.state_type) >= state_bytes_.size()) {
      throw std::invalid_argument("node " + std::to_string(i) + " has an unknown state type");
    }
    if (node.leaf()) continue;
    const auto size = static_cast<std::int32_t>(shape.nodes.size());
    for (const std::int32_t child : {node.first, node.second}) {
      if (child <= index || child >= size || shape.nodes[static_cast<std::size_t>(child)].parent != index) {
        throw std::invalid_argument("node " + std::to_string(i) + " and its child disagree");
      }
    }
    if (node.fork == nullptr || node.join == nullptr) {
      throw std::invalid_argument("node " + std::to_string(i) + " has children but no fork or join");
    }
    node.cell = shape.cells++;
  }
  for (TreeTemplate::Node& node : shape.nodes) {
    if (node.leaf()) continue;
    for (const std::int32_t child : {node.first, node.second}) {
      const std::int32_t type = shape.nodes[static_cast<std::size_t>(child)].state_type;
      node.round_trip_bytes[child == node.second ? 1 : 0] = 2 * state_bytes_[static_cast<std::size_t>(type)];
    }
  }
  shapes_.push_back(std::make_unique<TreeTemplate>(std::move(shape)));
  return static_cast<std::int32_t>(shapes_.size()) - 1;
}

std::int32_t Forest::add_trees(std::int32_t shape_index, std::int32_t count) {
  const TreeTemplate& shape = *shapes_.at(static_cast<std::size_t>(shape_index));
  const std::int32_t first = size();
  const auto trees = static_cast<std::size_t>(count);
  auto cells = std::make_unique<Cell[]>(trees * static_cast<std::size_t>(shape.cells));
  auto pointers = std::make_unique<void*[]>(trees * shape.nodes.size());
  std::int64_t units = 0;
  for (const auto& node : shape.nodes) {
    if (!node.leaf()) units += padded_units(state_bytes(node.state_type));
  }
  // One extra cache line, so that the first state can start at the beginning of a line.
  const auto line_units = static_cast<std::int64_t>(kCacheLine) / kStateUnit;
  auto states = std::make_unique<std::int64_t[]>(static_cast<std::size_t>(units * count + line_units));
  const auto misalignment = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(states.get()) % kCacheLine);
  std::int64_t* state = states.get() + (misalignment == 0 ? 0 : line_units - misalignment / kStateUnit);
  for (std::size_t t = 0; t < trees; ++t) {
    Tree tree{&shape, cells.get() + t * static_cast<std::size_t>(shape.cells), pointers.get() + t * shape.nodes.size()};
    for (std::size_t i = 0; i < shape.nodes.size(); ++i) {
      if (shape.nodes[i].leaf()) continue;
      tree.states[i] = state;
      state += padded_units(state_bytes(shape.nodes[i].state_type));
    }
    trees_.push_back(tree);
  }
  cell_blocks_.push_back(std::move(cells));
  pointer_blocks_.push_back(std::move(pointers));
  state_blocks_.push_back(std::move(states));
  return first;
}

void Forest::initialise(std::int32_t index, std::span<const std::byte> initial) {
  const Tree& tree = trees_[static_cast<std::size_t>(index)];
  const auto& nodes = tree.shape->nodes;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (tree.states[i] == nullptr) throw std::logic_error("a leaf of the tree has no place for its state");
  }
  std::memcpy(tree.states[0], initial.data(), initial.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!nodes[i].leaf()) fork(tree, nodes[i], static_cast<std::int32_t>(i));
  }
}

Arrival Forest::arrive(const Tree& tree, std::int32_t leaf, std::int32_t owner, std::int32_t worker,
                       std::int64_t latest_stamp) {
  const auto& nodes = tree.shape->nodes;
  std::int32_t child = leaf;
  std::int64_t moved_bytes = 0;
  while (child != owner) {
    const std::int32_t parent = nodes[static_cast<std::size_t>(child)].parent;
    const auto& node = nodes[static_cast<std::size_t>(parent)];
    Cell& cell = tree.cells[node.cell];
    const std::int32_t side = node.second == child ? 1 : 0;
    cell.worker[side] = worker;
    cell.latest_stamp[side] = latest_stamp;
    // relaxed: stable since our last synchronization here, which we left with an acquire or completed ourselves. The
    // next increment needs our arrival below.
    const std::uint32_t epoch = cell.epoch.load(std::memory_order_relaxed);
    // acq_rel: the release of the first arrival publishes its state and the fields of its side to the second's acquire.
    if (cell.arrived.fetch_add(1, std::memory_order_acq_rel) == 0) {
      return {.won = false,
              .node = parent,
              .side = side,
              .epoch = epoch,
              .latest_stamp = latest_stamp,
              .moved_bytes = moved_bytes};
    }
    // relaxed: program order and the release of `epoch` order it before the children's next arrivals.
    cell.arrived.store(0, std::memory_order_relaxed);
    latest_stamp = std::max(latest_stamp, cell.latest_stamp[1 - side]);
    moved_bytes += cell.worker[1 - side] != worker ? node.round_trip_bytes[1 - side] : 0;
    join(tree, node, parent);
    child = parent;
  }
  return {.won = true, .node = owner, .side = 0, .epoch = 0, .latest_stamp = latest_stamp, .moved_bytes = moved_bytes};
}

void Forest::descend(const Tree& tree, std::int32_t top, std::int32_t leaf, std::span<Parker> parkers) {
  const auto& nodes = tree.shape->nodes;
  for (std::int32_t index = top; index != leaf;) {
    const auto& node = nodes[static_cast<std::size_t>(index)];
    Cell& cell = tree.cells[node.cell];
    // The child on the path is `leaf` or its highest ancestor below the node.
    std::int32_t child = leaf;
    while (nodes[static_cast<std::size_t>(child)].parent != index) {
      child = nodes[static_cast<std::size_t>(child)].parent;
    }
    const std::int32_t other_side = child == node.first ? 1 : 0;
    const std::int32_t sleeper = cell.worker[other_side];
    fork(tree, node, index);
    // release: publishes the forked state; seq_cst for a child about to sleep. Pairs with `released`.
    const std::uint32_t epoch = cell.epoch.load(std::memory_order_relaxed);  // relaxed: only the winner writes it
    cell.epoch.store(epoch + 1, std::memory_order_seq_cst);
    parkers[static_cast<std::size_t>(sleeper)].notify();
    index = child;
  }
}

}  // namespace lab
