// Implements the published form of synchronization plans; see dgs/message_run.h.
#include "dgs/message_run.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "run/errors.h"

namespace lab {
namespace {

MessageOptions checked(MessageOptions options) {
  check(options);
  check_output(options.output_itemsizes);
  options.max_outputs_per_event = std::max<std::int64_t>(1, options.max_outputs_per_event);
  return options;
}

}  // namespace

MessageRun::MessageRun(MessageOptions options)
    : options_(checked(std::move(options))),
      pool_(std::make_shared<OutputPool>(options_.output_itemsizes,
                                         std::max(options_.max_outputs_per_event, options_.max_outputs_across))),
      inboxes_(static_cast<std::size_t>(options_.workers)),
      workers_(static_cast<std::size_t>(options_.workers)) {
  make_threads(options_.workers, "worker");
  for (Worker& worker : workers_) worker.out = std::make_unique<OutputBuffer>(pool_);
}

void MessageRun::check_worker(std::int32_t worker) const {
  if (worker >= 0 && worker < options_.workers) return;
  throw std::invalid_argument("worker " + std::to_string(worker) + " is out of range; the run has " +
                              std::to_string(options_.workers) + " workers");
}

std::int32_t MessageRun::add_stream(StreamView stream, std::int32_t owner) {
  check_worker(owner);
  const StreamView& view = add_view(std::move(stream));
  // The window fits in int64, since its two factors are limited.
  const std::int64_t batch = std::min<std::int64_t>(options_.batch, RunSettings::kMaxRingBlocks);
  const std::int64_t window = batch * static_cast<std::int64_t>(options_.ring_blocks);
  Producer& producer = producers_.emplace_back(add_source(view, options_.measure), window, !options_.load);
  owners_.push_back(owner);
  workers_[static_cast<std::size_t>(owner)].producers.push_back(&producer);
  return view.index;
}

NodeActor& MessageRun::add_actor(NodeActor actor) {
  worker_of_.push_back(actor.node().worker);
  return actors_.emplace_back(std::move(actor));
}

std::int32_t MessageRun::add_trees(std::int32_t shape, std::vector<NodeActor::Node> nodes, std::int32_t count) {
  const std::int32_t first = forest.add_trees(shape, count);
  std::vector<const NodeActor::Node*> shared_nodes;
  for (NodeActor::Node& node : nodes) {
    check_worker(node.worker);
    node.complete();
    shared_nodes.push_back(&nodes_.emplace_back(std::move(node)));
  }
  for (std::int32_t tree = first; tree < first + count; ++tree) {
    const std::vector<TreeTemplate::Node>& places = forest.tree(tree).shape->nodes;
    if (places.size() != shared_nodes.size())
      throw std::invalid_argument("the shape has " + std::to_string(places.size()) + " nodes; got " +
                                  std::to_string(shared_nodes.size()) + " actors");
    const auto root = static_cast<std::int32_t>(actors_.size());
    first_actor_.push_back(root);
    for (std::size_t i = 0; i < places.size(); ++i) {
      std::vector<std::int32_t> children;
      if (!places[i].leaf()) children = {root + places[i].first, root + places[i].second};
      const std::int32_t parent = places[i].parent < 0 ? -1 : root + places[i].parent;
      add_actor({*shared_nodes[i], forest, tree, static_cast<std::int32_t>(i), parent, std::move(children)});
    }
  }
  return first;
}

std::int32_t MessageRun::add_crossing(std::span<const std::int32_t> trees, std::span<const std::int32_t> keys,
                                      std::int64_t group_bytes, std::int64_t max_outputs, NodeActor::Node node) {
  if (group_bytes < 0 || max_outputs < 0)
    throw std::invalid_argument("group_bytes and max_outputs of a crossing must not be negative");
  if (max_outputs > options_.max_outputs_across)
    throw std::invalid_argument("max_outputs " + std::to_string(max_outputs) + " exceeds max_outputs_across, " +
                                std::to_string(options_.max_outputs_across));
  node.complete();
  const auto units = static_cast<std::size_t>((group_bytes + kStateUnit - 1) / kStateUnit);
  std::vector<std::int64_t>& own = group_states_.emplace_back(std::max<std::size_t>(1, units));
  Crossing& crossing = crossings_.emplace_back(forest, trees, keys, own.data(), max_outputs);
  const auto index = static_cast<std::int32_t>(actors_.size());
  std::vector<std::int32_t> children;
  for (const std::int32_t tree : trees) {
    children.push_back(first_actor(tree));
    actors_[static_cast<std::size_t>(children.back())].add_parent(index);
  }
  add_actor({nodes_.emplace_back(std::move(node)), crossing, std::move(children)});
  return index;
}

void MessageRun::route(std::int32_t stream, const std::int32_t* actors, const std::int32_t* tags) {
  Producer& producer = producers_.at(static_cast<std::size_t>(stream));
  producer.route(actors, tags);
  for (std::size_t a = 0; a < actors_.size(); ++a) {
    const std::vector<NodeActor::Flow>& flows = actors_[a].node().flows;
    for (std::size_t f = 0; f < flows.size(); ++f) {
      if (flows[f].stream != stream || flows[f].parent >= 0) continue;
      producer.add_listener({static_cast<std::int32_t>(a), static_cast<std::int32_t>(f)});
    }
  }
}

void MessageRun::prepare() {
  for (Producer& producer : producers_) producer.connect();
  credits_.emplace(owners_, threads().parkers());
  std::int32_t sequences = 0;
  for (std::int32_t w = 0; w < options_.workers; ++w) {
    Worker& worker = workers_[static_cast<std::size_t>(w)];
    WorkMeter& meter = threads().meter(w);
    worker.post.emplace(w, worker_of_, inboxes_, threads().parkers());
    worker.context.emplace(ActorContext{.post = *worker.post,
                                        .credits = *credits_,
                                        .out = *worker.out,
                                        .recorder = meter.recorder,
                                        .counters = meter.counters,
                                        .sync = worker.sync,
                                        .streams = views(),
                                        .worker = w,
                                        .max_outputs = options_.max_outputs_per_event,
                                        .unfinished = 0});
  }
  for (NodeActor& actor : actors_) {
    sequences += actor.number_sequences(sequences);
    ActorContext& context = *workers_[static_cast<std::size_t>(actor.node().worker)].context;
    context.unfinished += actor.finished() ? 0 : 1;
  }
  pool_->reserve(options_.reserved_rows, std::max(options_.max_outputs_per_event, options_.max_outputs_across));
  if (options_.reserved_rows <= OutputBuffer::kFirstSegments) return;
  pool_->reserve_bytes(options_.reserved_rows * static_cast<std::int64_t>(sizeof(OutputBuffer::Segment)),
                       static_cast<std::int32_t>(workers_.size()));
}

void MessageRun::check_end() const {
  std::int64_t refused = 0;
  for (const Worker& worker : workers_) refused += worker.out->refused();
  check_refused(refused);
}

void MessageRun::work(std::int32_t index) {
  Worker& worker = workers_[static_cast<std::size_t>(index)];
  const auto is_done = [&worker] {
    return worker.context->unfinished == 0 && std::all_of(worker.producers.begin(), worker.producers.end(),
                                                          [](const Producer* producer) { return producer->ended(); });
  };
  take_turns(
      threads().backoff(), threads().meter(index).counters, [&](bool) { return take_turn(worker); },
      [&] { return threads().failed(); }, is_done,
      [&]() -> Parker& { return threads().parkers()[static_cast<std::size_t>(index)]; });
}

// Delivers all messages that have arrived, then takes one step of each producer. Without work, the producers send their
// own heartbeats.
bool MessageRun::take_turn(Worker& worker) {
  ActorContext& context = *worker.context;
  const bool arrived = inboxes_[static_cast<std::size_t>(context.worker)].take(worker.arrived);
  for (const Message& message : worker.arrived) deliver(worker, message);
  worker.arrived.clear();
  bool produced = false;
  for (Producer* producer : worker.producers) {
    if (!producer->step(context)) continue;
    produced = true;
    deliver_local(worker);
  }
  if (arrived || produced) return true;
  for (Producer* producer : worker.producers) produced |= producer->send_own_heartbeat(context);
  deliver_local(worker);
  return produced;
}

void MessageRun::deliver(Worker& worker, const Message& message) {
  throw_if_stopped(threads().failure());
  actors_[static_cast<std::size_t>(message.to)].receive(message, *worker.context);
  deliver_local(worker);
}

void MessageRun::deliver_local(Worker& worker) {
  Fifo<Message>& messages = worker.post->local_messages();
  while (!messages.empty()) {
    throw_if_stopped(threads().failure());
    const Message message = messages.pop();
    actors_[static_cast<std::size_t>(message.to)].receive(message, *worker.context);
  }
}

std::vector<const OutputBuffer*> MessageRun::outputs() const {
  std::vector<const OutputBuffer*> buffers;
  for (const Worker& worker : workers_) buffers.push_back(worker.out.get());
  return buffers;
}

std::int64_t MessageRun::events() const noexcept {
  std::int64_t total = 0;
  for (const Producer& producer : producers_) {
    total += producer.ownerless() + (credits_ ? credits_->total(producer.stream().index) : 0);
  }
  return total;
}

std::vector<std::int64_t> MessageRun::sent_to_others() const {
  std::vector<std::int64_t> events;
  for (const Producer& producer : producers_) events.push_back(producer.sent_to_others());
  return events;
}

std::vector<std::int64_t> MessageRun::sync_counts() const {
  std::vector<const Histogram*> all;
  for (const Worker& worker : workers_) all.push_back(&worker.sync);
  return sum_counts(all);
}

void MessageRun::count(Counts& into) const {
  std::int64_t moved_bytes = 0;
  for (const auto& meter : meters()) moved_bytes += meter->counters.moved_bytes;
  const Counters total = sum_counters();
  std::int64_t messages = 0;
  std::int64_t away = 0;
  std::int64_t heartbeats = 0;
  for (const Worker& worker : workers_) {
    if (!worker.post) continue;
    messages += worker.post->sent();
    away += worker.post->sent_to_others();
    heartbeats += worker.post->heartbeats();
  }
  into = {{"synchronizations", total.synchronizations}, {"state_bytes_moved", moved_bytes},
          {"kernel_calls", total.kernel_calls},         {"messages", messages},
          {"messages_between_workers", away},           {"heartbeat_messages", heartbeats}};
}

}  // namespace lab
