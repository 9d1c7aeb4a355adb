#include "ordered/ordered_run.h"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <utility>

#include "run/clock.h"

namespace lab {
namespace {

// Units of more records would only take longer to come out: what a unit costs is spread over these.
constexpr std::int64_t kMostBatch = std::int64_t{1} << 16;
constexpr std::int64_t kMostWindow = std::int64_t{1} << 16;

// Without a load, one unit in so many records says how long it has taken.
constexpr std::int64_t kTimedEvery = 64;

OrderedOptions checked(OrderedOptions options) {
  if (options.workers < 1 || options.workers > IdleWorkers::kMost) {
    throw std::invalid_argument("workers must be between 1 and " + std::to_string(IdleWorkers::kMost));
  }
  if (options.batch < 1) throw std::invalid_argument("batch must be at least 1");
  options.batch = std::min(options.batch, kMostBatch);
  if (options.window < 1 || options.window > kMostWindow) {
    throw std::invalid_argument("window must be between 1 and " + std::to_string(kMostWindow));
  }
  options.window = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(options.window)));
  if (options.slice_ns < 1 || options.window_ns < 1) throw std::invalid_argument("times must be at least 1 ns");
  if (options.capacity < 0) throw std::invalid_argument("capacity must be at least 1");
  if (options.capacity == 0) options.capacity = std::max<std::int64_t>(1, options.window * options.batch / 2);
  if (options.grid_steps < 1) throw std::invalid_argument("grid_steps must be at least 1");
  check_ring_blocks(options.ring_blocks);
  check_output(options.input_itemsizes);
  if (options.load) check_load(*options.load);
  return options;
}

std::unique_ptr<Heuristic> heuristic_of(const OrderedOptions& options) {
  return make_heuristic(options.scheduler,
                        {static_cast<double>(options.slice_ns), static_cast<double>(options.capacity)});
}

}  // namespace

OrderedRun::OrderedRun(OrderedOptions options)
    : options_(checked(std::move(options))),
      threads_(options_.workers, options_.oversubscribed, options_.measure, options_.grid_steps),
      scheduler_(heuristic_of(options_), options_.slice_ns, options_.window_ns),
      units_(static_cast<std::size_t>(options_.window)),
      slots_(static_cast<std::size_t>(options_.workers)) {
  if (!options_.load) return;
  generator_ = std::make_unique<Generator>(*options_.load, options_.spare_core, options_.measure, options_.grid_steps);
}

void OrderedRun::add_stage(StageSpec spec) {
  if (run_threads_.started()) throw std::logic_error("add operators before start");
  if (stages_.size() == kMostStages) {
    throw std::invalid_argument("a pipeline has at most " + std::to_string(kMostStages) + " operators");
  }
  const std::size_t index = stages_.size();
  OrderedStage::Next& next = *this;
  auto stage = std::make_unique<OrderedStage>(std::move(spec), index, options_.load && options_.measure, next,
                                               scheduler_, threads_.failure());
  Line line;
  using Kind = StageSpec::Kind;
  std::int32_t limit = options_.workers;
  if (stage->partitioned()) {
    line.list = make_group_list(options_.worklist, options_.window, stage->spec().partitions, options_.workers, index);
    limit = std::min(limit, stage->spec().partitions);
  } else {
    if (stage->spec().kind == Kind::kStateful) limit = 1;
    line.list = std::make_unique<UnitList>(options_.window, options_.worklist == "homed" ? limit : 1);
  }
  line.exit = std::make_unique<Exit>(*this, index + 1);
  line.order = make_reordering(options_.reordering, options_.window, *line.exit);
  scheduler_.add(*line.list, limit);
  stages_.push_back(std::move(stage));
  lines_.push_back(std::move(line));
}

std::int32_t OrderedRun::add_stream(StreamView stream) {
  if (run_threads_.started()) throw std::logic_error("add streams before start");
  const bool due = options_.load.has_value();
  check_stream(stream, sources_.size(), due);
  if (sources_.size() == kMaxLogSources) {
    throw std::invalid_argument("a pipeline reads at most " + std::to_string(kMaxLogSources) + " streams");
  }
  if (stream.columns.size() != options_.input_itemsizes.size()) {
    throw std::invalid_argument("a stream has one column for each field of the input");
  }
  stream.index = static_cast<std::int32_t>(sources_.size());
  views_.push_back(std::move(stream));
  const StreamView& view = views_.back();
  sources_.push_back(std::make_unique<Source>(view, options_.batch, options_.ring_blocks,
                                              due && options_.load->whole_blocks, false));
  Source* source = sources_.back().get();
  Feed& feed = feeds_.emplace_back();
  feed.source = source;
  feed.reader = source->ring.add_reader();
  feed.pumped = !due;
  return view.index;
}

