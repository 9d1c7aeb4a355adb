#include "oplus/oplus_run.h"

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <utility>

#include "run/clock.h"
#include "run/run_parts.h"

namespace lab {
namespace {

OplusOptions checked(OplusOptions options) {
  if (options.instances < 1 || options.instances > options.most_instances) {
    throw std::invalid_argument("instances must be between 1 and most_instances");
  }
  if (options.most_instances > kMaxLogReaders) {
    throw std::invalid_argument("most_instances must be at most " + std::to_string(kMaxLogReaders));
  }
  if (options.batch < 1) throw std::invalid_argument("batch must be at least 1");
  if (options.batch_rows < 1) throw std::invalid_argument("batch_rows must be at least 1");
  check_ring_blocks(options.ring_blocks);
  if (options.grid_steps < 1) throw std::invalid_argument("grid_steps must be at least 1");
  if (options.load) check_load(*options.load);
  // A block must fit into the log whole.
  options.log.rows_in_flight = std::max(options.log.rows_in_flight, options.batch);
  static_cast<void>(make_tuple_buffer(options.tuple_buffer, options.log));  // says what is wrong with them
  return options;
}

}  // namespace

OplusRun::OplusRun(OplusOptions options, const OperatorSpec& spec)
    : options_(checked(std::move(options))),
      threads_(options_.most_instances, options_.oversubscribed, options_.measure, options_.grid_steps) {
  if (options_.shared_nothing && spec.is_join()) {
    throw std::invalid_argument("shared-nothing instances run keyed operators");
  }
  stages_.push_back(std::make_unique<OperatorStage>(options_, threads_, spec, options_.output_itemsizes));
  if (!options_.load) return;
  generator_ = std::make_unique<Generator>(*options_.load, options_.spare_core, options_.measure, options_.grid_steps);
}

void OplusRun::add_operator(const OperatorSpec& spec, ProcessKernel process,
                                   std::vector<std::int32_t> output_itemsizes) {
  if (run_threads_.started()) throw std::logic_error("add operators before start");
  if (options_.shared_nothing) throw std::invalid_argument("shared-nothing instances run one operator");
  if (options_.instances != options_.most_instances) {
    throw std::invalid_argument("the number of instances of several operators is fixed: most_instances must be " +
                                std::to_string(options_.instances));
  }
  if (spec.is_join() || spec.inputs != 1) {
    throw std::invalid_argument("an operator behind another is keyed and has one input");
  }
  stages_.push_back(std::make_unique<OperatorStage>(options_, threads_, spec, std::move(output_itemsizes)));
  links_.push_back(process);
}

std::int32_t OplusRun::add_stream(StreamView stream, std::int32_t input, ProcessKernel kernel,
                                         RouteKernel router, std::vector<ColumnShape> shapes) {
  if (input < 0 || input >= stages_.front()->spec().inputs) throw std::invalid_argument("no such input");
  const bool due = options_.load.has_value();
  check_stream(stream, sources_.size(), due);
  stream.index = static_cast<std::int32_t>(sources_.size());
  views_.push_back(std::move(stream));
  const StreamView& view = views_.back();
  sources_.push_back(std::make_unique<Source>(view, options_.batch, options_.ring_blocks,
                                              due && options_.load->whole_blocks, options_.measure));
  streams_.push_back({&view, input, kernel, router});
  shapes_.push_back(std::move(shapes));
  Source* source = sources_.back().get();
  Feed& feed = feeds_.emplace_back();
  feed.source = source;
  feed.reader = source->ring.add_reader();
  feed.pumped = !due;
  if (view.size() != 0) {
    last_ts_ = std::max(last_ts_, view.ts.back());
    any_ = true;
  }
  return view.index;
}

void OplusRun::map(std::vector<std::int32_t> owner, std::size_t op) {
  if (op >= stages_.size()) throw std::invalid_argument("there is no operator " + std::to_string(op));
  stages_[op]->map(std::move(owner));
}

void OplusRun::start() {
  for (const auto& stage : stages_) {
    if (!stage->mapped()) throw std::logic_error("map before start");
  }
  run_threads_.claim();
  start_stages();
  RunThreads::Plan plan;
  plan.count = options_.most_instances;
  plan.cores = options_.cores;
  plan.called = "instance";
  plan.body = [this](std::int32_t index) { work(index); };
  plan.fail = [this] {
    threads_.fail();
    stages_.front()->wake_waiter();
  };
  if (generator_) {
    generator_->feed_everybody(sources_, options_.most_instances);
    plan.beside = [this] { generator_->run(threads_.start_ns(), threads_.parkers(), threads_.failure()); };
  }
  run_threads_.start(std::move(plan));
}

void OplusRun::start_stages() {
  InputTimes input;
  input.streams = streams_;
  if (any_) input.end = std::max(last_ts_, options_.end_watermark.value_or(last_ts_));
  const auto state_of = [](const OperatorSpec& spec) {
    return spec.is_join() ? nullptr : std::make_unique<WindowState>(spec.window, spec.buckets);
  };
  OperatorStage& first = *stages_.front();
  std::unique_ptr<Handover> handover;
  if (options_.shared_nothing) {
    handover = std::make_unique<Queues>(first.spec(), options_.tuple_buffer, options_.log, streams_, shapes_, feeds_);
  } else {
    auto log = make_tuple_buffer(options_.tuple_buffer, options_.log);
    handover = std::make_unique<SharedLog>(std::move(log), streams_, feeds_, state_of(first.spec()));
  }
  first.start(std::move(handover), input);
  LogOptions between = options_.log;
  between.rows_in_flight = options_.link_rows;
  for (std::size_t s = 1; s < stages_.size(); ++s) {
    OperatorStage& before = *stages_[s - 1];
    const bool timed = options_.load && options_.measure;
    auto link = std::make_unique<ChainLog>(make_tuple_buffer(options_.tuple_buffer, between), before.itemsizes(),
                                           options_.link_rows, timed, links_[s - 1], state_of(stages_[s]->spec()));
    stages_[s]->start(std::move(link), before, input);
  }
  stages_.back()->reserve(options_.reserved_rows);
}

std::int64_t OplusRun::run() {
  if (!run_threads_.started()) start();
  const std::int64_t duration_ns = run_threads_.run(
      [this](std::int64_t begin_ns) { threads_.begin(begin_ns, options_.load ? options_.load->warm_up_ns : 0); });
  for (const auto& stage : stages_) {
    std::int64_t refused = 0;
    for (std::int32_t i = 0; i < options_.most_instances; ++i) refused += stage->outputs(i).refused();
    check_refused(stage->spec(), refused);
  }
  return duration_ns;
}

void OplusRun::work(std::int32_t index) {
  take_turns(
      threads_.backoff(), threads_.meter(index).counters, [&](bool) { return turn(index); },
      [&] { return threads_.failed() || threads_.over(); }, [] { return false; },
      [&]() -> Parker& { return threads_.place(index, stages_.front()->active(index)); });
}

bool OplusRun::turn(std::int32_t index) {
  for (auto stage = stages_.rbegin(); stage != stages_.rend(); ++stage) {
    try {
      if ((*stage)->turn(index)) return true;
    } catch (const std::exception& error) {
      throw std::runtime_error((*stage)->spec().called() + error.what());
    }
  }
  return false;
}

std::int64_t OplusRun::reconfigure(std::int32_t instances, std::vector<std::int32_t> owner) {
  if (stages_.size() != 1) {
    throw std::invalid_argument("the number of instances of several operators is fixed");
  }
  return stages_.front()->reconfigure(instances, std::move(owner));
}

std::optional<Snapshot> OplusRun::snapshot() const {
  if (threads_.over() || threads_.failed()) return std::nullopt;
  Snapshot result;
  result.time_ns = threads_.since_start();
  for (const auto& meter : threads_.meters()) result.busy_ns.push_back(meter->busy_ns());
  stages_.front()->look(result);
  return result;
}

std::int64_t OplusRun::rows() const noexcept {
  std::int64_t total = 0;
  for (std::int32_t i = 0; i < options_.most_instances; ++i) total += stages_.back()->outputs(i).rows();
  return total;
}

void OplusRun::collect(std::span<void* const> columns) const {
  std::vector<const OutputBuffer*> buffers;
  for (std::int32_t i = 0; i < options_.most_instances; ++i) buffers.push_back(&stages_.back()->outputs(i));
  merge_outputs(buffers, columns);
}

std::vector<std::int64_t> OplusRun::latency_counts() const { return sum_counts(threads_, &Recorder::steady); }
std::vector<std::int64_t> OplusRun::warm_up_counts() const { return sum_counts(threads_, &Recorder::warm_up); }

std::vector<std::int64_t> OplusRun::service_counts() const { return sum_counts(threads_, &Recorder::service); }

std::vector<std::int64_t> OplusRun::lag_counts() const { return sum_lag(generator_.get()); }

std::vector<Progress> OplusRun::progress() const { return sum_progress(threads_, generator_.get()); }

std::vector<std::vector<LoadStep>> OplusRun::load_steps() const {
  std::vector<std::vector<LoadStep>> result;
  for (const auto& meter : threads_.meters()) result.push_back(meter->steps());
  return result;
}

Counters OplusRun::counters() const noexcept {
  Counters total;
  for (const auto& stage : stages_) total.kernel_calls += stage->kernel_calls();
  for (const auto& meter : threads_.meters()) {
    total.sleeps += meter->counters.sleeps;
    total.yields += meter->counters.yields;
  }
  return total;
}

}  // namespace lab
