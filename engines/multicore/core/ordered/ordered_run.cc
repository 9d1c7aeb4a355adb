// Implements ordered/ordered_run.h, except the workers' loop (work.cc).
#include "ordered/ordered_run.h"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <utility>

namespace lab {
namespace {

// Without a load, the processing time of one unit per this many records is measured.
constexpr std::int64_t kTimedEvery = 64;
// The first and the last fifth of the records are not measured, because the start and the end of a run disturb them.
// Source: Scaling Ordered Stream Processing on Shared-Memory Multicores, section 8, "only markers in the 20th to 80th
// percentile range".
constexpr std::int64_t kUntimedDivisor = 5;

static_assert(RunSettings::kMaxWorkers <= IdleWorkers::kMost);

OrderedOptions checked(OrderedOptions options) {
  check(options);
  options.batch = std::min(options.batch, OrderedOptions::kMaxBatch);
  if (options.window < 1 || options.window > OrderedOptions::kMaxWindow) {
    throw std::invalid_argument("window must be between 1 and " + std::to_string(OrderedOptions::kMaxWindow));
  }
  options.window = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(options.window)));
  if (options.slice_ns < 1 || options.window_ns < 1)
    throw std::invalid_argument("slice_ns and window_ns must be at least 1");
  if (options.capacity < 0) throw std::invalid_argument("capacity must not be negative");
  if (options.capacity == 0) options.capacity = std::max<std::int64_t>(1, options.window * options.batch / 2);
  if (index_of("serials", kSerials, options.serials) != 0 && options.worklist == kWorklists.front()) {
    throw std::invalid_argument("serials=operator needs the worklist hybrid, partitioned or shared, not " +
                                options.worklist);
  }
  check_output(options.input_itemsizes);
  return options;
}

// Names and fields of the counters that `count` reports.
constexpr std::pair<const char*, std::int64_t OrderedCounts::*> kCounts[] = {
    {"kernel_calls", &OrderedCounts::kernel_calls},
    {"scheduler_decisions", &OrderedCounts::decisions},
    {"scheduler_ns", &OrderedCounts::decision_ns},
    {"scheduler_empty_polls", &OrderedCounts::empty_polls},
    {"reordering_adds", &OrderedCounts::adds},
    {"reordering_sends", &OrderedCounts::sends},
    {"reordering_found_taken", &OrderedCounts::found_taken},
    {"reordering_handed_over", &OrderedCounts::handed_over},
    {"reordering_refused", &OrderedCounts::refused},
    {"reordering_put_aside", &OrderedCounts::deferrals},
    {"groups_delegated", &OrderedCounts::delegated},
    {"groups_waited", &OrderedCounts::waits},
    {"bundles_split", &OrderedCounts::splits},
};

}  // namespace

OrderedRun::OrderedRun(OrderedOptions options)
    : options_(checked(std::move(options))),
      scheduler_(heuristic_of(options_.scheduler), options_.capacity, options_.slice_ns, options_.window_ns),
      units_(numbers_by_operator() ? 0 : static_cast<std::size_t>(options_.window)),
      idle_(options_.workers),
      slots_(static_cast<std::size_t>(options_.workers)) {
  make_threads(options_.workers, "worker");
}

void OrderedRun::add_stage(StageSpec spec) {
  if (started()) throw std::logic_error("add operators before start");
  if (stages_.size() == kMaxStages) {
    throw std::invalid_argument("a pipeline has at most " + std::to_string(kMaxStages) + " operators");
  }
  const std::size_t index = stages_.size();
  OrderedStage::Next& next = *this;
  auto stage = std::make_unique<OrderedStage>(std::move(spec), index, options_.load && options_.measure, next,
                                              scheduler_, threads().failure());
  Line line;
  using Kind = StageSpec::Kind;
  std::int32_t limit = options_.workers;
  const std::int64_t room = (numbers_by_operator() ? OperatorSerials::kWindows : 1) * options_.window;
  if (stage->partitioned()) {
    line.list = make_group_list(options_.worklist, room, stage->spec().partitions, options_.workers, index);
    limit = std::min(limit, line.list->bundles());
  } else {
    if (stage->spec().kind == Kind::kStateful) limit = 1;
    line.list = std::make_unique<UnitList>(room, options_.worklist == "homed" ? limit : 1, limit == 1);
  }
  if (!numbers_by_operator()) {
    line.exit = std::make_unique<Exit>(*this, index + 1);
    line.order = make_reordering(options_.reordering, options_.window, *line.exit);
  }
  scheduler_.add(*line.list, limit);
  stages_.push_back(std::move(stage));
  lines_.push_back(std::move(line));
}