void OrderedRun::start() {
  if (stages_.empty()) throw std::logic_error("a pipeline needs an operator");
  run_threads_.claim();
  set_up();
  RunThreads::Plan plan;
  plan.count = options_.workers;
  plan.cores = options_.cores;
  plan.called = "worker";
  plan.body = [this](std::int32_t index) { work(index); };
  plan.fail = [this] { threads_.fail(); };
  if (generator_) {
    generator_->feed_everybody(sources_, options_.workers);
    plan.beside = [this] { generator_->run(threads_.start_ns(), threads_.parkers(), threads_.failure()); };
  }
  run_threads_.start(std::move(plan));
}

void OrderedRun::set_up() {
  const bool due = options_.load && options_.measure;
  OrderedEntry::Options entry;
  entry.batch = options_.batch;
  entry.itemsizes = options_.input_itemsizes;
  entry.timed_every = due ? 1 : std::max<std::int64_t>(1, kTimedEvery / options_.batch);
  entry_ = std::make_unique<OrderedEntry>(std::move(entry), units_, feeds_);
  egress_ = std::make_unique<OrderedEgress>(stages_.back()->spec().itemsizes, due);
  egress_->reserve(options_.reserved_rows);
  if (stages_.front()->partitioned()) {
    front_.order = make_reordering(options_.reordering, options_.window, entrance_);
  }
  for (std::int32_t i = 0; i < options_.workers; ++i) {
    slots_[static_cast<std::size_t>(i)].worker =
        std::make_unique<OrderedWorker>(i, threads_.meter(i).recorder, stages_.size());
  }
  touch_units();
}

// Fresh memory costs page faults, which in a virtual machine may stop a core for tens of milliseconds.
void OrderedRun::touch_units() {
  const auto width = [](std::span<const std::int32_t> itemsizes) {
    std::int64_t total = 0;
    for (const std::int32_t size : itemsizes) total += size;
    return total;
  };
  std::span<const std::int32_t> widest = options_.input_itemsizes;
  for (const auto& stage : stages_) {
    if (width(stage->spec().itemsizes) > width(widest)) widest = stage->spec().itemsizes;
  }
  std::int64_t records = 0;  // no unit enters with more
  for (const StreamView& view : views_) records += view.size();
  records = std::min(records, options_.batch);
  const bool grouped = records > 1 && std::any_of(stages_.begin(), stages_.end(),
                                                  [](const auto& stage) { return stage->partitioned(); });
  for (Unit& unit : units_) {
    for (std::size_t b = 0; b < (grouped ? unit.buffers.size() : Unit::parts); ++b) {
      unit.buffers[b].shape(widest, records);
      unit.buffers[b].touch();
    }
  }
}

std::int64_t OrderedRun::run() {
  if (!run_threads_.started()) start();
  return run_threads_.run([this](std::int64_t begin_ns) {
    threads_.begin(begin_ns, options_.load ? options_.load->warm_up_ns : 0);
    egress_->begin(begin_ns);
  });
}

void OrderedRun::collect(std::span<void* const> columns) const {
  const OutputBuffer* all[] = {&egress_->outputs()};
  merge_outputs(all, columns);
}

std::vector<std::int64_t> OrderedRun::latency_counts() const { return sum_counts(threads_, &Recorder::steady); }
std::vector<std::int64_t> OrderedRun::warm_up_counts() const { return sum_counts(threads_, &Recorder::warm_up); }
std::vector<std::int64_t> OrderedRun::service_counts() const { return sum_counts(threads_, &Recorder::service); }

std::vector<std::int64_t> OrderedRun::processing_counts() const {
  std::vector<const Histogram*> all;
  for (const Slot& slot : slots_) all.push_back(&slot.worker->processing);
  return sum_counts(all);
}

std::vector<std::int64_t> OrderedRun::lag_counts() const { return sum_lag(generator_.get()); }

std::vector<Progress> OrderedRun::progress() const { return sum_progress(threads_, generator_.get()); }

OrderedCounts OrderedRun::counts() const noexcept {
  OrderedCounts total;
  for (const Slot& slot : slots_) {
    const OrderedCounts& one = slot.worker->counts;
    for (const auto field :
         {&OrderedCounts::kernel_calls, &OrderedCounts::adds, &OrderedCounts::sends, &OrderedCounts::found_taken,
          &OrderedCounts::handed_over, &OrderedCounts::delegated, &OrderedCounts::decisions,
          &OrderedCounts::decision_ns, &OrderedCounts::vain_looks, &OrderedCounts::waits}) {
      total.*field += one.*field;
    }
  }
  return total;
}

Counters OrderedRun::sleeps_and_yields() const noexcept {
  Counters total;
  for (const auto& meter : threads_.meters()) {
    total.sleeps += meter->counters.sleeps;
    total.yields += meter->counters.yields;
  }
  return total;
}

}  // namespace lab
