#include "operator_runtime.h"

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <utility>

#include "clock.h"
#include "run_parts.h"

namespace lab {
namespace {

OperatorOptions checked(OperatorOptions options) {
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

// How errors of an operator begin.
std::string called(const OperatorStage& stage) {
  const std::string& name = stage.spec().name;
  return name.empty() ? name : "operator " + name + ": ";
}

}  // namespace

OperatorRuntime::OperatorRuntime(OperatorOptions options, const OperatorSpec& spec)
    : options_(checked(std::move(options))),
      threads_(options_.most_instances, options_.oversubscribed, options_.measure, options_.grid_steps),
      workers_(static_cast<std::size_t>(options_.most_instances)) {
  if (options_.shared_nothing && spec.is_join()) {
    throw std::invalid_argument("shared-nothing instances run keyed operators");
  }
  stages_.push_back(std::make_unique<OperatorStage>(options_, threads_, spec, options_.output_itemsizes));
  if (!options_.load) return;
  generator_ = std::make_unique<Generator>(*options_.load, options_.spare_core, options_.measure, options_.grid_steps);
}

OperatorRuntime::~OperatorRuntime() {
  if (go_ != nullptr) abandon();
}

void OperatorRuntime::add_operator(const OperatorSpec& spec, ProcessKernel process,
                                   std::vector<std::int32_t> output_itemsizes) {
  if (go_ != nullptr) throw std::logic_error("add operators before start");
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

std::int32_t OperatorRuntime::add_stream(StreamView stream, std::int32_t input, ProcessKernel kernel,
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

void OperatorRuntime::map(std::vector<std::int32_t> owner, std::size_t op) {
  if (op >= stages_.size()) throw std::invalid_argument("there is no operator " + std::to_string(op));
  stages_[op]->map(std::move(owner));
}

void OperatorRuntime::start() {
  if (go_ != nullptr) throw std::logic_error("a runtime starts once");
  for (const auto& stage : stages_) {
    if (!stage->mapped()) throw std::logic_error("map before start");
  }
  start_stages();
  go_ = std::make_unique<std::latch>(1);
  try {
    for (std::int32_t i = 0; i < options_.most_instances; ++i) {
      workers_[static_cast<std::size_t>(i)].thread = std::thread([this, i] { work(i); });
    }
    if (generator_) {
      std::vector<std::int32_t> everybody;
      for (std::int32_t i = 0; i < options_.most_instances; ++i) everybody.push_back(i);
      for (const auto& source : sources_) generator_->add(source.get(), everybody);
      generator_thread_ = std::thread([this] {
        go_->wait();
        generator_->run(threads_.start_ns(), threads_.parkers(), threads_.failure());
      });
    }
  } catch (...) {
    abandon();
    throw;
  }
}

void OperatorRuntime::start_stages() {
  InputTimes input;
  input.streams = streams_;
  if (any_) input.end = options_.end_watermark.value_or(last_ts_);
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

void OperatorRuntime::abandon() {
  if (!workers_.front().thread.joinable()) return;
  threads_.fail();
  go_->count_down();
  join();
}

void OperatorRuntime::join() {
  for (Worker& worker : workers_) {
    if (worker.thread.joinable()) worker.thread.join();
  }
  if (generator_thread_.joinable()) generator_thread_.join();
}

std::int64_t OperatorRuntime::run() {
  if (go_ == nullptr) start();
  if (!workers_.front().thread.joinable()) throw std::logic_error("a runtime runs once");
  const std::int64_t begin = now_ns();
  threads_.begin(begin, options_.load ? options_.load->warm_up_ns : 0);
  go_->count_down();  // release: publishes the above; pairs with the waits
  join();
  const std::int64_t finish = now_ns();
  for (const Worker& worker : workers_) {
    if (!worker.error.empty()) throw std::runtime_error(worker.error);
  }
  for (const auto& stage : stages_) {
    std::int64_t refused = 0;
    for (std::int32_t i = 0; i < options_.most_instances; ++i) refused += stage->outputs(i).refused();
    if (refused == 0) continue;
    throw std::runtime_error(called(*stage) + "functions emitted " + std::to_string(refused) +
                             " records beyond max_outputs; raise it in the operator");
  }
  return finish - begin;
}

void OperatorRuntime::fail(std::int32_t index, const std::string& what) noexcept {
  workers_[static_cast<std::size_t>(index)].error = "instance " + std::to_string(index) + ": " + what;
  threads_.fail();
  stages_.front()->wake_waiter();
}

void OperatorRuntime::work(std::int32_t index) {
  pin_thread(options_.cores, index);
  go_->wait();
  try {
    Backoff backoff = threads_.backoff();
    while (!threads_.failed() && !threads_.over()) {
      if (turn(index)) {
        backoff.reset();
        continue;
      }
      switch (backoff.next()) {
        case Backoff::Step::kSpin:
          spin_pause();
          break;
        case Backoff::Step::kYield:
          ++threads_.meter(index).counters.yields;
          std::this_thread::yield();
          break;
        case Backoff::Step::kSleep: {
          Parker& parker = threads_.place(index, stages_.front()->active(index));
          const std::uint32_t ticket = parker.prepare();
          if (turn(index) || threads_.over() || threads_.failed()) {
            parker.cancel();
          } else {
            ++threads_.meter(index).counters.sleeps;
            parker.commit(ticket);
          }
          break;
        }
      }
    }
  } catch (const std::exception& error) {
    fail(index, error.what());
  }
}

bool OperatorRuntime::turn(std::int32_t index) {
  for (auto stage = stages_.rbegin(); stage != stages_.rend(); ++stage) {
    try {
      if ((*stage)->turn(index)) return true;
    } catch (const std::exception& error) {
      throw std::runtime_error(called(**stage) + error.what());
    }
  }
  return false;
}

std::int64_t OperatorRuntime::reconfigure(std::int32_t instances, std::vector<std::int32_t> owner) {
  if (stages_.size() != 1) {
    throw std::invalid_argument("the number of instances of several operators is fixed");
  }
  return stages_.front()->reconfigure(instances, std::move(owner));
}

std::optional<Snapshot> OperatorRuntime::snapshot() const {
  if (threads_.over() || threads_.failed()) return std::nullopt;
  Snapshot result;
  result.time_ns = threads_.since_start();
  for (const auto& meter : threads_.meters()) result.busy_ns.push_back(meter->busy_ns());
  stages_.front()->look(result);
  return result;
}

std::int64_t OperatorRuntime::rows() const noexcept {
  std::int64_t total = 0;
  for (std::int32_t i = 0; i < options_.most_instances; ++i) total += stages_.back()->outputs(i).rows();
  return total;
}

void OperatorRuntime::collect(std::span<void* const> columns) const {
  std::vector<const OutputBuffer*> buffers;
  for (std::int32_t i = 0; i < options_.most_instances; ++i) buffers.push_back(&stages_.back()->outputs(i));
  merge_outputs(buffers, columns);
}

std::vector<std::int64_t> OperatorRuntime::latency_counts() const { return sum_counts(threads_, &Recorder::steady); }
std::vector<std::int64_t> OperatorRuntime::warm_up_counts() const { return sum_counts(threads_, &Recorder::warm_up); }

std::vector<std::int64_t> OperatorRuntime::service_counts() const { return sum_counts(threads_, &Recorder::service); }

std::vector<std::int64_t> OperatorRuntime::lag_counts() const {
  return generator_ ? generator_->lag().counts() : std::vector<std::int64_t>{};
}

std::vector<Progress> OperatorRuntime::progress() const { return sum_progress(threads_, generator_.get()); }

std::vector<std::vector<LoadStep>> OperatorRuntime::load_steps() const {
  std::vector<std::vector<LoadStep>> result;
  for (const auto& meter : threads_.meters()) result.push_back(meter->steps());
  return result;
}

Counters OperatorRuntime::counters() const noexcept {
  Counters total;
  for (const auto& stage : stages_) total.kernel_calls += stage->kernel_calls();
  for (const auto& meter : threads_.meters()) {
    total.sleeps += meter->counters.sleeps;
    total.yields += meter->counters.yields;
  }
  return total;
}

}  // namespace lab
