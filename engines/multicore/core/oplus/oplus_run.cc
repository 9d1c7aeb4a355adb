// Implements OplusRun; see oplus/oplus_run.h.
#include "oplus/oplus_run.h"

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

#include "run/errors.h"

namespace lab {
namespace {

static_assert(RunSettings::kMaxWorkers <= kMaxLogReaders);

OplusOptions checked(OplusOptions options) {
  check(options);
  if (options.max_instances == 0) options.max_instances = options.workers;
  if (options.max_instances < options.workers || options.max_instances > RunSettings::kMaxWorkers) {
    throw std::invalid_argument("max_instances must be between workers and " +
                                std::to_string(RunSettings::kMaxWorkers));
  }
  if (options.spill_rows < 1) throw std::invalid_argument("spill_rows must be at least 1");
  if (options.downstream < 0 || options.downstream > kMaxLogReaders) {
    throw std::invalid_argument("downstream must be between 0 and " + std::to_string(kMaxLogReaders));
  }
  if (options.batch_rows < 1) throw std::invalid_argument("batch_rows must be at least 1");
  options.log.readers = options.max_instances;
  // A whole block must fit into the log.
  options.log.rows_in_flight = std::max(options.log.rows_in_flight, options.batch);
  static_cast<void>(make_tuple_buffer(options.tuple_buffer, options.log));  // throws on invalid options
  return options;
}

// Throws std::invalid_argument unless a run with a map stage is possible.
void check_mapped(const OplusOptions& options, const OperatorSpec& spec) {
  if (options.map_instances < 0)
    throw std::invalid_argument("map_instances must be at least 1, or 0 without a map stage");
  if (options.shared_nothing) throw std::invalid_argument("queues of whole tuples, or a map stage: one of the two");
  if (spec.counts_pairs()) throw std::invalid_argument("behind a map stage is an aggregate, not a join");
  if (options.workers != options.max_instances) {
    throw std::invalid_argument("the number of instances behind a map stage is fixed: max_instances must be " +
                                std::to_string(options.workers));
  }
}

}  // namespace

OplusRun::OplusRun(OplusOptions options, const OperatorSpec& spec) : options_(checked(std::move(options))) {
  if (options_.shared_nothing && spec.is_join()) {
    throw std::invalid_argument("shared-nothing instances run keyed operators");
  }
  if (options_.map_instances != 0) check_mapped(options_, spec);
  make_threads(options_.max_instances + options_.downstream, "instance");
  stages_.push_back(std::make_unique<OperatorStage>(options_, threads(), spec, options_.output_itemsizes));
}

void OplusRun::add_operator(const OperatorSpec& spec, ProcessKernel process,
                            std::vector<std::int32_t> output_itemsizes) {
  if (started()) throw std::logic_error("add operators before start");
  if (options_.shared_nothing || options_.map_instances != 0) {
    throw std::invalid_argument("shared-nothing instances run one operator");
  }
  if (spec.is_join() || spec.inputs != 1) {
    throw std::invalid_argument("an operator behind another is keyed and has one input");
  }
  stages_.push_back(std::make_unique<OperatorStage>(options_, threads(), spec, std::move(output_itemsizes)));
  links_.push_back(process);
}

std::int32_t OplusRun::add_stream(StreamView stream, std::int32_t input, ProcessKernel process, RouteKernel route,
                                  std::vector<ColumnShape> shapes) {
  if (input < 0 || input >= stages_.front()->spec().inputs) throw std::invalid_argument("no such input");
  const StreamView& view = add_view(std::move(stream));
  add_feed(view);
  streams_.push_back({&view, input, process, route});
  shapes_.push_back(std::move(shapes));
  if (view.size() != 0) {
    // Arrival times are not known yet; the end of the load gives the end watermark.
    if (view.arrivals == nullptr) last_ts_ = std::max(last_ts_, view.ts.back());
    has_tuples_ = true;
  }
  return view.index;
}

std::int32_t OplusRun::add_mapped_stream(StreamView stream, std::int32_t input, ProcessKernel process,
                                         MappedStream mapped) {
  if (options_.map_instances == 0) throw std::logic_error("a stream for map instances, and there are none");
  mapped_.push_back(std::move(mapped));
  return add_stream(std::move(stream), input, process);
}

OperatorStage& OplusRun::stage(std::size_t op) {
  if (op >= stages_.size()) throw std::invalid_argument("there is no operator " + std::to_string(op));
  return *stages_[op];
}

void OplusRun::map(std::vector<std::int32_t> owner, std::size_t op) { stage(op).map(std::move(owner)); }

void OplusRun::prepare() {
  for (const auto& stage : stages_) {
    if (!stage->mapped()) throw std::logic_error("map before start");
  }
  InputTimes input;
  input.streams = streams_;
  if (has_tuples_) input.end = std::max(last_ts_, options_.end_watermark.value_or(last_ts_));
  const auto state_of = [](const OperatorSpec& spec) {
    return spec.is_join() ? nullptr : std::make_unique<WindowState>(spec);
  };
  OperatorStage& first = *stages_.front();
  // Joins of all pairs only count the rows of each stream, so they read plain runs.
  options_.log.interleaved = !first.spec().is_join();
  std::unique_ptr<Handover> handover;
  if (options_.map_instances != 0) {
    if (mapped_.size() != streams_.size()) throw std::logic_error("with a map stage all streams are mapped");
    auto stage = std::make_unique<MapStage>(first.spec(), options_.map_instances, options_.tuple_buffer, options_.log,
                                            streams_, mapped_, feeds());
    map_stage_ = stage.get();
    handover = std::move(stage);
  } else if (options_.shared_nothing) {
    handover = std::make_unique<Queues>(first.spec(), options_.tuple_buffer, options_.log, streams_, shapes_, feeds());
  } else {
    auto log = make_tuple_buffer(options_.tuple_buffer, options_.log);
    // With several instances, marks let each skip the rows that concern only others.
    const bool marked = options_.max_instances > 1 && std::ranges::all_of(streams_, &OperatorStream::route);
    auto marks = marked ? std::make_unique<RowMarks>(streams_, shapes_, options_.log.rows_in_flight) : nullptr;
    handover = std::make_unique<SharedLog>(std::move(log), streams_, feeds(), state_of(first.spec()), std::move(marks));
  }
  first.start(std::move(handover), input);
  LogOptions between = options_.log;
  between.rows_in_flight = options_.link_rows;
  between.interleaved = true;
  const auto make_output_log = [&](const OperatorStage& before, std::int32_t copies) {
    return std::make_unique<OutputLog>(options_.tuple_buffer, between,
                                       OutputLog::Shape{.itemsizes = before.itemsizes(),
                                                        .rows = options_.link_rows,
                                                        .spill_rows = options_.spill_rows,
                                                        .timed = options_.load && options_.measure,
                                                        .copies = copies});
  };
  for (std::size_t s = 1; s < stages_.size(); ++s) {
    OperatorStage& before = *stages_[s - 1];
    auto link = std::make_unique<ChainLog>(make_output_log(before, 1), links_[s - 1], state_of(stages_[s]->spec()));
    stages_[s]->start(std::move(link), before, input);
  }
  if (options_.downstream == 0) {
    stages_.back()->reserve(options_.reserved_rows);
    return;
  }
  // A downstream reader takes runs of rows as stored, and needs no watermarks.
  between.interleaved = between.watermarks = false;
  const bool copied = options_.shared_nothing || options_.map_instances != 0;
  between.readers = copied ? 1 : options_.downstream;
  OperatorStage& last = *stages_.back();
  output_log_ = make_output_log(last, copied ? options_.downstream : 1);
  output_log_->start(options_.max_instances, first_instances(options_.workers));
  last.publish_into(*output_log_, options_.max_instances, options_.downstream);
  downstream_ = std::make_unique<Downstream>(options_, threads(), *output_log_, last);
  downstream_->reserve(options_.reserved_rows);
}

std::vector<std::int32_t> OplusRun::readers_of(std::size_t) const { return first_instances(options_.max_instances); }

void OplusRun::wake_others() noexcept {
  for (const auto& stage : stages_) stage->wake_waiter();
}

void OplusRun::check_end() const {
  for (const auto& stage : stages_) {
    std::int64_t refused = 0;
    for (std::int32_t i = 0; i < options_.max_instances; ++i) refused += stage->outputs(i).refused();
    check_refused(stage->spec(), refused);
  }
  if (downstream_) downstream_->check();
}

// Returns whether any operator has work for the thread.
bool OplusRun::engaged(std::int32_t index) const noexcept {
  return std::ranges::any_of(stages_, [&](const auto& stage) { return stage->engaged(index); });
}

void OplusRun::work(std::int32_t index) {
  const auto stopped = [&] { return threads().failed() || threads().finished(); };
  const auto not_done = [] { return false; };
  Counters& counters = threads().meter(index).counters;
  if (index < options_.max_instances) {
    take_turns(
        threads().backoff(), counters, [&](bool) { return take_turn(index); }, stopped, not_done,
        [&]() -> Parker& { return threads().place(index, engaged(index)); });
  } else {
    take_turns(
        threads().backoff(), counters, [&](bool) { return turn_downstream(index); }, stopped, not_done,
        [&]() -> Parker& { return threads().place(index, true); });
  }
  wake_others();  // callers of `await`, whose switch will not come
}

bool OplusRun::turn_downstream(std::int32_t index) {
  const std::int32_t reader = index - options_.max_instances;
  try {
    return downstream_->take_turn(reader);
  } catch (const std::bad_alloc&) {
    throw NoMemory("out of memory: downstream reader %d cannot keep more of the answer", reader);
  }
}

bool OplusRun::take_turn(std::int32_t index) {
  for (auto stage = stages_.rbegin(); stage != stages_.rend(); ++stage) {
    try {
      if ((*stage)->take_turn(index)) return true;
    } catch (const std::exception&) {
      rethrow_of((*stage)->spec());
    }
  }
  return false;
}

std::int64_t OplusRun::reconfigure(std::vector<std::int32_t> instances, std::vector<std::int32_t> owner,
                                   std::size_t op) {
  if (options_.map_instances != 0) {
    throw std::invalid_argument("the number of instances behind a map stage is fixed");
  }
  return stage(op).reconfigure({std::move(instances), std::move(owner)});
}

std::optional<Snapshot> OplusRun::snapshot() const {
  if (threads().finished() || threads().failed()) return std::nullopt;
  Snapshot result;
  result.time_ns = threads().since_start();
  for (std::int32_t i = 0; i < options_.max_instances; ++i) {
    result.busy_ns.push_back(threads().meters()[static_cast<std::size_t>(i)]->busy_ns());
  }
  stages_.front()->add_to(result);
  return result;
}

std::vector<const OutputBuffer*> OplusRun::outputs() const {
  if (downstream_) return {&downstream_->answer()};
  std::vector<const OutputBuffer*> buffers;
  for (std::int32_t i = 0; i < options_.max_instances; ++i) buffers.push_back(&stages_.back()->outputs(i));
  return buffers;
}

std::vector<std::vector<LoadStep>> OplusRun::load_steps() const {
  std::vector<std::vector<LoadStep>> result;
  for (std::int32_t i = 0; i < options_.max_instances; ++i) {
    result.push_back(threads().meters()[static_cast<std::size_t>(i)]->steps());
  }
  return result;
}

void OplusRun::count(Counts& into) const {
  std::int64_t kernel_calls = 0;
  for (const auto& stage : stages_) kernel_calls += stage->kernel_calls();
  into = {{"kernel_calls", kernel_calls}, {"comparisons", compared()}};
  if (map_stage_ != nullptr) into.push_back({"mapped_tuples", map_stage_->emitted()});
  if (stages_.size() == 1 && !downstream_) return;
  std::int64_t spilled = 0, peak = 0;
  for (const auto& stage : stages_) {
    spilled += stage->spilled();
    peak = std::max(peak, stage->spilled_peak());
  }
  into.insert(into.end(), {{"spilled_rows", spilled}, {"spilled_rows_peak", peak}});
}

}  // namespace lab
