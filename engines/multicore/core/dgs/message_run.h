// MessageRun: runs a synchronization plan in the form that the DGS paper published, as actors that send single
// messages. `DgsRun` (dgs/dgs_run.h) runs the lab's own form.
//
// Source: DGS paper, section 3.4. Every node of every tree, and every crossing, is an actor (dgs/node_actor.h); every
// stream has a producer (dgs/producer.h). As in the paper's Erlang programs, few threads run all actors and producers.
// Each actor or producer belongs to one worker, which delivers one message at a time.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "dgs/crossing.h"
#include "dgs/forest.h"
#include "dgs/message.h"
#include "dgs/node_actor.h"
#include "dgs/producer.h"
#include "run/run.h"

namespace lab {

struct MessageOptions : RunSettings {
  std::int64_t max_outputs_per_event = 1;
  std::int64_t max_outputs_across = 0;  // maximum number of outputs per event across trees
  std::vector<std::int32_t> output_itemsizes;
};

class MessageRun final : public Run {
 public:
  // Throws std::invalid_argument on options out of range.
  explicit MessageRun(MessageOptions options);

  // Add trees with `add_trees` below, not directly.
  Forest forest;

  // Adds a stream, whose producer belongs to `owner`; see Run::add_view. Returns its index.
  std::int32_t add_stream(StreamView stream, std::int32_t owner);

  // Adds `count` trees of one shape, with their actors. `nodes`: by node of the shape. Returns the index of the first
  // tree.
  std::int32_t add_trees(std::int32_t shape, std::vector<NodeActor::Node> nodes, std::int32_t count);

  // Returns the actor of a tree's root; the actors of the other nodes follow in the order of the nodes.
  std::int32_t first_actor(std::int32_t tree) const { return first_actor_.at(static_cast<std::size_t>(tree)); }

  // Adds a crossing, as DgsRun::add_crossing does, and adds it to the parents of its trees' roots. Returns the
  // crossing's actor.
  std::int32_t add_crossing(std::span<const std::int32_t> trees, std::span<const std::int32_t> keys,
                            std::int64_t group_bytes, std::int64_t max_outputs, NodeActor::Node node);

  // See Producer::route. Call it after all actors are added.
  void route(std::int32_t stream, const std::int32_t* actors, const std::int32_t* tags);

  std::int64_t events() const noexcept override;     // number of processed events
  std::vector<std::int64_t> sent_to_others() const;  // by stream: number of events sent to another worker
  // Histogram counts of the times from an event's join requests until the states are sent down.
  std::vector<std::int64_t> sync_counts() const;

 private:
  struct alignas(kCacheLine) Worker {
    std::unique_ptr<OutputBuffer> out;
    std::vector<Producer*> producers;
    std::vector<Message> arrived;
    std::optional<Post> post;
    std::optional<ActorContext> context;
    Histogram sync;
  };

  const RunSettings& settings() const noexcept override { return options_; }
  void prepare() override;
  void work(std::int32_t index) override;
  void check_end() const override;
  std::vector<const OutputBuffer*> outputs() const override;
  void count(Counts& into) const override;
  std::vector<std::int32_t> readers_of(std::size_t stream) const override { return {owners_[stream]}; }
  bool take_turn(Worker& worker);
  // Throws std::invalid_argument unless the run has this worker.
  void check_worker(std::int32_t worker) const;
  void deliver(Worker& worker, const Message& message);
  void deliver_local(Worker& worker);
  NodeActor& add_actor(NodeActor actor);

  MessageOptions options_;
  std::shared_ptr<OutputPool> pool_;
  std::vector<std::int32_t> owners_;  // by stream: the worker of its producer
  std::deque<Producer> producers_;    // by stream
  std::deque<NodeActor::Node> nodes_;
  std::deque<NodeActor> actors_;
  std::vector<std::int32_t> worker_of_;    // by actor
  std::vector<std::int32_t> first_actor_;  // by tree
  std::deque<Crossing> crossings_;
  std::deque<std::vector<std::int64_t>> group_states_;
  std::optional<Credits> credits_;
  std::vector<Inbox> inboxes_;
  std::vector<Worker> workers_;
};

}  // namespace lab
