// NodeActor: a node of a synchronization plan as an actor. In the paper's terms it has a mailbox, which reorders
// messages by tag, and a worker, which processes one message at a time. A crossing, the node above the trees of many
// keys (dgs/crossing.h), is also an actor.
//
// Source: DGS paper, section 3.4. The mailbox has one buffer per tag of this node and of the nodes above; events of the
// nodes above arrive as join requests. The mailbox also has one timer per *flow*: the tags of one stream that one node
// owns. For each event the worker sends join requests to its children, waits for their states and joins them. Then the
// worker updates the joined state, or sends it up and waits for its return. Finally the worker forks the state and
// sends the parts down. Until then the mailbox releases no further message.
//
// Laws:
//  - An event of a tag is released as soon as, for every tag in `waits`, the timer is past the event and the buffer
//    holds no earlier event. A leaf's own tag waits for the tags on which it depends. Any other tag waits for all tags
//    except those of the same parent, whose events already come in order.
//  - A node sends its children a heartbeat of a flow only after it has released all earlier events of the flow. So no
//    heartbeat overtakes a join request.
//  - A node owns its state from the arrival of its children's states, or of the state from its parent, until it sends
//    the state up or forks it. A message carries the ownership.
// docs/decisions/0029-messages.md proves that every run ends. An actor belongs to one thread; no other thread uses it.
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
  std::int64_t max_outputs;  // maximum number of outputs per event of one key
  std::int64_t unfinished;   // number of actors that may receive further messages
};

class NodeActor {
 public:
  struct Flow {
    std::int32_t stream;
    std::int32_t parent = -1;  // number of the parent that sends the flow; -1 if the stream's producer sends it
  };
  struct Tag {
    std::int32_t flow;
    std::vector<std::int32_t> waits;  // the tags for which this tag waits
    RunKernel update = nullptr;       // kernel if the tag belongs to this node of a tree
    AcrossKernel across = nullptr;    // kernel if the tag belongs to this crossing
  };

  // The data that the actors of a node share in all trees of one shape. The children use the same numbers for the flows
  // and tags of this node, shifted by `first_flow` and `first_tag`.
  struct Node {
    std::int32_t worker = 0;
    std::vector<Flow> flows;
    std::vector<Tag> tags;
    std::int32_t first_flow = 0;
    std::int32_t first_tag = 0;
    std::vector<std::vector<std::int32_t>> waited_by;  // by tag; set by `complete`
    std::vector<std::vector<std::int32_t>> tags_of;    // by flow; set by `complete`

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

  // Gives tag i the output sequence `first + i` (run/sink.h). Returns the number of sequences. Call it before the run.
  std::int32_t number_sequences(std::int32_t first) noexcept;

  // Processes one message and all events that it releases.
  void receive(const Message& message, ActorContext& context);

  // Returns whether no further message can arrive: all flows have ended, and no event waits or is in process.
  bool finished() const noexcept { return ended_flows_ == flows_.size() && waiting_ == 0 && !busy_; }

 private:
  struct Pending {
    Place place;
    std::int64_t stamp_ns;
  };
  struct FlowState {
    Place timer = kBeginning;    // lower bound of the places of later events
    Place relayed = kBeginning;  // latest bound sent to the children
  };
  struct TagState {
    Fifo<Pending> buffer;
    std::int32_t blocker = -1;  // a tag for which the buffer's first event waits; -1 for none
    bool queued = false;        // whether the tag is in `to_try_`
  };

  const Flow& flow_of(std::int32_t tag) const noexcept;
  bool has_passed(std::int32_t tag, const Place& place) const noexcept;
  void raise(std::int32_t flow, const Place& place);
  void touch(std::int32_t tag);
  void queue(std::int32_t tag);
  void settle(ActorContext& context);
  void release(std::int32_t tag, ActorContext& context);
  void join_states(ActorContext& context);
  void hand_up(ActorContext& context);
  void send_down(ActorContext& context);
  void process(ActorContext& context);
  void relay(ActorContext& context);

  const Node* node_;
  Tree tree_{};  // has no shape for a crossing
  std::int32_t index_ = 0;
  std::int64_t state_bytes_ = 0;
  Crossing* crossing_ = nullptr;
  std::vector<std::int32_t> parents_;
  std::vector<std::int32_t> children_;
  std::int32_t first_sequence_ = 0;

  std::vector<FlowState> flows_;
  std::vector<TagState> tags_;
  std::vector<std::int32_t> to_try_;   // tags whose first event may be releasable
  std::vector<std::int32_t> changed_;  // flows whose bound for the children may have changed
  std::size_t ended_flows_ = 0;
  std::int64_t waiting_ = 0;  // number of events and join requests in buffers

  // The message in process.
  bool busy_ = false;  // whether the message waits for the children's states, or for the node's own state
  std::int32_t tag_ = -1;
  Pending current_{};
  std::int64_t taken_ns_ = 0;
  std::int64_t requested_ns_ = 0;  // time of the message's join requests; 0 if not timed
  std::size_t arrived_ = 0;        // number of children whose states have arrived
  std::int64_t latest_ns_ = 0;     // latest stamp of all events at this node and below
  bool fresh_ = true;  // whether dependent events may have emitted since the last output; see OutputBuffer::close
  bool counted_finished_ = false;
};

}  // namespace lab
