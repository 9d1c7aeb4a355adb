// A node of a synchronization plan as an actor: a mailbox that reorders by implementation tag, and a worker that
// processes one message at a time. A crossing, the node above the trees of many keys, is an actor, too.
//
// Source: DGS paper, section 3.4. The mailbox has a buffer for each tag of the node and of the nodes above it, whose
// events arrive as join requests. It has a timer for each *flow*, the tags of one stream that one node owns. The worker
// sends join requests to its children, waits for their states, joins them, updates the state or hands it up and waits
// until it returns, forks it and sends the parts down. Until then no further message of the mailbox is released.
//
// Laws:
//  - A tag waits for others: an event of it is released once their timers are past it and their buffers hold no earlier
//    event. `waits` of a leaf's own tag are the tags on which it depends; of all other tags they are all tags but those
//    of the same parent, whose events come in order already.
//  - A node with children sends them a heartbeat once it knows more of a flow: that all its earlier events are released.
//    So no heartbeat passes a join request.
//  - A node owns its state from the arrival of its children's states, or from the state that its parent sends, until it
//    hands up or forks. A message carries the ownership.
// Why every run ends: docs/decisions/0029-messages.md. Only the worker of an actor uses it.
#pragma once
#include <cstdint>
#include <deque>
#include <vector>

#include "dgs/crossing.h"
#include "dgs/forest.h"
#include "dgs/message.h"
#include "run/histogram.h"
#include "run/kernel.h"
#include "run/recorder.h"
#include "run/sink.h"
#include "run/source.h"

namespace lab {

// The objects that the actors of one worker share.
struct ActorContext {
  Post& post;
  Credits& credits;
  OutputBuffer& out;
  Recorder& recorder;
  Counters& counters;
  Histogram& sync;
  const std::deque<StreamView>& streams;
  std::int32_t worker;
  std::int64_t most_outputs;  // of an event of one key
  std::int64_t unfinished;    // actors that may get further messages
};

class NodeActor {
 public:
  struct Flow {
    std::int32_t stream;
    std::int32_t parent = -1;  // which of the actor's parents sends it; -1: the stream's producer
  };
  struct Tag {
    std::int32_t flow;
    std::vector<std::int32_t> waits;  // the tags that it waits for
    RunKernel update = nullptr;       // of an own tag
    AcrossKernel across = nullptr;    // of an own tag of a crossing
  };

  // The part that the actors of a node share, over all trees of its shape. A child numbers the flows and tags of its
  // parent as the parent does, from `first_flow` and `first_tag` on.
  struct Node {
    std::int32_t worker = 0;
    std::vector<Flow> flows;
    std::vector<Tag> tags;
    std::int32_t first_flow = 0;
    std::int32_t first_tag = 0;
    std::vector<std::vector<std::int32_t>> waited_by;  // by tag; `complete` makes it
    std::vector<std::vector<std::int32_t>> tags_of;    // by flow; likewise

    // Throws std::invalid_argument if numbers of flows and tags are out of range.
    void complete();
  };

  // An actor of a tree's node. `parent`: -1 for a root.
  NodeActor(const Node& node, const Forest& forest, std::int32_t tree, std::int32_t index, std::int32_t parent,
            std::vector<std::int32_t> children);
  // An actor of a crossing. Its children are the roots of the trees.
  NodeActor(const Node& node, Crossing& crossing, std::vector<std::int32_t> children);

  void add_parent(std::int32_t actor) { parents_.push_back(actor); }
  const Node& node() const noexcept { return *node_; }

  // Before the run: tag i has output sequence `first + i` (run/sink.h). Returns the number of sequences.
  std::int32_t number_sequences(std::int32_t first) noexcept;

  // Processes one message and all that it releases.
  void receive(const Message& message, ActorContext& at);

  // Whether no further message can arrive: all flows have ended, and nothing waits.
  bool finished() const noexcept { return ended_flows_ == flows_.size() && waiting_ == 0 && !busy_; }

 private:
  struct Pending {
    Place place;
    std::int64_t stamp_ns;
  };
  struct FlowState {
    Place timer = kBeginning;    // later events are at or behind it
    Place relayed = kBeginning;  // what the children know
  };
  struct TagState {
    Fifo<Pending> buffer;
    std::int32_t blocker = -1;  // a tag that the first event waits for
    bool queued = false;        // in `to_try_`
  };

  const Flow& flow_of(std::int32_t tag) const noexcept;
  bool passed(std::int32_t tag, const Place& place) const noexcept;
  void raise(std::int32_t flow, const Place& place);
  void touch(std::int32_t tag);
  void queue(std::int32_t tag);
  void settle(ActorContext& at);
  void release(std::int32_t tag, ActorContext& at);
  void joined(ActorContext& at);
  void hand_up(ActorContext& at);
  void send_down(ActorContext& at);
  void process(ActorContext& at);
  void relay(ActorContext& at);

  const Node* node_;
  Tree tree_{};  // without a shape: a crossing
  std::int32_t index_ = 0;
  std::int64_t state_bytes_ = 0;
  Crossing* crossing_ = nullptr;
  std::vector<std::int32_t> parents_;
  std::vector<std::int32_t> children_;
  std::int32_t first_sequence_ = 0;

  std::vector<FlowState> flows_;
  std::vector<TagState> tags_;
  std::vector<std::int32_t> to_try_;   // tags whose first event may be releasable
  std::vector<std::int32_t> changed_;  // flows of which the children may have to learn
  std::size_t ended_flows_ = 0;
  std::int64_t waiting_ = 0;  // events and join requests in buffers

  // The message in process.
  bool busy_ = false;  // waits for states of children, or for its own state
  std::int32_t tag_ = -1;
  Pending current_{};
  std::int64_t taken_ns_ = 0;
  std::int64_t asked_ns_ = 0;   // time of its join requests; 0: not timed
  std::size_t arrived_ = 0;     // states of children
  std::int64_t latest_ns_ = 0;  // latest stamp of all events here and below
  bool fresh_ = true;           // dependent events may have emitted since the last output; see OutputBuffer::close
  bool counted_finished_ = false;
};

}  // namespace lab
