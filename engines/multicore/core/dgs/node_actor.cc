// Implements the actors that dgs/node_actor.h explains.
#include "dgs/node_actor.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "run/clock.h"

namespace lab {
namespace {

std::size_t to_index(std::int32_t index) noexcept { return static_cast<std::size_t>(index); }

}  // namespace

void NodeActor::Node::complete() {
  const auto valid = [](std::int32_t index, std::size_t size) { return index >= 0 && to_index(index) < size; };
  waited_by.assign(tags.size(), {});
  tags_of.assign(flows.size(), {});
  for (std::size_t tag = 0; tag < tags.size(); ++tag) {
    const auto number = static_cast<std::int32_t>(tag);
    if (!valid(tags[tag].flow, flows.size()))
      throw std::invalid_argument("tag " + std::to_string(tag) + " has no flow " + std::to_string(tags[tag].flow));
    tags_of[to_index(tags[tag].flow)].push_back(number);
    for (const std::int32_t other : tags[tag].waits) {
      if (!valid(other, tags.size()) || other == number)
        throw std::invalid_argument("tag " + std::to_string(tag) + " cannot wait for tag " + std::to_string(other));
      waited_by[to_index(other)].push_back(number);
    }
  }
}

NodeActor::NodeActor(const Node& node, const Forest& forest, std::int32_t tree, std::int32_t index, std::int32_t parent,
                     std::vector<std::int32_t> children)
    : node_(&node),
      tree_(forest.tree(tree)),
      index_(index),
      state_bytes_(forest.state_bytes(tree_.shape->nodes[to_index(index)].state_type)),
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
  return node_->flows[to_index(node_->tags[to_index(tag)].flow)];
}

