// Implements dgs/dgs_run.h, except changes of the plan (plan_change.cc).
#include "dgs/dgs_run.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace lab {
namespace {

// Number of blocks that a worker publishes per turn if other workers read the source. It is more than one, so that
// these workers rarely wait for the next turn.
constexpr int kEagerBlocks = 8;

// Work of the first worker, in events, between two readings of the clock, which take some 10 ns each. A turn counts as
// its events plus `kTurnWork`, an idle turn as `kIdleTurnWork`, since an idle turn may lose a scheduling slice.
constexpr std::int64_t kWorkPerLook = 4'096;
constexpr std::int64_t kTurnWork = 64;
constexpr std::int64_t kIdleTurnWork = 1'024;

DgsOptions checked(DgsOptions options) {
  check(options);
  check_output(options.output_itemsizes);
  options.max_outputs_per_event = std::max<std::int64_t>(1, options.max_outputs_per_event);
  return options;
}

}  // namespace

DgsRun::DgsRun(DgsOptions options)
    : options_(checked(std::move(options))),
      pool_(std::make_shared<OutputPool>(options_.output_itemsizes,
                                         std::max(options_.max_outputs_per_event, options_.max_outputs_across))),
      workers_(static_cast<std::size_t>(options_.workers)) {
  make_threads(options_.workers, "worker");
  if (options_.adaptive && !options_.cuts) throw std::invalid_argument("an adaptive run needs cuts");
  options_.checkpoints = options_.checkpoints && options_.cuts;
  if (options_.cuts) {
    checkpoints_ = std::make_unique<Checkpoints>(*options_.cuts, options_.checkpoints, options_.adaptive);
  }
  if (options_.adaptive) phases_.emplace(threads().parkers());
  if (options_.adaptive && options_.load) make_generator_holdable();
  for (std::int32_t i = 0; i < options_.workers; ++i) {
    Worker& worker = workers_[static_cast<std::size_t>(i)];
    if (!options_.checkpoints) worker.outs.push_back(std::make_unique<OutputBuffer>(pool_));
    worker.meter = &threads().meter(i);
  }
  if (options_.workers == 1 || options_.load || options_.gather == DgsOptions::Gather::kNever) return;
  places_.emplace(options_.workers, threads().parkers());
  unused_parkers_ = std::vector<Parker>(workers_.size());
}

std::int32_t DgsRun::add_stream(StreamView stream, std::int32_t owner) {
  if (owner < 0 || owner >= options_.workers)
    throw std::invalid_argument("worker " + std::to_string(owner) + " does not exist; the run has " +
                                std::to_string(options_.workers) + " workers");
  const StreamView& view = add_view(std::move(stream));
  Source& source = add_source(view, options_.measure);
  owners_.push_back(options_.load ? -1 : owner);
  begins_.push_back(0);
  if (!options_.load) workers_[static_cast<std::size_t>(owner)].sources.push_back({&source, {}, {}});
  return view.index;
}

std::int32_t DgsRun::add_mailbox(std::int32_t worker_index) {
  Worker& worker = workers_.at(static_cast<std::size_t>(worker_index));
  const auto index = static_cast<std::int32_t>(mailboxes_.size());
  const std::int32_t id = removed_mailboxes_ + index;
  // A snapshot takes the outputs of each mailbox separately, since each reaches a cut at a different time.
  if (options_.checkpoints) worker.outs.push_back(std::make_unique<OutputBuffer>(pool_));
  auto mailbox = std::make_unique<Mailbox>(id, worker_index, forest, *worker.outs.back(), worker.meter->recorder,
                                           worker.sync, worker.counters, threads().failure());
  mailbox->leaf_of_tree.assign(static_cast<std::size_t>(forest.size()), -1);
  mailbox->max_outputs_per_event = options_.max_outputs_per_event;
  worker.mailboxes.push_back(mailbox.get());
  mailboxes_.push_back({std::move(mailbox), worker_index});
  return index;
}

std::int32_t DgsRun::add_crossing(std::span<const std::int32_t> trees, std::span<const std::int32_t> keys,
                                  std::int64_t group_bytes, std::int64_t max_outputs) {
  if (group_bytes < 0 || max_outputs < 0)
    throw std::invalid_argument("group_bytes and max_outputs of a crossing must not be negative");
  if (max_outputs > options_.max_outputs_across)
    throw std::invalid_argument("max_outputs " + std::to_string(max_outputs) + " exceeds max_outputs_across, " +
                                std::to_string(options_.max_outputs_across));
  const auto units = static_cast<std::size_t>((group_bytes + kStateUnit - 1) / kStateUnit);
  group_states_.push_back({std::make_unique<std::int64_t[]>(std::max<std::size_t>(1, units)), group_bytes});
  void* const own = group_states_.back().memory.get();
  crossings_.push_back(std::make_unique<Crossing>(forest, trees, keys, own, max_outputs));
  return static_cast<std::int32_t>(crossings_.size()) - 1;
}

