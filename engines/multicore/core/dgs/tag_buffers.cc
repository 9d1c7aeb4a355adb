#include "dgs/tag_buffers.h"

#include <algorithm>
#include <stdexcept>
#include <unordered_map>

#include "dgs/mailbox.h"

namespace lab {
namespace {

constexpr std::uint32_t kMostCount = (std::uint32_t{1} << 31) - 1;  // most events of a run

std::size_t place(std::int64_t index) noexcept { return static_cast<std::size_t>(index); }

}  // namespace

TagBuffers::TagBuffers(std::span<Lane> lanes, std::span<const std::int32_t> leaf_of_tree, const Forest& forest,
                       std::int64_t most_runs)
    : lanes_(lanes.size()), tags_(lanes.size()), most_(static_cast<std::int32_t>(most_runs)), own_used_(lanes.size()) {
  member_of_tree_.assign(leaf_of_tree.size(), -1);
  std::unordered_map<const void*, std::int32_t> member_of_state;
  for (std::size_t t = 0; t < leaf_of_tree.size(); ++t) {
    if (leaf_of_tree[t] < 0) continue;
    member_of_tree_[t] = members();
    member_of_state[forest.tree(static_cast<std::int32_t>(t)).states[leaf_of_tree[t]]] = members();
    members_.push_back({static_cast<std::int32_t>(t)});
  }
  tags_of_.resize(members_.size());
  in_turn_.resize(members_.size());
  buffers_.resize(members_.size() * lanes_);
  runs_ = std::make_unique_for_overwrite<Run[]>(place(most_) + lanes_);
  const auto owner = [&](const void* state) {
    const auto found = member_of_state.find(state);
    if (found == member_of_state.end())
      throw std::invalid_argument("a lane has a state that is no leaf's of its mailbox");
    return found->second;
  };
  for (std::size_t l = 0; l < lanes_; ++l) {
    Lane& lane = lanes[l];
    LaneTags& its = tags_[l];
    if ((lane.slots != nullptr || lane.order_tree != nullptr) && lane.tags <= 0) {
      throw std::invalid_argument("a lane of a mailbox by tag says how many tags it has");
    }
    for (std::int32_t tag = 0; lane.order_tree != nullptr && tag < lane.tags; ++tag) {
      if (lane.order_tree[tag] < 0 || lane.order_node[tag] < 0) continue;  // no tree of this mailbox, or across trees
      buffer(member_of_tree_[place(lane.order_tree[tag])], l).ordering = true;
    }
    if (lane.run == nullptr) continue;
    its.slots = lane.slots;
    if (lane.slots == nullptr) {
      its.only = owner(lane.state);
      buffer(its.only, l).ordinary = true;
      continue;
    }
    its.open_slots.assign(lane.slots, lane.slots + lane.tags);
    its.member.assign(place(lane.tags), -1);
    for (std::int32_t tag = 0; tag < lane.tags; ++tag) {
      if (lane.slots[tag] < 0) continue;
      const std::int32_t m = owner(static_cast<std::byte*>(lane.state) + std::int64_t{lane.slots[tag]} * kStateUnit);
      its.member[place(tag)] = m;
      tags_of_[place(m)].push_back({static_cast<std::int32_t>(l), tag});
      buffer(m, l).ordinary = true;
    }
    lane.slots = its.open_slots.data();
  }
}

void TagBuffers::close(std::int32_t m, std::int64_t latest_stamp) noexcept {
  Member& one = member(m);
  one.waits = one.fresh = true;
  one.latest_stamp = latest_stamp;
  for (const Tag& tag : tags_of_[place(m)]) tags_[place(tag.lane)].open_slots[place(tag.tag)] = -1;
  ++waiting_;
  close_again(m);
}

void TagBuffers::open(std::int32_t m) noexcept {
  member(m).waits = false;
  for (const Tag& tag : tags_of_[place(m)]) {
    LaneTags& its = tags_[place(tag.lane)];
    its.open_slots[place(tag.tag)] = its.slots[tag.tag];
  }
  --waiting_;
}

std::int32_t TagBuffers::take() noexcept {
  const std::int32_t m = in_turn_[turn_];
  if (++turn_ == in_turn_.size()) turn_ = 0;
  return m;
}

void TagBuffers::close_again(std::int32_t m) noexcept {
  in_turn_[turn_end_] = m;
  if (++turn_end_ == in_turn_.size()) turn_end_ = 0;
}

std::int64_t TagBuffers::put(Lane& lane, std::size_t number, std::int64_t end, std::int64_t stamp_ns,
                             std::int64_t& buffered) noexcept {
  const LaneTags& its = tags_[number];
  buffered = 0;
  if (its.slots == nullptr) {
    if (!member(its.only).waits) return end;
    if (!append(its.only, number, lane.next, end - lane.next, stamp_ns)) return lane.next;
    buffered = end - lane.next;
    return end;
  }
  const std::int32_t* const tag = lane.source->stream().tag;
  for (std::int64_t i = lane.next; i < end; ++i) {
    const std::int32_t its_tag = tag != nullptr ? tag[i] : 0;
    if (its.open_slots[place(its_tag)] >= 0) continue;
    const std::int32_t m = its.member[place(its_tag)];
    if (m < 0) continue;  // no tree of this mailbox
    if (!append(m, number, i, 1, stamp_ns)) return i;
    ++buffered;
  }
  return end;
}

bool TagBuffers::append(std::int32_t m, std::size_t lane, std::int64_t begin, std::int64_t count,
                        std::int64_t stamp_ns) noexcept {
  Buffer& its = buffer(m, lane);
  if (!its.empty()) {
    Run& last = run(its.last);
    if (last.ordering == 0 && last.end() == begin && last.stamp_ns == stamp_ns && last.count + count <= kMostCount) {
      last.count = static_cast<std::uint32_t>(last.count + count) & kMostCount;
      events_ += count;
      return true;
    }
  }
  return add(its, lane, {begin, stamp_ns, static_cast<std::uint32_t>(count) & kMostCount, 0, -1});
}

bool TagBuffers::put_ordering(std::int32_t m, std::size_t lane, std::int64_t event, std::int64_t stamp_ns) noexcept {
  return add(buffer(m, lane), lane, {event, stamp_ns, 1, 1, -1});
}

bool TagBuffers::add(Buffer& to, std::size_t lane, const Run& what) noexcept {
  const std::int32_t index = take_run(lane);
  if (index < 0) return false;
  run(index) = what;
  (to.empty() ? to.first : run(to.last).next) = index;
  to.last = index;
  events_ += what.count;
  return true;
}

void TagBuffers::pop(Buffer& from, std::int64_t begin) noexcept {
  const std::int32_t index = from.first;
  Run& first = run(index);
  if (begin < first.end()) {
    first.count = static_cast<std::uint32_t>(first.end() - begin) & kMostCount;
    first.begin = begin;
    return;
  }
  from.first = first.next;
  if (from.empty()) from.last = -1;
  give_run(index);
}

std::int32_t TagBuffers::take_run(std::size_t lane) noexcept {
  std::int32_t index = free_;
  if (index >= 0) {
    free_ = run(index).next;
  } else if (fresh_ < most_) {
    index = fresh_++;
  } else if (!own_used_[lane]) {
    own_used_[lane] = true;
    index = most_ + static_cast<std::int32_t>(lane);
  } else {
    return -1;
  }
  peak_ = std::max(peak_, ++used_);
  return index;
}

void TagBuffers::give_run(std::int32_t index) noexcept {
  --used_;
  if (index >= most_) {
    own_used_[place(index - most_)] = false;
    return;
  }
  run(index).next = free_;
  free_ = index;
}

}  // namespace lab
