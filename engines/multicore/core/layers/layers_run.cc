// Implements LayersRun, except the construction of its graph (layers/graph.cc); see layers/layers_run.h.
#include "layers/layers_run.h"

#include <algorithm>
#include <array>
#include <bit>
#include <stdexcept>
#include <utility>

namespace lab {
namespace {

LayersOptions checked(LayersOptions options) {
  check(options);
  if (options.channel_rows < LayersOptions::kMinChannelRows || options.channel_rows > LayersOptions::kMaxChannelRows) {
    throw std::invalid_argument("channel_rows must be between " + std::to_string(LayersOptions::kMinChannelRows) +
                                " and " + std::to_string(LayersOptions::kMaxChannelRows));
  }
  if (options.spill_rows < 1) throw std::invalid_argument("spill_rows must be at least 1");
  options.channel_rows = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(options.channel_rows)));
  check_output(options.input_itemsizes);
  return options;
}

}  // namespace

LayersRun::LayersRun(LayersOptions options)
    : options_(checked(std::move(options))),
      stamps_(!options_.measure ? 0
              : options_.load   ? 2
                                : 1),
      unit_(std::min(options_.batch, options_.channel_rows / 2)) {}

void LayersRun::add_stage(StageSpec spec) {
  if (started()) throw std::logic_error("add operators before start");
  if (operator_) throw std::invalid_argument("a query graph has either the operators of a pipeline or one operator O+");
  stages_.push_back(lab::checked(std::move(spec)));
}

void LayersRun::set_operator(LayersOperator op) {
  if (started() || !views().empty()) throw std::logic_error("set the operator before streams are added");
  if (operator_ || !stages_.empty()) {
    throw std::invalid_argument("a query graph has the operators of a pipeline, or one operator O+");
  }
  check_output(op.itemsizes);
  op.spec = lab::checked(std::move(op.spec));
  check_assignment(op.spec, {first_instances(options_.workers), op.owner}, options_.workers);
  operator_ = std::move(op);
}

const StreamView& LayersRun::add(StreamView stream) {
  if (views().size() == static_cast<std::size_t>(kMaxLogSources)) {
    throw std::invalid_argument("a query graph has at most " + std::to_string(kMaxLogSources) + " injectors");
  }
  const StreamView& view = add_view(std::move(stream));
  if (options_.load) add_feed(view);  // at full speed injectors read columns
  return view;
}

std::int32_t LayersRun::add_stream(StreamView stream) {
  if (operator_) throw std::invalid_argument("a stream of an operator O+ belongs to one of its inputs");
  if (stream.columns.size() != options_.input_itemsizes.size()) {
    throw std::invalid_argument("a stream has one column for each field of the input");
  }
  return add(std::move(stream)).index;
}

std::int32_t LayersRun::add_stream(StreamView stream, std::int32_t input, ProcessKernel process, RouteKernel route) {
  if (!operator_) throw std::invalid_argument("set the operator O+ before its streams");
  if (input < 0 || input >= operator_->spec.inputs)
    throw std::invalid_argument("input " + std::to_string(input) + " does not exist; the operator has " +
                                std::to_string(operator_->spec.inputs));
  if (!operator_->spec.is_join() && (process == nullptr || route == nullptr)) {
    throw std::invalid_argument("a stream of a keyed operator needs both kernels");
  }
  const StreamView& view = add(std::move(stream));
  streams_.push_back({&view, input, process, route});
  return view.index;
}

void LayersRun::check_end() const {
  if (!operator_) return;
  std::int64_t refused = 0;
  for (const LayerOperator* instance : operators_) refused += instance->refused();
  check_refused(operator_->spec, refused);
}

std::vector<std::int32_t> LayersRun::readers_of(std::size_t stream) const {
  return {static_cast<std::int32_t>(stream)};  // injectors are the first threads
}

void LayersRun::work(std::int32_t index) {
  Place& place = places_[static_cast<std::size_t>(index)];
  LayerNode& node = *place.node;
  const ThreadUse before = ThreadUse::now();
  take_turns(
      threads().backoff(), threads().meter(index).counters, [&](bool) { return node.take_turn(); },
      [&] { return threads().failed(); }, [&] { return node.finished(); }, [&]() -> Parker& { return parker(index); });
  place.use = ThreadUse::now() - before;
}

std::vector<const OutputBuffer*> LayersRun::outputs() const {
  std::vector<const OutputBuffer*> all;
  for (const LayerSink* sink : sinks_) all.push_back(&sink->outputs());
  return all;
}

std::int64_t LayersRun::events() const noexcept {
  std::int64_t total = 0;
  for (const LayerInstance* instance : first_instances_) total += instance->rows();
  if (operator_) {
    for (const LayerInjector* injector : injectors_) total += injector->rows();
  }
  return total;
}

// CPU times and context switches of the graph's threads are counted from the start of the run to the end of each
// thread.
void LayersRun::count(Counts& into) const {
  std::array<std::int64_t, 4> parts{};  // threads, by Part
  std::int64_t compared = 0, spilled = 0, peak = 0, merges_by_producers = 0, merges_by_readers = 0;
  ThreadUse use, merger_use;
  for (const LayerOperator* instance : operators_) compared += instance->compared();
  for (const Place& place : places_) {
    ++parts[static_cast<std::size_t>(place.part)];
    use += place.use;
    if (place.part == Part::kMerger) merger_use += place.use;
    LayerOut* const out = place.node->out();
    for (std::size_t l = 0; out != nullptr && l < out->size(); ++l) {
      const LayerLink& link = out->link(l);
      spilled += link.spill().rows();
      peak = std::max(peak, link.spill().peak());
      merges_by_producers += link.merges();
    }
    if (place.node->in() != nullptr) merges_by_readers += place.node->in()->merges();
  }
  // In a ScaleGate every insertion merges, so a count of merges says nothing.
  if (options_.channels == Channels::kScaleGate) merges_by_producers = merges_by_readers = 0;
  const Counters counters = sum_counters();
  const auto threads_of = [&](Part part) { return parts[static_cast<std::size_t>(part)]; };
  into = {{"threads", thread_count()},
          {"injectors", threads_of(Part::kInjector)},
          {"instances", threads_of(Part::kInstance)},
          {"mergers", threads_of(Part::kMerger)},
          {"sinks", threads_of(Part::kSink)},
          {"queues", queues_},
          {"logs", std::ssize(logs_)},
          {"kernel_calls", counters.kernel_calls},
          {"comparisons", compared},
          {"room_waits", counters.room_waits},
          {"spilled_rows", spilled},
          {"spilled_rows_peak", peak},
          {"merges_by_producers", merges_by_producers},
          {"merges_by_readers", merges_by_readers},
          {"voluntary_switches", use.voluntary},
          {"involuntary_switches", use.involuntary},
          {"cpu_ns", use.cpu_ns},
          {"merger_cpu_ns", merger_use.cpu_ns}};
}

}  // namespace lab