std::int32_t DgsRun::join_crossing(std::int32_t mailbox_index, std::int32_t crossing_index) {
  Mailbox& mailbox = this->mailbox(mailbox_index);
  Crossing& crossing = *crossings_.at(static_cast<std::size_t>(crossing_index));
  bool has_leaves = false;
  std::int64_t single_node_bytes = 0;
  std::vector<CrossingPart::Leaf> inner;  // trees of one node need no join
  for (const std::int32_t tree : crossing.trees()) {
    const std::int32_t leaf = mailbox.leaf_of_tree[static_cast<std::size_t>(tree)];
    if (leaf < 0) continue;
    has_leaves = true;
    if (leaf != 0) {
      inner.push_back({tree, leaf});
    } else {
      single_node_bytes += forest.state_bytes(forest.tree(tree).shape->nodes[0].state_type);
    }
  }
  if (!has_leaves) return -1;
  group_states_[static_cast<std::size_t>(crossing_index)].copied_by = mailbox_index;
  const std::int32_t worker = mailboxes_[static_cast<std::size_t>(mailbox_index)].worker;
  mailbox.crossings.emplace_back(crossing, worker, std::move(inner), single_node_bytes);
  return static_cast<std::int32_t>(mailbox.crossings.size()) - 1;
}

void DgsRun::add_lane(std::int32_t mailbox_index, std::int32_t stream, Lane lane) {
  const auto s = static_cast<std::size_t>(stream);
  lane.source = sources()[s].get();
  lane.owner_worker = owners_.at(s);
  lane.next = lane.counted = lane.end = lane.ordering = begins_[s];
  mailbox(mailbox_index).lanes.push_back(std::move(lane));
}

std::span<std::byte> DgsRun::group_state(std::int32_t crossing) {
  const GroupState& own = group_states_.at(static_cast<std::size_t>(crossing));
  return {reinterpret_cast<std::byte*>(own.memory.get()), static_cast<std::size_t>(own.bytes)};
}

Checkpoints& DgsRun::checkpoints() {
  if (!checkpoints_) throw std::logic_error("this run has no cuts");
  return *checkpoints_;
}

// Adds each mailbox's part to the snapshots: the states of its leaves, and the group states that it copies.
void DgsRun::add_parts() {
  for (std::size_t m = 0; m < mailboxes_.size(); ++m) {
    Mailbox& mailbox = *mailboxes_[m].mailbox;
    std::vector<Checkpoints::Leaf> leaves;
    for (std::int32_t t = 0; t < forest.size(); ++t) {
      const std::int32_t leaf = mailbox.leaf_of_tree[static_cast<std::size_t>(t)];
      if (leaf < 0) continue;
      const Tree& tree = forest.tree(t);
      const std::int32_t type = tree.shape->nodes[static_cast<std::size_t>(leaf)].state_type;
      leaves.push_back({t, leaf, tree.states[leaf], forest.state_bytes(type)});
    }
    std::vector<Checkpoints::GroupState> group_states;
    for (std::size_t c = 0; c < group_states_.size(); ++c) {
      const GroupState& state = group_states_[c];
      if (state.copied_by != static_cast<std::int32_t>(m)) continue;
      group_states.push_back({static_cast<std::int32_t>(c), state.memory.get(), state.bytes});
    }
    checkpoints_->add_part(options_.checkpoints ? &mailbox.out() : nullptr, leaves, group_states);
    mailbox.take_part(*checkpoints_, static_cast<std::int32_t>(m));
  }
  checkpoints_->complete_parts();
}

void DgsRun::prepare() {
  if (checkpoints_) add_parts();
  reserve();
  connect();
}

// Makes lanes readers of their streams, and notes for each source which lanes and workers read it.
void DgsRun::connect() {
  for (const Entry& entry : mailboxes_) {
    for (Lane& lane : entry.mailbox->lanes) lane.reader = lane.source->ring.add_reader();
  }
  for (const Entry& entry : mailboxes_) {
    for (Lane& lane : entry.mailbox->lanes) {
      lane.merges_blocks = options_.load && !options_.load->whole_blocks;
      lane.share = 1.0 / static_cast<double>(lane.source->ring.readers());
      if (lane.owner_worker < 0) continue;
      Worker& owner = workers_[static_cast<std::size_t>(lane.owner_worker)];
      if (is_direct(lane, entry.worker)) {
        lane.direct = options_.batch;
        std::erase_if(owner.sources, [&lane](const Worker::Owned& owned) { return owned.source == lane.source; });
        continue;
      }
      for (Worker::Owned& owned : owner.sources) {
        if (owned.source != lane.source) continue;
        if (entry.worker == lane.owner_worker) {
          owned.local.push_back(&lane);
        } else if (std::find(owned.remote.begin(), owned.remote.end(), entry.worker) == owned.remote.end()) {
          owned.remote.push_back(entry.worker);
        }
      }
    }
  }
}

