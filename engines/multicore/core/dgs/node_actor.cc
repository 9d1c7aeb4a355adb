#include "dgs/node_actor.h"

#include <algorithm>
#include <stdexcept>

#include "run/clock.h"

namespace lab {
namespace {

std::size_t at_place(std::int32_t index) noexcept { return static_cast<std::size_t>(index); }

}  // namespace

void NodeActor::Node::complete() {
  const auto valid = [](std::int32_t index, std::size_t size) { return index >= 0 && at_place(index) < size; };
  waited_by.assign(tags.size(), {});
  tags_of.assign(flows.size(), {});
  for (std::size_t tag = 0; tag < tags.size(); ++tag) {
    const auto number = static_cast<std::int32_t>(tag);
    if (!valid(tags[tag].flow, flows.size())) throw std::invalid_argument("a tag has no such flow");
    tags_of[at_place(tags[tag].flow)].push_back(number);
    for (const std::int32_t other : tags[tag].waits) {
      if (!valid(other, tags.size()) || other == number) throw std::invalid_argument("a tag waits for no such tag");
      waited_by[at_place(other)].push_back(number);
    }
  }
}

NodeActor::NodeActor(const Node& node, const Forest& forest, std::int32_t tree, std::int32_t index, std::int32_t parent,
                     std::vector<std::int32_t> children)
    : node_(&node),
      tree_(forest.tree(tree)),
      index_(index),
      state_bytes_(forest.state_bytes(tree_.shape->nodes[at_place(index)].state_type)),
      children_(std::move(children)),
      flows_(node.flows.size()),
      tags_(node.tags.size()) {
  if (parent >= 0) parents_.push_back(parent);
}

NodeActor::NodeActor(const Node& node, Crossing& crossing, std::vector<std::int32_t> children)
    : node_(&node),
      crossing_(&crossing),
      children_(std::move(children)),
      flows_(node.flows.size()),
      tags_(node.tags.size()) {}

std::int32_t NodeActor::number_sequences(std::int32_t first) noexcept {
  first_sequence_ = first;
  return static_cast<std::int32_t>(tags_.size());
}

const NodeActor::Flow& NodeActor::flow_of(std::int32_t tag) const noexcept {
  return node_->flows[at_place(node_->tags[at_place(tag)].flow)];
}

void NodeActor::receive(const Message& message, ActorContext& at) {
  switch (message.kind) {
    case Message::Kind::kEvent:
    case Message::Kind::kJoinRequest: {
      const std::int32_t flow = node_->tags[at_place(message.index)].flow;
      TagState& tag = tags_[at_place(message.index)];
      if (tag.buffer.empty()) queue(message.index);
      tag.buffer.push({message.place, message.stamp_ns});
      ++waiting_;
      raise(flow, message.place.next());
      break;
    }
    case Message::Kind::kHeartbeat:
      raise(message.index, message.place);
      break;
    case Message::Kind::kStateUp:
      latest_ns_ = std::max(latest_ns_, message.stamp_ns);
      if (++arrived_ == children_.size()) joined(at);
      break;
    case Message::Kind::kStateDown:
      if (!children_.empty()) send_down(at);
      busy_ = false;
      break;
  }
  settle(at);
  relay(at);
  if (!counted_finished_ && finished()) {
    counted_finished_ = true;
    --at.unfinished;
  }
}

// Moves the timer of a flow, which is that of all its tags.
void NodeActor::raise(std::int32_t flow, const Place& place) {
  Place& timer = flows_[at_place(flow)].timer;
  if (place <= timer) return;
  timer = place;
  if (place == kEnd) ++ended_flows_;
  for (const std::int32_t tag : node_->tags_of[at_place(flow)]) touch(tag);
}

// Tries the tags that wait for this one again: its timer or its first event is another.
void NodeActor::touch(std::int32_t tag) {
  for (const std::int32_t other : node_->waited_by[at_place(tag)]) {
    TagState& its = tags_[at_place(other)];
    if (its.blocker != tag) continue;
    its.blocker = -1;
    queue(other);
  }
  const std::int32_t flow = node_->tags[at_place(tag)].flow;
  if (!children_.empty() && (changed_.empty() || changed_.back() != flow)) changed_.push_back(flow);
}

void NodeActor::queue(std::int32_t tag) {
  TagState& its = tags_[at_place(tag)];
  if (its.queued) return;
  its.queued = true;
  to_try_.push_back(tag);
}

bool NodeActor::passed(std::int32_t tag, const Place& place) const noexcept {
  const Fifo<Pending>& buffer = tags_[at_place(tag)].buffer;
  if (!buffer.empty()) return place < buffer.front().place;
  return place < flows_[at_place(node_->tags[at_place(tag)].flow)].timer;
}

// Releases events, and those that waited for them, until the worker is busy or nothing more is releasable.
void NodeActor::settle(ActorContext& at) {
  while (!busy_ && !to_try_.empty()) {
    const std::int32_t tag = to_try_.back();
    TagState& its = tags_[at_place(tag)];
    to_try_.pop_back();
    its.queued = false;
    const std::vector<std::int32_t>& waits = node_->tags[at_place(tag)].waits;
    const Place& place = its.buffer.front().place;
    const auto blocker =
        std::find_if(waits.begin(), waits.end(), [&](std::int32_t other) { return !passed(other, place); });
    if (blocker != waits.end()) {
      its.blocker = *blocker;
      continue;
    }
    current_ = its.buffer.pop();
    --waiting_;
    release(tag, at);
    if (!its.buffer.empty()) queue(tag);
    touch(tag);
  }
}

// Hands `current_` to the worker.
void NodeActor::release(std::int32_t tag, ActorContext& at) {
  // Nodes below may process dependent events between two events of a node with children.
  if (tag != tag_ || !children_.empty()) fresh_ = true;
  tag_ = tag;
  const bool own = flow_of(tag).parent < 0;
  if (own && at.streams[at_place(flow_of(tag).stream)].due.empty()) {
    at.recorder.observe(current_.stamp_ns);
  } else if (own) {
    taken_ns_ = at.recorder.tick();
  }
  if (children_.empty()) {
    own ? process(at) : hand_up(at);
    return;
  }
  busy_ = true;
  arrived_ = 0;
  const bool timed = own && at.counters.synchronizations % kSyncSampling == 0;
  asked_ns_ = timed ? now_ns() : 0;
  Message request{
      .kind = Message::Kind::kJoinRequest, .to = -1, .index = tag + node_->first_tag, .place = current_.place};
  for (const std::int32_t child : children_) {
    request.to = child;
    at.post.send(request);
  }
  Place& relayed = flows_[at_place(node_->tags[at_place(tag)].flow)].relayed;
  relayed = std::max(relayed, current_.place.next());
}

// The states of all children have arrived.
void NodeActor::joined(ActorContext& at) {
  if (crossing_ == nullptr) Forest::join(tree_, tree_.shape->nodes[at_place(index_)], index_);
  if (flow_of(tag_).parent >= 0) {
    hand_up(at);
    return;
  }
  process(at);
  send_down(at);
  if (asked_ns_ != 0) at.sync.record(now_ns() - asked_ns_, 1);
  ++at.counters.synchronizations;
  busy_ = false;
}

void NodeActor::hand_up(ActorContext& at) {
  busy_ = true;
  const std::int32_t parent = parents_[at_place(flow_of(tag_).parent)];
  if (at.post.is_away(parent)) at.counters.moved_bytes += 2 * state_bytes_;  // there and back
  at.post.send({.kind = Message::Kind::kStateUp, .to = parent, .stamp_ns = latest_ns_});
}

void NodeActor::send_down(ActorContext& at) {
  if (crossing_ == nullptr) Forest::fork(tree_, tree_.shape->nodes[at_place(index_)], index_);
  for (const std::int32_t child : children_) at.post.send({.kind = Message::Kind::kStateDown, .to = child});
}

// Updates the state with `current_`, an event of an own tag.
void NodeActor::process(ActorContext& at) {
  const Tag& tag = node_->tags[at_place(tag_)];
  const StreamView& stream = at.streams[at_place(flow_of(tag_).stream)];
  const std::int64_t row = current_.place.row;
  const std::int64_t most = crossing_ != nullptr ? crossing_->most_outputs() : at.most_outputs;
  Emit* const emit = at.out.open(most);
  if (crossing_ != nullptr) {
    if (!crossing_->update(tag.across, stream.columns.data(), row, emit)) kernel_failed("across");
  } else if (tag.update(tree_.states[index_], nullptr, stream.columns.data(), row, row + 1, emit) != row + 1) {
    kernel_failed("update");
  }
  ++at.counters.kernel_calls;
  latest_ns_ = std::max(latest_ns_, current_.stamp_ns);
  const std::int64_t outputs = at.out.close(first_sequence_ + tag_, stream.index, row, fresh_);
  if (outputs != 0) {
    fresh_ = false;
    if (outputs > most) at.out.refuse(outputs - most);
    at.recorder.tick();
    at.recorder.output(latest_ns_, outputs);
    if (!stream.due.empty()) at.recorder.served(latest_ns_, taken_ns_, outputs);
  }
  at.recorder.consumed(1);
  ++at.counters.events;
  at.credits.processed(stream.index, at.worker);
}

// Tells the children what is new of each flow.
void NodeActor::relay(ActorContext& at) {
  for (const std::int32_t flow : changed_) {
    FlowState& its = flows_[at_place(flow)];
    Place bound = its.timer;
    for (const std::int32_t tag : node_->tags_of[at_place(flow)]) {
      const Fifo<Pending>& buffer = tags_[at_place(tag)].buffer;
      if (!buffer.empty()) bound = std::min(bound, buffer.front().place);
    }
    if (bound <= its.relayed) continue;
    its.relayed = bound;
    for (const std::int32_t child : children_) {
      at.post.send({.kind = Message::Kind::kHeartbeat, .to = child, .index = flow + node_->first_flow, .place = bound});
    }
  }
  changed_.clear();
}

}  // namespace lab
