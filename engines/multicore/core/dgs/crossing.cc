// Implements events across trees, which dgs/crossing.h explains.
#include "dgs/crossing.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace lab {

Crossing::Crossing(const Forest& forest, std::span<const std::int32_t> trees, std::span<const std::int32_t> keys,
                   void* group_state, std::int64_t max_outputs)
    : trees_(trees.begin(), trees.end()),
      keys_(keys.begin(), keys.end()),
      group_state_(group_state),
      max_outputs_(max_outputs) {
  if (trees.size() != keys.size())
    throw std::invalid_argument("a crossing needs one tree for each key; got " + std::to_string(trees.size()) +
                                " trees and " + std::to_string(keys.size()) + " keys");
  for (const std::int32_t tree : trees_) {
    if (tree < 0 || tree >= forest.size())
      throw std::invalid_argument("tree " + std::to_string(tree) + " does not exist; there are " +
                                  std::to_string(forest.size()) + " trees");
    states_.push_back(forest.tree(tree).states[0]);
    if (states_.back() == nullptr)
      throw std::invalid_argument("place all leaves of tree " + std::to_string(tree) + " before a crossing is added");
  }
}

std::int32_t Crossing::add_participant(std::int32_t worker) {
  participants_.push_back({worker});
  return static_cast<std::int32_t>(participants_.size()) - 1;
}

bool Crossing::arrive(std::int32_t participant, std::int64_t latest_stamp, std::int64_t brought_bytes) noexcept {
  Participant& entry = participants_[static_cast<std::size_t>(participant)];
  entry.latest_stamp = latest_stamp;
  entry.brought_bytes = brought_bytes;
  // acq_rel: the release of each arrival publishes its won root states and its stamp to the acquire of the last.
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 != participants_.size()) return false;
  // relaxed: program order and the release of `epoch_` order it before the next arrivals.
  arrived_.store(0, std::memory_order_relaxed);
  return true;
}

std::int64_t Crossing::latest_stamp() const noexcept {
  std::int64_t latest = 0;
  for (const Participant& participant : participants_) latest = std::max(latest, participant.latest_stamp);
  return latest;
}

std::int64_t Crossing::moved_bytes(std::int32_t participant) const noexcept {
  const std::int32_t worker = participants_[static_cast<std::size_t>(participant)].worker;
  std::int64_t bytes = 0;
  for (const Participant& entry : participants_) {
    if (entry.worker != worker) bytes += 2 * entry.brought_bytes;
  }
  return bytes;
}

void Crossing::release(std::span<Parker> parkers) noexcept {
  // release: publishes the updated states; seq_cst for participants about to sleep. Pairs with `released`.
  epoch_.store(epoch_.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);  // relaxed: the only writer now
  for (const Participant& participant : participants_) {
    parkers[static_cast<std::size_t>(participant.worker)].notify();
  }
}

bool CrossingPart::arrive(Forest& forest, std::int64_t latest_stamp, std::int64_t& moved_bytes) {
  epoch_ = crossing_->epoch();
  std::int64_t brought_bytes = single_node_bytes_;
  for (const Leaf& leaf : leaves_) {
    const Tree& tree = forest.tree(leaf.tree);
    const Arrival arrival = forest.arrive(tree, leaf.leaf, 0, worker_, latest_stamp);
    moved_bytes += arrival.moved_bytes;
    if (arrival.won) {
      latest_stamp = std::max(latest_stamp, arrival.latest_stamp);
      brought_bytes += forest.state_bytes(tree.shape->nodes[0].state_type);
      won_.push_back(leaf);
    } else {
      parked_.push_back({leaf, arrival});
    }
  }
  if (!crossing_->arrive(number_, latest_stamp, brought_bytes)) return false;
  moved_bytes += crossing_->moved_bytes(number_);
  return true;
}

bool CrossingPart::resume(Forest& forest, std::span<Parker> parkers, bool& progress) {
  if (!crossing_->released(epoch_)) return false;
  progress |= !won_.empty();
  for (const Leaf& leaf : won_) forest.descend(forest.tree(leaf.tree), 0, leaf.leaf, parkers);
  won_.clear();
  while (!parked_.empty()) {
    const auto& [leaf, arrival] = parked_.back();
    const Tree& tree = forest.tree(leaf.tree);
    if (!Forest::released(tree, arrival)) return false;
    const auto& node = tree.shape->nodes[static_cast<std::size_t>(arrival.node)];
    forest.descend(tree, arrival.side == 0 ? node.first : node.second, leaf.leaf, parkers);
    parked_.pop_back();
    progress = true;
  }
  return true;
}

}  // namespace lab
