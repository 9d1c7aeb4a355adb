// Builds the query graph of a LayersRun: threads, links and logs; see layers/layers_run.h.
#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "layers/layers_run.h"

namespace lab {
namespace {

// Maximum number of runs that the reader of an ordered log may lag behind.
constexpr std::int64_t kLogEntries = 1 << 13;

// Item sizes of rows that are sent as row numbers (RowNumber in layers/route.h).
constexpr std::int32_t kTimeSize = 8;
constexpr std::int32_t kNumberSize = 8;

}  // namespace

// Returns the levels of the graph behind the injectors: the instances of each operator, then the sinks.
std::vector<LayersRun::Level> LayersRun::levels() const {
  std::vector<Level> result;
  if (operator_) {
    result.push_back({nullptr, true, options_.workers, {kTimeSize, kNumberSize}});
    result.push_back({nullptr, false, options_.workers, operator_->itemsizes});
    return result;
  }
  std::vector<std::int32_t> itemsizes = options_.input_itemsizes;
  std::int32_t consumers = 1;
  for (const StageSpec& stage : stages_) {
    consumers = stage.kind == StageSpec::Kind::kStateful ? 1 : options_.workers;
    result.push_back({&stage, false, consumers, itemsizes});
    itemsizes = stage.itemsizes;
  }
  result.push_back({nullptr, false, consumers, itemsizes});  // one sink for each instance of the last operator
  return result;
}

// Returns the length of a slice of event time that holds about `unit_` input records.
std::uint64_t LayersRun::slice_width() const noexcept {
  std::int64_t rows = 0;
  std::int64_t first = kEndOfTime;
  std::int64_t last = std::numeric_limits<std::int64_t>::min();
  for (const StreamView& view : views()) {
    if (view.ts.empty()) continue;
    rows += view.size();
    first = std::min(first, view.ts.front());
    last = std::max(last, view.ts.back());
  }
  if (rows == 0) return 1;
  const double span = static_cast<double>(last) - static_cast<double>(first);
  const double width = span / static_cast<double>(rows) * static_cast<double>(unit_);
  return static_cast<std::uint64_t>(std::clamp(width, 1.0, 1e18));
}

// Returns the event time at the end of an operator O+'s input, or nullopt if the input is empty.
std::optional<std::int64_t> LayersRun::last_time() const noexcept {
  std::optional<std::int64_t> last;
  for (const StreamView& view : views()) {
    if (!view.ts.empty()) last = std::max(last.value_or(view.ts.back()), view.ts.back());
  }
  if (last) last = std::max(*last, operator_->final_watermark.value_or(*last));
  return last;
}

void LayersRun::prepare() {
  if (stages_.empty() && !operator_) throw std::logic_error("a query graph needs an operator");
  slice_width_ = slice_width();
  const std::vector<Level> graph_levels = levels();
  std::size_t count = views().size();
  std::size_t producers = views().size();
  for (const Level& level : graph_levels) {
    const auto consumers = static_cast<std::size_t>(level.consumers);
    count += consumers;
    if (options_.determinism == Determinism::kOperator && producers > 1) count += consumers;
    producers = consumers;
  }
  make_threads(static_cast<std::int32_t>(count), "thread");
  places_.reserve(count);
  std::vector<std::int32_t> ids = add_injectors();
  for (std::size_t index = 0; index < graph_levels.size(); ++index) ids = add_level(graph_levels, index, ids);
}

// Adds a thread and returns its index.
std::int32_t LayersRun::add(Part part, std::unique_ptr<LayerNode> node) {
  Place& place = places_.emplace_back();
  place.part = part;
  place.node = std::move(node);
  return static_cast<std::int32_t>(places_.size()) - 1;
}

// Adds an injector for each stream and returns their threads.
std::vector<std::int32_t> LayersRun::add_injectors() {
  std::vector<std::int32_t> ids;
  for (std::size_t i = 0; i < views().size(); ++i) {
    Feed* const feed = options_.load ? &feeds()[i] : nullptr;
    WorkMeter& meter = threads().meter(static_cast<std::int32_t>(places_.size()));
    auto injector = std::make_unique<LayerInjector>(meter, stamps_, unit_, views()[i], options_.batch, feed,
                                                    operator_ ? std::vector<std::int32_t>() : options_.input_itemsizes);
    injectors_.push_back(injector.get());
    ids.push_back(add(Part::kInjector, std::move(injector)));
  }
  return ids;
}

// Adds consumer `number` of level `index` and returns its thread.
std::int32_t LayersRun::add_consumer(const Level& level, std::size_t index, std::int32_t number) {
  WorkMeter& meter = threads().meter(static_cast<std::int32_t>(places_.size()));
  const bool every_time = options_.load.has_value();
  if (level.is_operator) {
    auto instance = std::make_unique<LayerOperator>(meter, stamps_, unit_, every_time, number, *operator_, streams_,
                                                    last_time(), threads().failure(), options_.spill_rows);
    operators_.push_back(instance.get());
    return add(Part::kInstance, std::move(instance));
  }
  if (level.stage == nullptr) {
    if (pool_ == nullptr) {
      pool_ = std::make_shared<OutputPool>(level.itemsizes);
      pool_->reserve(options_.reserved_rows, 0);
    }
    auto sink = std::make_unique<LayerSink>(meter, stamps_, unit_, every_time, number, pool_);
    sinks_.push_back(sink.get());
    return add(Part::kSink, std::move(sink));
  }
  auto instance = std::make_unique<LayerInstance>(meter, stamps_, unit_, every_time, *level.stage,
                                                  level.itemsizes.size(), index == 0);
  if (index == 0) first_instances_.push_back(instance.get());
  return add(Part::kInstance, std::move(instance));
}

// Adds the consumers of level `index`, with mergers if needed, and links all producers to them. Returns their threads.
std::vector<std::int32_t> LayersRun::add_level(const std::vector<Level>& levels, std::size_t index,
                                               const std::vector<std::int32_t>& producers) {
  const Level& level = levels[index];
  std::vector<std::int32_t> itemsizes = level.itemsizes;
  itemsizes.insert(itemsizes.end(), stamps_, 8);
  const bool has_several_producers = producers.size() > 1;
  using Kind = LayerLink::Kind;
  Kind kind = has_several_producers ? Kind::kLogged : Kind::kQueue;
  if (options_.determinism == Determinism::kNone) kind = Kind::kUnordered;
  if (options_.determinism == Determinism::kOperator && has_several_producers) kind = Kind::kMerged;

  const std::int64_t acknowledged =
      options_.channels == Channels::kLog
          ? 0
          : std::max<std::int64_t>(1, options_.channel_rows / LayersOptions::kWatermarksPerChannel);

  std::vector<std::int32_t> ids;
  std::vector<std::vector<std::unique_ptr<LayerLink>>> links(producers.size());  // by producer, then consumer
  for (std::int32_t number = 0; number < level.consumers; ++number) {
    const std::int32_t id = add_consumer(level, index, number);
    ids.push_back(id);
    std::int32_t reader = id;
    if (kind == Kind::kMerged) {
      WorkMeter& meter = threads().meter(static_cast<std::int32_t>(places_.size()));
      reader = add(Part::kMerger, std::make_unique<LayerMerger>(meter, stamps_, unit_, options_.load.has_value()));
    }
    TupleBuffer* log = nullptr;
    if (kind == Kind::kLogged) {
      LogOptions options;
      options.readers = 1;
      options.entries = kLogEntries;
      options.rows_in_flight = options_.channel_rows;
      options.acknowledged_rows = acknowledged;
      logs_.push_back(make_tuple_buffer(kTupleBuffers[static_cast<std::size_t>(options_.channels)], options));
      log = logs_.back().get();
    } else {
      queues_ += static_cast<std::int64_t>(producers.size());
    }
    std::vector<LayerLink*> reader_links;
    for (std::size_t p = 0; p < producers.size(); ++p) {
      Spill spill(options_.spill_rows,
                  index == 0 ? "stream " + std::to_string(p) + ": " : error_prefix(levels[index - 1]));
      links[p].push_back(std::make_unique<LayerLink>(kind, itemsizes, options_.channel_rows, log, parker(producers[p]),
                                                     parker(reader), std::move(spill),
                                                     kind == Kind::kLogged ? acknowledged : 0));
      reader_links.push_back(links[p].back().get());
    }
    if (kind == Kind::kLogged) {
      attach_input(reader, std::make_unique<LogIn>(std::move(reader_links), *log));
    } else if (kind == Kind::kMerged) {
      if (options_.merge_unit == MergeUnit::kTuple) {
        attach_input(reader, std::make_unique<TupleMergeIn>(std::move(reader_links)));
      } else {
        attach_input(reader, std::make_unique<MergeIn>(std::move(reader_links)));
      }
      std::vector<std::unique_ptr<LayerLink>> merger_links;
      merger_links.push_back(std::make_unique<LayerLink>(Kind::kQueue, itemsizes, options_.channel_rows, nullptr,
                                                         parker(reader), parker(id)));
      ++queues_;
      attach_input(id, std::make_unique<QueueIn>(std::vector<LayerLink*>{merger_links.front().get()}));
      connect(reader, std::move(merger_links), level, index);
    } else {
      attach_input(reader, std::make_unique<QueueIn>(std::move(reader_links)));
    }
  }
  for (std::size_t p = 0; p < producers.size(); ++p) connect(producers[p], std::move(links[p]), level, index);
  return ids;
}

// Gives a producer its links to the consumers of a level, and the route that selects among them.
void LayersRun::connect(std::int32_t producer, std::vector<std::unique_ptr<LayerLink>> links, const Level& level,
                        std::size_t index) {
  auto& node = static_cast<LayerProducer&>(*places_[static_cast<std::size_t>(producer)].node);
  std::unique_ptr<LayerRoute> route = route_of(producer, links.size(), level, index);
  const bool merges_by_tuple =
      options_.merge_unit == MergeUnit::kTuple && places_[static_cast<std::size_t>(producer)].part == Part::kMerger;
  node.connect(std::make_unique<LayerOut>(parker(producer), threads(), threads().meter(producer).counters,
                                          std::move(links), unit_, options_.load.has_value() || merges_by_tuple),
               std::move(route));
}

std::unique_ptr<LayerRoute> LayersRun::route_of(std::int32_t producer, std::size_t consumers, const Level& level,
                                                std::size_t index) const {
  if (consumers == 1) return std::make_unique<RouteToOne>();
  if (level.is_operator) {
    if (operator_->spec.is_join()) return std::make_unique<RouteToAll>(consumers);
    // Injectors are the first threads.
    return std::make_unique<RouteByKeys>(streams_[static_cast<std::size_t>(producer)], operator_->owner.data(),
                                         consumers, operator_->spec.called());
  }
  if (level.stage != nullptr && level.stage->kind == StageSpec::Kind::kPartitioned) {
    return std::make_unique<RouteByKey>(*level.stage, consumers);
  }
  if (options_.dealing == Dealing::kTurn) return std::make_unique<RouteInTurn>(consumers);
  // Each level uses another hash; otherwise all outputs of an instance would go to one instance of the next level.
  return std::make_unique<RouteByTime>(slice_width_, static_cast<std::int64_t>(index), consumers);
}

void LayersRun::attach_input(std::int32_t consumer, std::unique_ptr<LayerIn> in) {
  Place& place = places_[static_cast<std::size_t>(consumer)];
  if (place.part == Part::kSink) {
    static_cast<LayerSink&>(*place.node).attach_input(std::move(in));
  } else {
    static_cast<LayerRelay&>(*place.node).attach_input(std::move(in));
  }
}

}  // namespace lab