std::int32_t OrderedRun::add_stream(StreamView stream) {
  if (views().size() == kMaxLogSources) {
    throw std::invalid_argument("a pipeline reads at most " + std::to_string(kMaxLogSources) + " streams");
  }
  if (stream.columns.size() != options_.input_itemsizes.size()) {
    throw std::invalid_argument("a stream has one column for each field of the input");
  }
  const StreamView& view = add_view(std::move(stream));
  add_feed(view);
  return view.index;
}

void OrderedRun::prepare() {
  if (stages_.empty()) throw std::logic_error("a pipeline needs an operator");
  const bool due = options_.load && options_.measure;
  OrderedEntry::Options entry;
  entry.batch = options_.batch;
  entry.itemsizes = options_.input_itemsizes;
  if (!due) {
    std::int64_t records = 0;
    for (const StreamView& view : views()) records += view.size();
    entry.timed_every = std::max<std::int64_t>(1, kTimedEvery / options_.batch);
    entry.timed_begin = records / kUntimedDivisor;
    entry.timed_end = records - records / kUntimedDivisor;
  }
  egress_ = std::make_unique<OrderedEgress>(stages_.back()->spec().itemsizes, due);
  egress_->reserve(options_.reserved_rows);
  if (numbers_by_operator()) {
    operator_serials_ = std::make_unique<OperatorSerials>(
        OperatorSerials::Options{options_.batch, options_.window,
                                 options_.workers > 1 && options_.workers <= options_.core_count, options_.reordering},
        OperatorSerials::Staff{scheduler_, idle_, threads().parkers()}, *egress_);
    for (std::size_t i = 0; i < stages_.size(); ++i) operator_serials_->add(*stages_[i], *lines_[i].list);
    for (std::vector<Unit>* units : operator_serials_->units()) touch(*units);
  } else if (stages_.front()->partitioned()) {
    front_.order = make_reordering(options_.reordering, options_.window, entrance_);
  }
  for (std::int32_t i = 0; i < options_.workers; ++i) {
    slots_[static_cast<std::size_t>(i)].worker =
        std::make_unique<OrderedWorker>(i, threads().meter(i).recorder, stages_.size());
  }
  touch(units_);
  const std::span<Unit> units = numbers_by_operator() ? operator_serials_->entry_units() : units_;
  entry_ = std::make_unique<OrderedEntry>(std::move(entry), units, feeds());
}

// Writes to the units' memory before the run, to avoid page faults during the run. In a virtual machine a page fault
// may stop a core for tens of milliseconds.
void OrderedRun::touch(std::vector<Unit>& units) {
  const auto width = [](std::span<const std::int32_t> itemsizes) {
    std::int64_t total = 0;
    for (const std::int32_t size : itemsizes) total += size;
    return total;
  };
  std::span<const std::int32_t> widest = options_.input_itemsizes;
  for (const auto& stage : stages_) {
    if (width(stage->spec().itemsizes) > width(widest)) widest = stage->spec().itemsizes;
  }
  std::int64_t records = 0;  // maximum number of records of a unit when it is admitted
  for (const StreamView& view : views()) records += view.size();
  records = std::min(records, options_.batch);
  const bool has_groups = records > 1 && std::any_of(stages_.begin(), stages_.end(),
                                                     [](const auto& stage) { return stage->partitioned(); });
  for (Unit& unit : units) {
    for (std::size_t b = 0; b < (has_groups ? unit.buffers.size() : Unit::parts); ++b) {
      unit.buffers[b].shape(widest, records);
      unit.buffers[b].touch();
    }
  }
}

std::vector<const OutputBuffer*> OrderedRun::outputs() const {
  return egress_ ? std::vector<const OutputBuffer*>{&egress_->outputs()} : std::vector<const OutputBuffer*>();
}

std::vector<std::int64_t> OrderedRun::processing_counts() const {
  std::vector<const Histogram*> all;
  for (const Slot& slot : slots_) all.push_back(&slot.worker->processing);
  return sum_counts(all);
}

OrderedCounts OrderedRun::counts() const noexcept {
  OrderedCounts total;
  for (const Slot& slot : slots_) {
    for (const auto& [name, field] : kCounts) total.*field += slot.worker->counts.*field;
    total.events += slot.worker->counts.events;
  }
  return total;
}

void OrderedRun::count(Counts& into) const {
  const OrderedCounts total = counts();
  for (const auto& [name, field] : kCounts) into.emplace_back(name, total.*field);
  into.emplace_back("window_units", window());
}

}  // namespace lab
