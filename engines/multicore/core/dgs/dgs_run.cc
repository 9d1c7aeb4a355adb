#include "dgs/dgs_run.h"

#include <algorithm>
#include <stdexcept>

namespace lab {
namespace {

// Blocks that a worker publishes per turn of a source that others read, so that they do not wait for it.
constexpr int kEagerBlocks = 8;

}  // namespace

DgsRun::DgsRun(DgsOptions options) : options_(std::move(options)) {
  if (options_.workers < 1) throw std::invalid_argument("workers must be at least 1");
  if (options_.batch < 1) throw std::invalid_argument("batch must be at least 1");
  check_ring_blocks(options_.ring_blocks);
  if (options_.grid_steps < 1) throw std::invalid_argument("grid_steps must be at least 1");
  check_output(options_.output_itemsizes);
  if (options_.load) check_load(*options_.load);
  const auto count = static_cast<std::size_t>(options_.workers);
  workers_ = std::vector<Worker>(count);
  parkers_ = std::vector<Parker>(count);
  options_.max_outputs_per_event = std::max<std::int64_t>(1, options_.max_outputs_per_event);
  pool_ = std::make_shared<OutputPool>(options_.output_itemsizes, options_.max_outputs_per_event);
  for (Worker& worker : workers_) {
    worker.out = std::make_unique<OutputBuffer>(pool_);
    worker.recorder = std::make_unique<Recorder>(options_.measure, options_.grid_steps);
  }
  if (!options_.load) return;
  generator_ =
      std::make_unique<Generator>(*options_.load, options_.spare_core, options_.measure, options_.grid_steps);
}

std::int32_t DgsRun::add_stream(StreamView stream, std::int32_t owner) {
  if (owner < 0 || owner >= options_.workers) throw std::invalid_argument("no such worker");
  const bool due = options_.load.has_value();
  check_stream(stream, sources_.size(), due);
  stream.index = static_cast<std::int32_t>(sources_.size());
  streams_.push_back(std::move(stream));
  sources_.push_back(std::make_unique<Source>(streams_.back(), options_.batch, options_.ring_blocks,
                                              due && options_.load->whole_blocks, options_.measure));
  owners_.push_back(due ? -1 : owner);
  if (due) return static_cast<std::int32_t>(sources_.size()) - 1;
  workers_[static_cast<std::size_t>(owner)].sources.push_back({sources_.back().get(), {}, {}});
  return static_cast<std::int32_t>(sources_.size()) - 1;
}

std::int32_t DgsRun::add_mailbox(std::int32_t worker_index) {
  Worker& worker = workers_.at(static_cast<std::size_t>(worker_index));
  const auto id = static_cast<std::int32_t>(mailboxes_.size());
  auto mailbox = std::make_unique<Mailbox>(id, worker_index, forest, *worker.out, *worker.recorder, worker.sync,
                                           worker.counters);
  mailbox->leaf_of_tree.assign(static_cast<std::size_t>(forest.size()), -1);
  mailbox->max_outputs_per_event = options_.max_outputs_per_event;
  worker.mailboxes.push_back(mailbox.get());
  mailboxes_.push_back({std::move(mailbox), worker_index});
  return id;
}

void DgsRun::add_lane(std::int32_t mailbox_index, std::int32_t stream, Lane lane) {
  const auto s = static_cast<std::size_t>(stream);
  lane.source = sources_.at(s).get();
  lane.reader = lane.source->ring.add_reader();
  lane.owner_worker = owners_[s];
  mailbox(mailbox_index).lanes.push_back(std::move(lane));
}

void DgsRun::start() {
  threads_.claim();
  reserve();
  for (const Entry& entry : mailboxes_) {
    for (Lane& lane : entry.mailbox->lanes) {
      lane.together = options_.load && !options_.load->whole_blocks;
      lane.share = 1.0 / static_cast<double>(lane.source->ring.readers());
      if (lane.owner_worker < 0) continue;
      Worker& owner = workers_[static_cast<std::size_t>(lane.owner_worker)];
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
  RunThreads::Plan plan;
  plan.count = options_.workers;
  plan.cores = options_.cores;
  plan.called = "worker";
  plan.body = [this](std::int32_t index) { work(index); };
  plan.fail = [this] { fail(); };
  if (generator_) {
    feed();
    plan.beside = [this] { generator_->run(start_ns_, parkers_, failed_); };
  }
  threads_.start(std::move(plan));
}

void DgsRun::reserve() {
  pool_->reserve(options_.reserved_rows, Mailbox::most_room(options_.max_outputs_per_event, options_.batch, *pool_));
  std::int64_t segments = 0;  // no more than rows, and than there are occasions for one
  for (const Entry& entry : mailboxes_) segments += entry.mailbox->most_segments(options_.batch);
  if (options_.load || segments > options_.reserved_rows) segments = options_.reserved_rows;
  if (segments <= OutputBuffer::kFirstSegments) return;
  pool_->reserve_bytes(segments * static_cast<std::int64_t>(sizeof(OutputBuffer::Segment)), options_.workers);
}

void DgsRun::fail() noexcept {
  failed_.store(true, std::memory_order_seq_cst);  // pairs with the loads in `work` and Generator::run
  for (Parker& parker : parkers_) parker.notify();
}

void DgsRun::feed() {
  for (const auto& source : sources_) {
    std::vector<std::int32_t> readers;
    for (const Entry& entry : mailboxes_) {
      const auto reads = [&source](const Lane& lane) { return lane.source == source.get(); };
      if (std::any_of(entry.mailbox->lanes.begin(), entry.mailbox->lanes.end(), reads) &&
          std::find(readers.begin(), readers.end(), entry.worker) == readers.end()) {
        readers.push_back(entry.worker);
      }
    }
    generator_->add(source.get(), std::move(readers));
  }
}

std::int64_t DgsRun::run() {
  if (!threads_.started()) start();
  const std::int64_t duration_ns = threads_.run([this](std::int64_t begin_ns) {
    start_ns_ = begin_ns;
    const std::int64_t warm_up_ns = options_.load ? options_.load->warm_up_ns : 0;
    for (Worker& worker : workers_) worker.recorder->begin(begin_ns, warm_up_ns);
  });
  std::int64_t refused = 0;
  for (const Worker& worker : workers_) refused += worker.out->refused();
  if (refused != 0) {
    throw std::runtime_error("update emitted " + std::to_string(refused) +
                             " records beyond max_outputs_per_event; raise it in the program");
  }
  return duration_ns;
}

void DgsRun::work(std::int32_t index) {
  Worker& worker = workers_[static_cast<std::size_t>(index)];
  take_turns(
      Backoff(options_.oversubscribed), worker.counters, [&](bool) { return turn(worker); },
      // seq_cst: a worker about to sleep must see a failure whose notify did not see it asleep (run/parker.h).
      [&] { return failed_.load(std::memory_order_seq_cst); }, [&] { return done(worker); },
      [&]() -> Parker& { return parkers_[static_cast<std::size_t>(index)]; });
}

bool DgsRun::turn(Worker& worker) {
  bool progress = false;
  for (Worker::Owned& owned : worker.sources) {
    const std::int64_t before = owned.source->published();
    if (!pump(owned)) continue;
    worker.recorder->emitted(owned.source->published() - before);
    progress = true;
  }
  for (Mailbox* mailbox : worker.mailboxes) progress |= mailbox->step(parkers_);
  return progress;
}

bool DgsRun::pump(Worker::Owned& owned) {
  if (owned.source->exhausted()) return false;
  if (owned.remote.empty()) {
    // Only we read it: publish when a lane has run dry, so that an event waits in the ring no longer than needed.
    const std::uint64_t published = owned.source->ring.published_by_me();
    const auto dry = [published](const Lane* lane) { return lane->next == lane->end && lane->seen == published; };
    const bool wanted = std::any_of(owned.local.begin(), owned.local.end(), dry);
    return (wanted || owned.local.empty()) && owned.source->pump();
  }
  bool progress = false;
  for (int i = 0; i < kEagerBlocks && owned.source->pump(); ++i) progress = true;
  if (progress) {
    for (const std::int32_t reader : owned.remote) parkers_[static_cast<std::size_t>(reader)].notify();
  }
  return progress;
}

bool DgsRun::done(const Worker& worker) noexcept {
  return std::all_of(worker.sources.begin(), worker.sources.end(),
                     [](const Worker::Owned& owned) { return owned.source->exhausted(); }) &&
         std::all_of(worker.mailboxes.begin(), worker.mailboxes.end(),
                     [](const Mailbox* mailbox) { return mailbox->finished(); });
}

std::int64_t DgsRun::rows() const noexcept {
  std::int64_t total = 0;
  for (const Worker& worker : workers_) total += worker.out->rows();
  return total;
}

void DgsRun::collect(std::span<void* const> columns) const {
  std::vector<const OutputBuffer*> buffers;
  for (const Worker& worker : workers_) buffers.push_back(worker.out.get());
  merge_outputs(buffers, columns);
}

std::vector<std::int64_t> DgsRun::sum(const Histogram& (*of)(const Worker&)) const {
  std::vector<const Histogram*> all;
  for (const Worker& worker : workers_) all.push_back(&of(worker));
  return sum_counts(all);
}

std::vector<std::int64_t> DgsRun::latency_counts() const {
  return sum([](const Worker& worker) -> const Histogram& { return worker.recorder->steady; });
}

std::vector<std::int64_t> DgsRun::warm_up_counts() const {
  return sum([](const Worker& worker) -> const Histogram& { return worker.recorder->warm_up; });
}

std::vector<std::int64_t> DgsRun::service_counts() const {
  return sum([](const Worker& worker) -> const Histogram& { return worker.recorder->service; });
}

std::vector<std::int64_t> DgsRun::sync_counts() const {
  return sum([](const Worker& worker) -> const Histogram& { return worker.sync; });
}

std::vector<std::int64_t> DgsRun::lag_counts() const { return sum_lag(generator_.get()); }

std::vector<Progress> DgsRun::progress() const {
  std::vector<const Recorder*> all;
  for (const Worker& worker : workers_) all.push_back(worker.recorder.get());
  if (generator_) all.push_back(&generator_->recorder);
  return sum_progress(all);
}

Counters DgsRun::counters() const noexcept {
  Counters total;
  for (const Worker& worker : workers_) {
    total.synchronizations += worker.counters.synchronizations;
    total.parked += worker.counters.parked;
    total.kernel_calls += worker.counters.kernel_calls;
    total.sleeps += worker.counters.sleeps;
    total.yields += worker.counters.yields;
  }
  return total;
}

std::int64_t DgsRun::events() const noexcept {
  std::int64_t total = 0;
  for (const auto& source : sources_) {
    std::int64_t least = -1;
    for (const Entry& entry : mailboxes_) {
      for (const Lane& lane : entry.mailbox->lanes) {
        if (lane.source == source.get() && (least < 0 || lane.next < least)) least = lane.next;
      }
    }
    if (least > 0) total += least;
  }
  return total;
}

}  // namespace lab
