#include "joins/joins_run.h"

#include <algorithm>
#include <exception>
#include <stdexcept>

#include "joins/band_join.h"
#include "run/clock.h"
#include "joins/indexed_join.h"

namespace lab {
namespace {

// Tuples that a thread processes before it gives log space back.
constexpr std::int64_t kBatchRows = 4096;

const std::vector<std::int32_t> kOutput = {8, 4, 4, 4, 4, 8, 1};  // ts, x, y, a, b, c, d

void check(const JoinsOptions& options) {
  if (options.threads < 1 || options.threads > kMaxLogReaders) {
    throw std::invalid_argument("threads must be between 1 and " + std::to_string(kMaxLogReaders));
  }
  if (options.kind != JoinKind::kAdHoc && options.threads != 1) {
    throw std::invalid_argument("a join without a log has one thread");
  }
  if (options.window < 0) throw std::invalid_argument("window must not be negative");
  if (options.band < 0 || options.band > kWidestBand) {
    throw std::invalid_argument("band must be between 0 and " + std::to_string(kWidestBand));
  }
  if (options.batch < 1) throw std::invalid_argument("batch must be at least 1");
  if (options.grid_steps < 1) throw std::invalid_argument("grid_steps must be at least 1");
  check_ring_blocks(options.ring_blocks);
  if (options.load) check_load(*options.load);
}

}  // namespace

JoinsRun::JoinsRun(JoinsOptions options) : options_(std::move(options)) {
  check(options_);
  inputs_.window = options_.window;
  inputs_.band = options_.band;
  const auto count = static_cast<std::size_t>(options_.threads);
  workers_ = std::vector<Worker>(count);
  parkers_ = std::vector<Parker>(count);
  pool_ = std::make_shared<OutputPool>(kOutput);
  pool_->reserve(options_.reserved_rows, 0);
  for (Worker& worker : workers_) {
    worker.out = std::make_unique<OutputBuffer>(pool_);
    worker.recorder = std::make_unique<Recorder>(options_.measure, options_.grid_steps);
  }
  if (!options_.load) return;
  generator_ = std::make_unique<Generator>(*options_.load, options_.spare_core, options_.measure, options_.grid_steps);
}

void JoinsRun::add_stream(StreamView stream) {
  if (views_.size() == 2) throw std::invalid_argument("a band join has two streams");
  const std::size_t index = views_.size();
  if (stream.columns.size() != (index == 0 ? 3 : 5)) throw std::invalid_argument("columns are ts, x, y and ts, a, b, c, d");
  check_stream(stream, index, options_.load.has_value());
  stream.index = static_cast<std::int32_t>(index);
  views_.push_back(std::move(stream));
  const StreamView& view = views_.back();
  inputs_.view[index] = &view;
  sources_.push_back(std::make_unique<Source>(view, options_.batch, options_.ring_blocks,
                                              options_.load && options_.load->whole_blocks, options_.measure));
  Feed& feed = feeds_.emplace_back();
  feed.source = sources_.back().get();
  feed.reader = feed.source->ring.add_reader();
  feed.pumped = !generator_;
}

void JoinsRun::start() {
  if (views_.size() != 2) throw std::logic_error("a band join has two streams");
  threads_.claim();
  if (options_.kind == JoinKind::kAdHoc) {
    LogOptions log = options_.log;
    log.watermarks = false;  // no window closes with an output
    log.rows_in_flight = std::max(log.rows_in_flight, options_.batch);  // a block must fit into the log whole
    order_ = std::make_unique<LoggedOrder>(feeds_, options_.threads, log);
  } else {
    order_ = std::make_unique<MergedOrder>(feeds_, kBatchRows);
  }
  for (std::int32_t i = 0; i < options_.threads; ++i) {
    Worker& worker = workers_[static_cast<std::size_t>(i)];
    if (options_.kind == JoinKind::kIndexed) {
      worker.consumer = std::make_unique<IndexedJoin>(inputs_, *worker.out, *worker.recorder);
    } else {
      worker.consumer = std::make_unique<BandJoin>(i, options_.threads, inputs_, *worker.out, *worker.recorder);
    }
  }
  RunThreads::Plan plan;
  plan.count = options_.threads;
  plan.cores = options_.cores;
  plan.called = "thread";
  plan.body = [this](std::int32_t index) { work(index); };
  plan.fail = [this] {
    failed_.store(true, std::memory_order_seq_cst);  // pairs with the loads in `stopped` and Generator::run
    notify_all();
  };
  if (generator_) {
    generator_->feed_everybody(sources_, options_.threads);
    plan.beside = [this] { generator_->run(start_ns_, parkers_, failed_); };
  }
  threads_.start(std::move(plan));
}

std::int64_t JoinsRun::run() {
  if (!threads_.started()) start();
  return threads_.run([this](std::int64_t begin_ns) {
    start_ns_ = begin_ns;
    const std::int64_t warm_up_ns = options_.load ? options_.load->warm_up_ns : 0;
    for (Worker& worker : workers_) worker.recorder->begin(begin_ns, warm_up_ns);
  });
}

void JoinsRun::notify_all() noexcept {
  for (Parker& parker : parkers_) parker.notify();
}

// seq_cst: who is about to sleep must see a failure whose notify did not see it asleep.
bool JoinsRun::stopped() const noexcept { return failed_.load(std::memory_order_seq_cst); }

void JoinsRun::work(std::int32_t index) {
  Worker& worker = workers_[static_cast<std::size_t>(index)];
  take_turns(
      Backoff(options_.oversubscribed), worker.counters, [&](bool) { return turn(index); },
      [&] { return worker.done || stopped(); }, [] { return false; },
      [&]() -> Parker& { return parkers_[static_cast<std::size_t>(index)]; });
}

bool JoinsRun::turn(std::int32_t index) {
  Worker& worker = workers_[static_cast<std::size_t>(index)];
  const std::span<const LogRun> runs = order_->read(index);
  if (runs.empty()) {
    worker.done = order_->ended(index);
    if (worker.done) return true;
    const bool fed = order_->feed(*worker.recorder);
    if (fed) notify_all();
    // The end may come without a tuple, and another thread may have merged.
    return fed || !order_->read(index).empty() || order_->ended(index);
  }
  std::size_t taken = 0;
  std::int64_t rows = 0;
  while (taken < runs.size() && rows < kBatchRows) {
    rows += runs[taken].end - runs[taken].begin;
    ++taken;
  }
  worker.consumer->process(runs.first(taken));
  order_->release(index, taken);
  worker.recorder->tick();
  worker.recorder->consumed(static_cast<double>(rows) / options_.threads);
  return true;
}

std::int64_t JoinsRun::rows() const noexcept {
  std::int64_t total = 0;
  for (const Worker& worker : workers_) total += worker.out->rows();
  return total;
}

void JoinsRun::collect(std::span<void* const> columns) const {
  std::vector<const OutputBuffer*> buffers;
  for (const Worker& worker : workers_) buffers.push_back(worker.out.get());
  merge_outputs(buffers, columns);
}

std::vector<std::int64_t> JoinsRun::sum(Histogram Recorder::*of) const {
  std::vector<const Histogram*> all;
  for (const Worker& worker : workers_) all.push_back(&((*worker.recorder).*of));
  return sum_counts(all);
}

std::vector<std::int64_t> JoinsRun::lag_counts() const { return sum_lag(generator_.get()); }

std::vector<Progress> JoinsRun::progress() const {
  std::vector<const Recorder*> all;
  for (const Worker& worker : workers_) all.push_back(worker.recorder.get());
  if (generator_) all.push_back(&generator_->recorder);
  return sum_progress(all);
}

std::int64_t JoinsRun::events() const noexcept {
  std::int64_t least = workers_.front().consumer->tuples();
  for (const Worker& worker : workers_) least = std::min(least, worker.consumer->tuples());
  return least;
}

std::int64_t JoinsRun::looked_at() const noexcept {
  std::int64_t total = 0;
  for (const Worker& worker : workers_) total += worker.consumer->looked_at();
  return total;
}

Counters JoinsRun::counters() const noexcept {
  Counters total;
  for (const Worker& worker : workers_) {
    total.sleeps += worker.counters.sleeps;
    total.yields += worker.counters.yields;
  }
  return total;
}

}  // namespace lab
