// Implements the snapshots that dgs/checkpoints.h explains.
#include "dgs/checkpoints.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

namespace lab {
namespace {

constexpr std::uint64_t kTakenMask = 0xFFFF'FFFF;  // the taken cut and kStops
constexpr std::uint64_t kCutMask = 0x7FFF'FFFF;    // the taken cut; both masks select bits of the word

constexpr std::uint64_t word_of(std::uint64_t decided, std::uint64_t taken) noexcept { return decided << 32 | taken; }

}  // namespace

Checkpoints::Checkpoints(std::vector<Cut> cuts, bool take_all, bool may_stop)
    : cuts_(std::move(cuts)), take_all_(take_all), may_stop_(may_stop) {
  const auto is_not_before = [](const Cut& a, const Cut& b) {
    return a.key != b.key ? a.key > b.key : a.position >= b.position;
  };
  if (std::adjacent_find(cuts_.begin(), cuts_.end(), is_not_before) != cuts_.end()) {
    throw std::invalid_argument("cuts must be in the order of events, each once");
  }
  if (cuts_.size() >= kCutMask)
    throw std::invalid_argument("too many cuts: " + std::to_string(cuts_.size()) + "; the limit is " +
                                std::to_string(kCutMask - 1));
}

void Checkpoints::add_part(const OutputBuffer* out, const std::vector<Leaf>& leaves,
                           const std::vector<GroupState>& group_states) {
  auto part = std::make_unique<Part>(Part{out, leaves, group_states, {}, {}});
  std::int64_t total = 0;
  for (const Leaf& leaf : leaves) total += state_units(leaf.bytes);
  for (const GroupState& group_state : group_states) total += state_units(group_state.bytes);
  part->copies.resize(static_cast<std::size_t>(total));
  parts_.push_back(std::move(part));
  outputs_.emplace_back();
}

void Checkpoints::complete_parts() {
  for (const auto& part : parts_) {
    const std::int64_t* copy = part->copies.data();
    for (const Leaf& leaf : part->leaves) {
      const auto tree = static_cast<std::size_t>(leaf.tree);
      if (leaf_copies_.size() <= tree) leaf_copies_.resize(tree + 1);
      leaf_copies_[tree].emplace_back(leaf.node, copy);
      copy += state_units(leaf.bytes);
    }
    for (const GroupState& group_state : part->group_states) {
      const auto crossing = static_cast<std::size_t>(group_state.crossing);
      if (group_state_copies_.size() <= crossing) group_state_copies_.resize(crossing + 1);
      group_state_copies_[crossing] = {reinterpret_cast<const std::byte*>(copy),
                                       static_cast<std::size_t>(group_state.bytes)};
      copy += state_units(group_state.bytes);
    }
  }
  // relaxed: threads start afterwards.
  left_.store(static_cast<std::int64_t>(parts_.size()), std::memory_order_relaxed);
}

void Checkpoints::forget_parts() {
  first_ = current_ + 1;
  parts_.clear();
  outputs_.clear();
  leaf_copies_.clear();
  group_state_copies_.clear();
}

bool Checkpoints::is_taken(const Cut& cut) noexcept {
  const auto index = static_cast<std::uint64_t>(&cut - cuts_.data());
  // acquire: a free snapshot slot gives the right to write to it; pairs with the release in `free`.
  std::uint64_t word = word_.load(std::memory_order_acquire);
  while (word >> 32 <= index) {
    const std::uint64_t current_snapshot = word & kTakenMask;
    const bool stops = static_cast<std::int64_t>(index) >= stop_from_.load(std::memory_order_relaxed);  // see stop_from
    const std::uint64_t here = stops ? (index + 1) | kStops : take_all_ ? index + 1 : 0;
    const std::uint64_t decided = current_snapshot != 0
                                      ? word_of(skipped_with(index, current_snapshot), current_snapshot)
                                      : word_of(index + 1, here);
    // acq_rel: passes the slot to the mailboxes that learn of the decision by their acquire, here or above.
    if (word_.compare_exchange_weak(word, decided, std::memory_order_acq_rel, std::memory_order_acquire)) {
      word = decided;
    }
  }
  return (word & kCutMask) == index + 1;
}

// Returns how many cuts are decided if cut `index` is skipped, since `current_snapshot` is under way.
std::uint64_t Checkpoints::skipped_with(std::uint64_t index, std::uint64_t current_snapshot) const noexcept {
  if (may_stop_) return index + 1;
  const std::uint64_t skipped = index + 1 - (current_snapshot & kCutMask);
  return std::min<std::uint64_t>(cuts_.size(), index + 1 + std::min(skipped / 4, kMaxAhead));
}

const Cut* Checkpoints::next_cut_after(const Cut& cut) const noexcept {
  const auto next = static_cast<std::uint64_t>(&cut - cuts_.data()) + 1;
  // relaxed: with an older word, the mailbox visits skipped cuts and learns there that they are skipped.
  const std::uint64_t word = word_.load(std::memory_order_relaxed);
  // Index of the taken cut plus 1, or 0. The taken cut does not change until the caller has given its part.
  const std::uint64_t taken = word & kCutMask;
  return cuts_.data() + (taken > next ? taken - 1 : std::max(next, word >> 32));
}

void Checkpoints::give_part(std::int32_t number) {
  const auto index = static_cast<std::size_t>(number);
  Part& part = *parts_[index];
  std::int64_t* copy = part.copies.data();
  for (const Leaf& leaf : part.leaves) {
    std::memcpy(copy, leaf.state, static_cast<std::size_t>(leaf.bytes));
    copy += state_units(leaf.bytes);
  }
  for (const GroupState& group_state : part.group_states) {
    std::memcpy(copy, group_state.state, static_cast<std::size_t>(group_state.bytes));
    copy += state_units(group_state.bytes);
  }
  if (part.out != nullptr) part.out->since(part.mark, outputs_[index]);
  // acq_rel: the mailbox that gives the last part sees all parts; through the mutex, the writer also sees them.
  if (left_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  {
    const std::scoped_lock lock(mutex_);
    ready_ = true;
    // relaxed: the taken cut does not change while the snapshot is under way.
    current_ = static_cast<std::int64_t>(word_.load(std::memory_order_relaxed) & kCutMask) - 1;
  }
  changed_.notify_one();
}

bool Checkpoints::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ready_ || closed_; });
  return ready_ && !cut_short_;
}

