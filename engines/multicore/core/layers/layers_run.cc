#include "layers/layers_run.h"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <utility>

#include "run/clock.h"

namespace lab {
namespace {

constexpr std::int32_t kMostWorkers = kMaxLogSources;
constexpr std::int64_t kMostChannelRows = std::int64_t{1} << 20;

LayersOptions checked(LayersOptions options) {
  const std::string& layer = options.determinism;
  if (layer != "operator" && layer != "communication" && layer != "none") {
    throw std::invalid_argument("determinism is operator, communication or none, not " + layer);
  }
  if (options.workers < 1 || options.workers > kMostWorkers) {
    throw std::invalid_argument("workers must be between 1 and " + std::to_string(kMostWorkers));
  }
  if (options.batch < 1) throw std::invalid_argument("batch must be at least 1");
  if (options.channel_rows < 2 || options.channel_rows > kMostChannelRows) {
    throw std::invalid_argument("channel_rows must be between 2 and " + std::to_string(kMostChannelRows));
  }
  options.channel_rows = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(options.channel_rows)));
  if (options.core_count < 1) throw std::invalid_argument("core_count must be at least 1");
  if (options.grid_steps < 1) throw std::invalid_argument("grid_steps must be at least 1");
  check_ring_blocks(options.ring_blocks);
  check_output(options.input_itemsizes);
  if (options.load) check_load(*options.load);
  return options;
}

}  // namespace

LayersRun::LayersRun(LayersOptions options)
    : options_(checked(std::move(options))),
      stamps_(!options_.measure ? 0 : options_.load ? 2 : 1),
      unit_(std::min(options_.batch, options_.channel_rows / 2)) {}

void LayersRun::add_stage(StageSpec spec) {
  if (run_threads_.started()) throw std::logic_error("add operators before start");
  if (operator_) throw std::invalid_argument("a query graph has the operators of a pipeline, or one operator O+");
  stages_.push_back(lab::checked(std::move(spec)));
}

void LayersRun::set_operator(LayersOperator of) {
  if (run_threads_.started() || !views_.empty()) throw std::logic_error("set the operator before streams are added");
  if (operator_ || !stages_.empty()) {
    throw std::invalid_argument("a query graph has the operators of a pipeline, or one operator O+");
  }
  if (options_.workers > KeyRouter::kMostInstances) {
    throw std::invalid_argument("an operator O+ has at most " + std::to_string(KeyRouter::kMostInstances) +
                                " instances");
  }
  check_output(of.itemsizes);
  of.spec = lab::checked(std::move(of.spec));
  check_owners(of.spec, of.owner, options_.workers);
  operator_ = std::move(of);
}

StreamView& LayersRun::keep(StreamView stream) {
  if (run_threads_.started()) throw std::logic_error("add streams before start");
  check_stream(stream, views_.size(), options_.load.has_value());
  if (views_.size() == static_cast<std::size_t>(kMaxLogSources)) {
    throw std::invalid_argument("a query graph has at most " + std::to_string(kMaxLogSources) + " injectors");
  }
  stream.index = static_cast<std::int32_t>(views_.size());
  return views_.emplace_back(std::move(stream));
}

std::int32_t LayersRun::add_stream(StreamView stream) {
  if (operator_) throw std::invalid_argument("a stream of an operator O+ belongs to one of its inputs");
  if (stream.columns.size() != options_.input_itemsizes.size()) {
    throw std::invalid_argument("a stream has one column for each field of the input");
  }
  return keep(std::move(stream)).index;
}

std::int32_t LayersRun::add_stream(StreamView stream, std::int32_t input, ProcessKernel process,
                                       RouteKernel route) {
  if (!operator_) throw std::invalid_argument("set the operator before its streams");
  if (input < 0 || input >= operator_->spec.inputs) throw std::invalid_argument("no such input");
  if (!operator_->spec.is_join() && (process == nullptr || route == nullptr)) {
    throw std::invalid_argument("a stream of a keyed operator needs both kernels");
  }
  const StreamView& view = keep(std::move(stream));
  streams_.push_back({&view, input, process, route});
  return view.index;
}

void LayersRun::start() {
  if (stages_.empty() && !operator_) throw std::logic_error("a query graph needs an operator");
  run_threads_.claim();
  build();
  RunThreads::Plan plan;
  plan.count = threads();
  plan.cores = options_.cores;
  plan.body = [this](std::int32_t index) { work(index); };
  plan.fail = [this] { threads_->fail(); };
  if (generator_) {
    plan.beside = [this] { generator_->run(threads_->start_ns(), threads_->parkers(), threads_->failure()); };
  }
  run_threads_.start(std::move(plan));
}

std::int64_t LayersRun::run() {
  if (!run_threads_.started()) start();
  const std::int64_t duration_ns = run_threads_.run(
      [this](std::int64_t begin_ns) { threads_->begin(begin_ns, options_.load ? options_.load->warm_up_ns : 0); });
  std::int64_t refused = 0;
  for (const LayerOperator* instance : operators_) refused += instance->refused();
  if (operator_) check_refused(operator_->spec, refused);
  return duration_ns;
}

void LayersRun::work(std::int32_t index) {
  Place& place = places_[static_cast<std::size_t>(index)];
  LayerNode& node = *place.node;
  const ThreadUse before = ThreadUse::now();
  take_turns(
      threads_->backoff(), node.counts, [&](bool) { return node.turn(); }, [&] { return threads_->failed(); },
      [&] { return node.over(); }, [&]() -> Parker& { return parker(index); });
  place.use = ThreadUse::now() - before;
}

std::int64_t LayersRun::rows() const noexcept {
  std::int64_t total = 0;
  for (const LayerSink* sink : sinks_) total += sink->outputs().rows();
  return total;
}

void LayersRun::collect(std::span<void* const> columns) const {
  std::vector<const OutputBuffer*> all;
  for (const LayerSink* sink : sinks_) all.push_back(&sink->outputs());
  merge_outputs(all, columns);
}

std::int64_t LayersRun::events() const noexcept {
  std::int64_t total = 0;
  for (const LayerInstance* instance : first_instances_) total += instance->rows();
  if (operator_) {
    for (const LayerInjector* injector : injectors_) total += injector->rows();
  }
  return total;
}

std::vector<std::int64_t> LayersRun::lag_counts() const { return sum_lag(generator_.get()); }

std::vector<Progress> LayersRun::progress() const { return sum_progress(*threads_, generator_.get()); }

LayersTotals LayersRun::totals() const noexcept {
  LayersTotals total;
  total.queues = queues_;
  for (const LayerOperator* instance : operators_) total.compared += instance->compared();
  total.logs = static_cast<std::int64_t>(logs_.size());
  for (const Place& place : places_) {
    total.injectors += place.part == Part::kInjector ? 1 : 0;
    total.instances += place.part == Part::kInstance ? 1 : 0;
    total.mergers += place.part == Part::kMerger ? 1 : 0;
    total.sinks += place.part == Part::kSink ? 1 : 0;
    LayerNode& node = *place.node;
    total.kernel_calls += node.counts.kernel_calls;
    total.room_waits += node.counts.room_waits;
    total.sleeps += node.counts.sleeps;
    total.yields += node.counts.yields;
    total.spilled_rows += node.spilled();
    total.merges_by_producers += node.merges_as_producer();
    total.merges_by_readers += node.merges_as_reader();
    total.use += place.use;
    if (place.part == Part::kMerger) total.use_of_mergers += place.use;
  }
  return total;
}

}  // namespace lab