void NodeActor::receive(const Message& message, ActorContext& context) {
  switch (message.kind) {
    case Message::Kind::kEvent:
    case Message::Kind::kJoinRequest: {
      const std::int32_t flow = node_->tags[to_index(message.index)].flow;
      TagState& tag = tags_[to_index(message.index)];
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
      if (++arrived_ == children_.size()) join_states(context);
      break;
    case Message::Kind::kStateDown:
      if (!children_.empty()) send_down(context);
      busy_ = false;
      break;
  }
  settle(context);
  relay(context);
  if (!counted_finished_ && finished()) {
    counted_finished_ = true;
    --context.unfinished;
  }
}

// Advances the timer of a flow, which all its tags share.
void NodeActor::raise(std::int32_t flow, const Place& place) {
  Place& timer = flows_[to_index(flow)].timer;
  if (place <= timer) return;
  timer = place;
  if (place == kEnd) ++ended_flows_;
  for (const std::int32_t tag : node_->tags_of[to_index(flow)]) touch(tag);
}

// Retries the tags that wait for this tag. Call it when the timer or the first event of the tag has changed.
void NodeActor::touch(std::int32_t tag) {
  for (const std::int32_t other : node_->waited_by[to_index(tag)]) {
    TagState& state = tags_[to_index(other)];
    if (state.blocker != tag) continue;
    state.blocker = -1;
    queue(other);
  }
  const std::int32_t flow = node_->tags[to_index(tag)].flow;
  if (!children_.empty() && (changed_.empty() || changed_.back() != flow)) changed_.push_back(flow);
}

void NodeActor::queue(std::int32_t tag) {
  TagState& state = tags_[to_index(tag)];
  if (state.queued) return;
  state.queued = true;
  to_try_.push_back(tag);
}

// Returns whether no event of the tag before `place` waits or can still arrive.
bool NodeActor::has_passed(std::int32_t tag, const Place& place) const noexcept {
  const Fifo<Pending>& buffer = tags_[to_index(tag)].buffer;
  if (!buffer.empty()) return place < buffer.front().place;
  return place < flows_[to_index(node_->tags[to_index(tag)].flow)].timer;
}

// Releases events until the worker is busy or no event is releasable. A release may make other events releasable.
void NodeActor::settle(ActorContext& context) {
  while (!busy_ && !to_try_.empty()) {
    const std::int32_t tag = to_try_.back();
    TagState& state = tags_[to_index(tag)];
    to_try_.pop_back();
    state.queued = false;
    const std::vector<std::int32_t>& waits = node_->tags[to_index(tag)].waits;
    const Place& place = state.buffer.front().place;
    const auto blocker =
        std::find_if(waits.begin(), waits.end(), [&](std::int32_t other) { return !has_passed(other, place); });
    if (blocker != waits.end()) {
      state.blocker = *blocker;
      continue;
    }
    current_ = state.buffer.pop();
    --waiting_;
    release(tag, context);
    if (!state.buffer.empty()) queue(tag);
    touch(tag);
  }
}

// Passes `current_` to the worker.
void NodeActor::release(std::int32_t tag, ActorContext& context) {
  // Nodes below may process dependent events between two events of a node with children.
  if (tag != tag_ || !children_.empty()) fresh_ = true;
  tag_ = tag;
  const bool is_own = flow_of(tag).parent < 0;
  if (is_own && context.streams[to_index(flow_of(tag).stream)].due.empty()) {
    context.recorder.observe(current_.stamp_ns);
  } else if (is_own) {
    taken_ns_ = context.recorder.tick();
  }
  if (children_.empty()) {
    is_own ? process(context) : hand_up(context);
    return;
  }
  busy_ = true;
  arrived_ = 0;
  const bool timed = is_own && context.counters.synchronizations % kSyncSampling == 0;
  requested_ns_ = timed ? now_ns() : 0;
  Message request{
      .kind = Message::Kind::kJoinRequest, .to = -1, .index = tag + node_->first_tag, .place = current_.place};
  for (const std::int32_t child : children_) {
    request.to = child;
    context.post.send(request);
  }
  Place& relayed = flows_[to_index(node_->tags[to_index(tag)].flow)].relayed;
  relayed = std::max(relayed, current_.place.next());
}

// Joins the states of the children, which have all arrived.
void NodeActor::join_states(ActorContext& context) {
  if (crossing_ == nullptr) Forest::join(tree_, tree_.shape->nodes[to_index(index_)], index_);
  if (flow_of(tag_).parent >= 0) {
    hand_up(context);
    return;
  }
  process(context);
  send_down(context);
  if (requested_ns_ != 0) context.sync.record(now_ns() - requested_ns_, 1);
  ++context.counters.synchronizations;
  busy_ = false;
}

// Sends the node's state to the parent that requested it. The node is busy until the state returns.
void NodeActor::hand_up(ActorContext& context) {
  busy_ = true;
  const std::int32_t parent = parents_[to_index(flow_of(tag_).parent)];
  if (context.post.is_away(parent)) context.counters.moved_bytes += 2 * state_bytes_;  // up and down
  context.post.send({.kind = Message::Kind::kStateUp, .to = parent, .stamp_ns = latest_ns_});
}

// Forks the node's state and sends the parts to the children.
void NodeActor::send_down(ActorContext& context) {
  if (crossing_ == nullptr) Forest::fork(tree_, tree_.shape->nodes[to_index(index_)], index_);
  for (const std::int32_t child : children_) context.post.send({.kind = Message::Kind::kStateDown, .to = child});
}

// Updates the state with `current_`, an event of one of the node's own tags.
void NodeActor::process(ActorContext& context) {
  const Tag& tag = node_->tags[to_index(tag_)];
  const StreamView& stream = context.streams[to_index(flow_of(tag_).stream)];
  const std::int64_t row = current_.place.row;
  const std::int64_t max_outputs = crossing_ != nullptr ? crossing_->max_outputs() : context.max_outputs;
  Emit* const emit = context.out.open(max_outputs);
  if (crossing_ != nullptr) {
    if (!crossing_->update(tag.across, stream.columns.data(), row, emit)) kernel_failed("across");
  } else if (tag.update(tree_.states[index_], nullptr, stream.columns.data(), row, row + 1, emit) != row + 1) {
    kernel_failed("update");
  }
  ++context.counters.kernel_calls;
  latest_ns_ = std::max(latest_ns_, current_.stamp_ns);
  const std::int64_t outputs = context.out.close(first_sequence_ + tag_, stream.index, row, fresh_);
  if (outputs != 0) {
    fresh_ = false;
    if (outputs > max_outputs) context.out.refuse(outputs - max_outputs);
    context.recorder.tick();
    context.recorder.output(latest_ns_, outputs);
    if (!stream.due.empty()) context.recorder.served(latest_ns_, taken_ns_, outputs);
  }
  context.recorder.consumed(1);
  ++context.counters.events;
  context.credits.count_processed(stream.index, context.worker);
}

// Sends the children the new bound of each changed flow.
void NodeActor::relay(ActorContext& context) {
  for (const std::int32_t flow : changed_) {
    FlowState& state = flows_[to_index(flow)];
    Place bound = state.timer;
    for (const std::int32_t tag : node_->tags_of[to_index(flow)]) {
      const Fifo<Pending>& buffer = tags_[to_index(tag)].buffer;
      if (!buffer.empty()) bound = std::min(bound, buffer.front().place);
    }
    if (bound <= state.relayed) continue;
    state.relayed = bound;
    for (const std::int32_t child : children_) {
      context.post.send(
          {.kind = Message::Kind::kHeartbeat, .to = child, .index = flow + node_->first_flow, .place = bound});
    }
  }
  changed_.clear();
}

}  // namespace lab