void Checkpoints::join(const Forest& forest, std::int64_t bytes, std::span<std::byte> roots) const {
  if (static_cast<std::size_t>(forest.size() * bytes) > roots.size())
    throw std::invalid_argument("room for root states: " + std::to_string(roots.size()) + " bytes; " +
                                std::to_string(forest.size() * bytes) + " are needed");
  std::vector<const void*> states;
  std::vector<std::vector<std::int64_t>> joined;
  for (std::int32_t t = 0; t < forest.size(); ++t) {
    const auto& nodes = forest.tree(t).shape->nodes;
    states.assign(nodes.size(), nullptr);
    joined.resize(std::max(joined.size(), nodes.size()));
    for (const auto& [node, copy] : leaf_copies_.at(static_cast<std::size_t>(t))) {
      states[static_cast<std::size_t>(node)] = copy;
    }
    for (std::size_t i = nodes.size(); i-- > 0;) {  // children come after their parents
      const TreeTemplate::Node& node = nodes[i];
      if (node.leaf()) continue;
      joined[i].resize(static_cast<std::size_t>(state_units(forest.state_bytes(node.state_type))));
      const void* const first = states[static_cast<std::size_t>(node.first)];
      const void* const second = states[static_cast<std::size_t>(node.second)];
      if (node.join(first, second, joined[i].data()) != kDone) kernel_failed("join");
      states[i] = joined[i].data();
    }
    std::memcpy(roots.data() + t * bytes, states[0], static_cast<std::size_t>(bytes));
  }
}

std::span<const std::byte> Checkpoints::group_state(std::int32_t crossing) const {
  return group_state_copies_.at(static_cast<std::size_t>(crossing));
}

std::int64_t Checkpoints::rows() const noexcept {
  std::int64_t total = 0;
  for (const auto& pieces : outputs_) {
    for (const OutputPiece& piece : pieces) total += piece.end - piece.begin;
  }
  return total;
}

void Checkpoints::collect(std::span<void* const> columns, std::span<const std::int32_t> itemsizes) const {
  merge_pieces(outputs_, columns, itemsizes);
}

void Checkpoints::free() {
  for (auto& pieces : outputs_) pieces.clear();
  // relaxed: the release below publishes it.
  left_.store(static_cast<std::int64_t>(parts_.size()), std::memory_order_relaxed);
  {
    const std::scoped_lock lock(mutex_);
    ready_ = false;
  }
  ++taken_;
  // release: passes the slot to the mailbox that decides the next cut; pairs with the acquire in `is_taken`.
  word_.fetch_and(~kTakenMask, std::memory_order_release);
}

void Checkpoints::close(bool now) {
  {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    cut_short_ |= now;
  }
  changed_.notify_all();
}

void Checkpoints::snapshot_rest() {
  for (std::size_t i = 0; i < parts_.size(); ++i) parts_[i]->out->since(parts_[i]->mark, outputs_[i]);
}

std::int64_t Checkpoints::decided() const noexcept {
  return static_cast<std::int64_t>(word_.load(std::memory_order_relaxed) >> 32);  // relaxed: a count
}

}  // namespace lab