bool DgsRun::is_direct(const Lane& lane, std::int32_t worker) const noexcept {
  return options_.direct && lane.owner_worker == worker && lane.source->ring.readers() == 1;
}

// Reserves memory for the outputs and their segments.
void DgsRun::reserve() {
  const std::int64_t room = Mailbox::max_room(options_.max_outputs_per_event, options_.batch, *pool_);
  pool_->reserve(options_.reserved_rows, std::max(room, options_.max_outputs_across));
  std::int64_t segments = 0;  // at most one per row, and at most one per kernel call
  for (const Entry& entry : mailboxes_) segments += entry.mailbox->max_segments(options_.batch);
  if (options_.load || segments > options_.reserved_rows) segments = options_.reserved_rows;
  if (segments <= OutputBuffer::kFirstSegments) return;
  const auto buffers = static_cast<std::int32_t>(outputs().size());
  pool_->reserve_bytes(segments * static_cast<std::int64_t>(sizeof(OutputBuffer::Segment)), buffers);
}

std::vector<std::int32_t> DgsRun::readers_of(std::size_t stream) const {
  if (phases_) return Run::readers_of(stream);  // any worker may become a reader
  const Source* const source = sources()[stream].get();
  std::vector<std::int32_t> readers;
  for (const Entry& entry : mailboxes_) {
    const auto reads = [source](const Lane& lane) { return lane.source == source; };
    if (std::any_of(entry.mailbox->lanes.begin(), entry.mailbox->lanes.end(), reads) &&
        std::find(readers.begin(), readers.end(), entry.worker) == readers.end()) {
      readers.push_back(entry.worker);
    }
  }
  return readers;
}

void DgsRun::check_end() const {
  std::int64_t refused = 0;
  for (const Worker& worker : workers_) {
    for (const auto& out : worker.outs) refused += out->refused();
  }
  check_refused(refused);
}

void DgsRun::work(std::int32_t index) {
  take_turns(
      threads().backoff(), threads().meter(index).counters, [&](bool) { return step(index); },
      [&] { return threads().failed() || threads().finished(); }, [&] { return ended(index); },
      [&]() -> Parker& { return threads().parkers()[static_cast<std::size_t>(index)]; });
  if (places_ && index != 0) places_->leave(index);
}

// Takes one turn of worker `index`. Returns whether there was any work.
bool DgsRun::step(std::int32_t index) {
  if (phases_ && !phases_->open(index)) return false;
  if (!places_) return take_turn(index, threads().parkers());
  if (index != 0) return places_->serves(index) && take_turn(index, threads().parkers());
  if (work_since_look_ >= kWorkPerLook) decide();
  const bool gathered = places_->gathered();
  const std::int64_t& events = workers_.front().counters.events;
  const std::int64_t before = events;
  const bool progress = gathered ? work_for_all() : take_turn(0, threads().parkers());
  work_since_look_ += (events - before + (progress ? kTurnWork : kIdleTurnWork)) * (gathered ? options_.workers : 1);
  return progress;
}

// Takes one turn of the first worker at every place that it may serve. Returns whether there was any work.
bool DgsRun::work_for_all() {
  bool progress = take_turn(0, unused_parkers_);
  for (std::int32_t i = 1; i < options_.workers; ++i) {
    if (places_->is_free(i)) progress |= take_turn(i, unused_parkers_);
  }
  return progress;
}

// Returns whether an idle thread has no more work in this run.
bool DgsRun::ended(std::int32_t index) {
  if (phases_ && !phases_->open(index)) return false;
  if (!places_) return is_done(workers_[static_cast<std::size_t>(index)]);
  if (index != 0) return places_->serves(index) && is_done(workers_[static_cast<std::size_t>(index)]);
  if (!places_->gathered()) return is_done(workers_.front());
  bool all_done = true;
  // No early exit, since `is_done` of any place may declare this phase the last.
  for (std::int32_t i = 0; i < options_.workers; ++i) {
    all_done &= (i == 0 || places_->is_free(i)) && is_done(workers_[static_cast<std::size_t>(i)]);
  }
  if (all_done) threads().finish();
  return all_done;
}

