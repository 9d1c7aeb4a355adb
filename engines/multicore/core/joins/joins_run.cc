// Implements JoinsRun; see joins/joins_run.h.
#include "joins/joins_run.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "joins/band_join.h"
#include "joins/indexed_join.h"
#include "joins/tuple_join.h"

namespace lab {
namespace {

// Number of tuples that a thread processes before it releases log space.
constexpr std::int64_t kBatchRows = 4096;

const std::vector<std::int32_t> kOutput = {8, 4, 4, 4, 4, 8, 1};  // ts, x, y, a, b, c, d

static_assert(RunSettings::kMaxWorkers <= kMaxLogReaders);

JoinsOptions checked(JoinsOptions options) {
  check(options);
  if (options.kind != JoinKind::kAdHoc && options.workers != 1) {
    throw std::invalid_argument("join kind " + std::string(kJoinKinds[static_cast<std::size_t>(options.kind)]) +
                                " runs with 1 worker, not " + std::to_string(options.workers));
  }
  if (options.kind == JoinKind::kIndexed && options.form != JoinForm::kTiles) {
    throw std::invalid_argument("join kind indexed has only the form tiles");
  }
  if (options.window < 0) throw std::invalid_argument("window must not be negative");
  if (options.band < 0 || options.band > kWidestBand) {
    throw std::invalid_argument("band must be between 0 and " + std::to_string(kWidestBand));
  }
  static_cast<void>(index_of("tuple_buffer", kTupleBuffers, options.tuple_buffer));
  options.log.watermarks = false;  // no window closes with an output
  options.log.rows_in_flight =
      std::max(options.log.rows_in_flight, options.batch);  // a whole block must fit into the log
  return options;
}

}  // namespace

JoinsRun::JoinsRun(JoinsOptions options)
    : options_(checked(std::move(options))),
      pool_(std::make_shared<OutputPool>(kOutput)),
      workers_(static_cast<std::size_t>(options_.workers)) {
  inputs_.window = options_.window;
  inputs_.band = options_.band;
  make_threads(options_.workers, "thread");
  pool_->reserve(options_.reserved_rows, 0);
  for (Worker& worker : workers_) worker.out = std::make_unique<OutputBuffer>(pool_);
}

void JoinsRun::add_stream(StreamView stream) {
  const std::size_t index = views().size();
  if (index == 2) throw std::invalid_argument("a band join has two streams");
  if (stream.columns.size() != (index == 0 ? 3 : 5))
    throw std::invalid_argument("the left stream has 3 columns (ts, x, y), the right stream 5 (ts, a, b, c, d); got " +
                                std::to_string(stream.columns.size()));
  const StreamView& view = add_view(std::move(stream));
  inputs_.view[index] = &view;
  add_feed(view);
}

void JoinsRun::prepare() {
  if (views().size() != 2) throw std::logic_error("a band join has two streams");
  if (options_.kind == JoinKind::kAdHoc) {
    order_ = std::make_unique<LoggedOrder>(feeds(), options_.workers, options_.log, options_.tuple_buffer);
  } else {
    order_ = std::make_unique<MergedOrder>(feeds(), kBatchRows);
  }
  for (std::int32_t i = 0; i < options_.workers; ++i) {
    Worker& worker = workers_[static_cast<std::size_t>(i)];
    Recorder& recorder = threads().meter(i).recorder;
    if (options_.kind == JoinKind::kIndexed) {
      worker.consumer = std::make_unique<IndexedJoin>(inputs_, *worker.out, recorder, threads().failure());
    } else if (options_.form == JoinForm::kTuples) {
      worker.consumer =
          std::make_unique<TupleJoin>(i, options_.workers, inputs_, *worker.out, recorder, threads().failure());
    } else {
      worker.consumer =
          std::make_unique<BandJoin>(i, options_.workers, inputs_, *worker.out, recorder, threads().failure());
    }
  }
}

void JoinsRun::work(std::int32_t index) {
  Worker& worker = workers_[static_cast<std::size_t>(index)];
  take_turns(
      threads().backoff(), threads().meter(index).counters, [&](bool) { return take_turn(index); },
      [&] { return worker.done || threads().failed(); }, [] { return false; },
      [&]() -> Parker& { return threads().parkers()[static_cast<std::size_t>(index)]; });
}

// Processes the next rows, or else moves rows from the sources into the total order. Returns false if there is no work.
bool JoinsRun::take_turn(std::int32_t index) {
  Worker& worker = workers_[static_cast<std::size_t>(index)];
  Recorder& recorder = threads().meter(index).recorder;
  const std::span<const LogRun> runs = order_->read(index);
  if (runs.empty()) {
    worker.done = order_->ended(index);
    if (worker.done) return true;
    const bool fed = order_->feed(recorder);
    if (fed) threads().notify(options_.workers);
    // Look again: the end may come without a tuple, and another thread may have merged.
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
  recorder.tick();
  recorder.consumed(static_cast<double>(rows) / options_.workers);
  return true;
}

std::vector<const OutputBuffer*> JoinsRun::outputs() const {
  std::vector<const OutputBuffer*> buffers;
  for (const Worker& worker : workers_) buffers.push_back(worker.out.get());
  return buffers;
}

std::int64_t JoinsRun::events() const noexcept {
  std::int64_t tuples = workers_.front().consumer->tuples();
  for (const Worker& worker : workers_) tuples = std::min(tuples, worker.consumer->tuples());
  return tuples;
}

std::int64_t JoinsRun::pair_count() const noexcept {
  std::int64_t total = 0;
  for (const Worker& worker : workers_) total += worker.consumer->pair_count();
  return total;
}

void JoinsRun::count(Counts& into) const {
  const bool indexed = options_.kind == JoinKind::kIndexed;
  into.emplace_back(indexed ? "candidates" : "comparisons", pair_count());
  // An indexed join tests single rows, without vectors.
  if (!indexed && options_.form == JoinForm::kTiles) into.emplace_back("vector_bits", choose_probe_loop().vector_bits);
}

}  // namespace lab