// Gathers or scatters the places if this is quicker. The first worker calls it between two turns.
void DgsRun::decide() {
  using Gather = DgsOptions::Gather;
  work_since_look_ = 0;
  bool gather = !places_->gathered();
  if (options_.gather == Gather::kAlways) gather = true;
  if (options_.gather == Gather::kQuicker) {
    const std::int64_t now_ns = clock_.now();
    if (!gathering_.due(now_ns)) return;
    gathering_.decide(now_ns, places_->events());
    gather = gathering_.gathered();
  }
  if (gather == places_->gathered()) return;
  if (gather) {
    places_->gather();
    ++gatherings_;
  } else if (!places_->scatter()) {
    gathering_.postpone();
  }
}

// Takes one turn at a place. Returns whether there was any work. `parkers`: parkers of the workers to notify.
bool DgsRun::take_turn(std::int32_t place, std::span<Parker> parkers) {
  Worker& worker = workers_[static_cast<std::size_t>(place)];
  bool progress = false;
  for (Worker::Owned& owned : worker.sources) {
    const std::int64_t before = owned.source->published();
    if (!pump(owned, parkers)) continue;
    worker.meter->recorder.emitted(owned.source->published() - before);
    progress = true;
  }
  for (Mailbox* mailbox : worker.mailboxes) progress |= mailbox->step(parkers);
  if (places_) places_->set_events(place, worker.counters.events);
  return progress;
}

// Publishes the next blocks of a source if its readers need them. Returns whether it published any.
bool DgsRun::pump(Worker::Owned& owned, std::span<Parker> parkers) {
  if (owned.source->exhausted()) return false;
  if (owned.remote.empty()) {
    // Only this worker reads the source. It publishes when a lane has no event left, so events wait only briefly.
    const std::uint64_t published = owned.source->ring.published_by_me();
    const auto is_empty = [published](const Lane* lane) { return lane->next == lane->end && lane->seen == published; };
    const bool needs_rows = std::any_of(owned.local.begin(), owned.local.end(), is_empty);
    return (needs_rows || owned.local.empty()) && owned.source->pump();
  }
  bool progress = false;
  for (int i = 0; i < kEagerBlocks && owned.source->pump(); ++i) progress = true;
  if (progress) {
    for (const std::int32_t reader : owned.remote) parkers[static_cast<std::size_t>(reader)].notify();
  }
  return progress;
}

// Returns whether a place has no more work, in this phase and in later ones. Declares this phase the last if the place
// has finished its mailboxes.
bool DgsRun::is_done(const Worker& worker) noexcept {
  const bool finished = std::all_of(worker.sources.begin(), worker.sources.end(),
                                    [](const Worker::Owned& owned) { return owned.source->exhausted(); }) &&
                        std::all_of(worker.mailboxes.begin(), worker.mailboxes.end(),
                                    [](const Mailbox* mailbox) { return mailbox->finished(); });
  if (!phases_ || !finished) return finished;
  if (!worker.mailboxes.empty()) phases_->set_last();
  return phases_->last();
}

std::vector<const OutputBuffer*> DgsRun::outputs() const {
  std::vector<const OutputBuffer*> buffers;
  for (const Worker& worker : workers_) {
    for (const auto& out : worker.outs) buffers.push_back(out.get());
  }
  return buffers;
}

std::vector<std::int64_t> DgsRun::sync_counts() const {
  std::vector<const Histogram*> all;
  for (const Worker& worker : workers_) all.push_back(&worker.sync);
  return sum_counts(all);
}

void DgsRun::count(Counts& into) const {
  Counters total;
  for (const Worker& worker : workers_) {
    total.synchronizations += worker.counters.synchronizations;
    total.parked += worker.counters.parked;
    total.moved_bytes += worker.counters.moved_bytes;
    total.kernel_calls += worker.counters.kernel_calls;
  }
  into = {{"synchronizations", total.synchronizations},
          {"parked", total.parked},
          {"state_bytes_moved", total.moved_bytes},
          {"kernel_calls", total.kernel_calls},
          {"gatherings", gatherings_}};
  if (phases_) into.emplace_back("plan_changes", phases_->changes());
  if (!options_.checkpoints) return;
  into.emplace_back("checkpoints", checkpoints_->taken_count());
  into.emplace_back("checkpoints_skipped", checkpoints_->decided() - checkpoints_->taken_count());
}

std::int64_t DgsRun::events() const noexcept {
  std::int64_t total = 0;
  for (const auto& source : sources()) {
    std::int64_t processed_by_all = -1;  // -1 without readers
    for (const Entry& entry : mailboxes_) {
      for (const Lane& lane : entry.mailbox->lanes) {
        if (lane.source != source.get()) continue;
        if (processed_by_all < 0 || lane.next < processed_by_all) processed_by_all = lane.next;
      }
    }
    if (processed_by_all > 0) total += processed_by_all;
  }
  return total;
}

}  // namespace lab
