// Implements the run of a dataflow graph; see dataflow/dataflow_run.h.
#include "dataflow/dataflow_run.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace lab {
namespace {

DataflowOptions checked(DataflowOptions options) {
  check(options);
  if (options.link_rows < 1 || options.link_rows > DataflowOptions::kMaxLinkRows) {
    throw std::invalid_argument("link_rows must be between 1 and " + std::to_string(DataflowOptions::kMaxLinkRows));
  }
  const Markers& markers = options.markers;
  if (markers.period < 1 || markers.count < 0)
    throw std::invalid_argument("markers need a period of at least 1 and a count of at least 0");
  return options;
}

}  // namespace

DataflowRun::DataflowRun(DataflowOptions options)
    : options_(checked(std::move(options))), workers_(static_cast<std::size_t>(options_.workers)) {
  make_threads(options_.workers, "worker");
}

void DataflowRun::add_vertex(FlowSpec spec) {
  if (started()) throw std::logic_error("add vertices before start");
  using Kind = FlowSpec::Kind;
  const std::string where = spec.called();
  check_output(spec.itemsizes);
  if (spec.degree < 1 || spec.degree > options_.workers) {
    throw std::invalid_argument(where + "degree " + std::to_string(spec.degree) +
                                " must be between 1 and the number of workers, " + std::to_string(options_.workers));
  }
  if (spec.initial_state && spec.degree != 1)
    throw std::invalid_argument(where + "only a vertex of degree 1 can resume from a state");
  if (spec.max_outputs < 1) throw std::invalid_argument(where + "max_outputs must be at least 1");
  const bool has_no_function = spec.kind == Kind::kSource || spec.kind == Kind::kSort;
  if (has_no_function != (spec.items == nullptr)) {
    throw std::invalid_argument(where + "every vertex but sources and SORT has a function for items");
  }
  if (spec.keyed && spec.itemsizes.size() < 2)
    throw std::invalid_argument(where + "a keyed vertex needs a second column, its key");
  if (spec.kind == Kind::kSort) {
    const std::size_t columns = spec.itemsizes.size();
    if (spec.fields.size() != columns || spec.order.size() != columns || spec.descending.size() != columns) {
      throw std::invalid_argument(where + "SORT needs `fields`, `order` and `descending` for each of its columns");
    }
  }
  if ((spec.kind == Kind::kSource) != spec.inputs.empty()) {
    throw std::invalid_argument(where + "a source has no inputs, and every other vertex has at least one");
  }
  for (const std::int32_t input : spec.inputs) {
    if (input < 0 || static_cast<std::size_t>(input) >= specs_.size()) {
      throw std::invalid_argument(where + "input " + std::to_string(input) +
                                  " does not exist; add a vertex after its inputs");
    }
    if (specs_[static_cast<std::size_t>(input)].is_answer) {
      throw std::invalid_argument(where + "input " + std::to_string(input) +
                                  " belongs to the answer, so no vertex can read it");
    }
  }
  if (spec.route == FlowSpec::Route::kForward && !spec.inputs.empty() &&
      (spec.inputs.size() != 1 || specs_[static_cast<std::size_t>(spec.inputs[0])].degree != spec.degree)) {
    throw std::invalid_argument(where + "route forward needs one input, of the same degree");
  }
  specs_.push_back(std::move(spec));
}

std::int32_t DataflowRun::add_stream(StreamView stream, std::int32_t vertex) {
  if (vertex < 0 || static_cast<std::size_t>(vertex) >= specs_.size() ||
      specs_[static_cast<std::size_t>(vertex)].kind != FlowSpec::Kind::kSource) {
    throw std::invalid_argument("vertex " + std::to_string(vertex) + " is not a source; streams belong to sources");
  }
  if (stream.columns.size() != specs_[static_cast<std::size_t>(vertex)].itemsizes.size()) {
    throw std::invalid_argument("a stream needs one column for each field of its source");
  }
  const StreamView& view = add_view(std::move(stream));
  if (options_.load) add_feed(view);  // at full speed, readers read the columns directly
  vertex_of_.push_back(vertex);
  return view.index;
}

FlowSpec::KeyedState DataflowRun::state(std::int32_t vertex) const {
  const auto index = static_cast<std::size_t>(vertex);
  if (specs_.at(index).degree != 1) throw std::logic_error("a vertex with several instances cannot be resumed");
  return workers_.front().instances.at(index)->state();
}

void DataflowRun::prepare() {
  if (specs_.empty() || !specs_.back().is_answer)
    throw std::logic_error("the last vertex of a graph must belong to the answer");
  const auto has_columns_of_answer = [this](const FlowSpec& spec) {
    return !spec.is_answer || spec.itemsizes == specs_.back().itemsizes;
  };
  if (!std::all_of(specs_.begin(), specs_.end(), has_columns_of_answer))
    throw std::logic_error("all vertices of the answer must have the same columns");
  const bool has_due = options_.load && options_.measure;
  std::int64_t largest = 1;  // maximum number of outputs of one call
  for (const FlowSpec& spec : specs_) largest = std::max(largest, spec.is_answer ? spec.max_outputs : 1);
  pool_ = std::make_shared<OutputPool>(specs_.back().itemsizes, largest);
  pool_->reserve(options_.reserved_rows, largest);
  std::int32_t number = 0;
  for (std::size_t w = 0; w < workers_.size(); ++w) {
    Worker& worker = workers_[w];
    const auto index = static_cast<std::int32_t>(w);
    for (const FlowSpec& spec : specs_) {
      worker.instances.push_back(nullptr);
      if (index >= spec.degree) continue;
      worker.instances.back() = std::make_unique<FlowInstance>(spec, options_.markers, threads().meter(index),
                                                               threads().failure(), index, has_due);
    }
    for (const auto& instance : worker.instances) {
      if (instance != nullptr && instance->spec().is_answer) instance->set_output(pool_, number++);
    }
  }
  for (std::size_t v = 0; v < specs_.size(); ++v) connect(v);
  if (has_due) set_known_times();
  for (Worker& worker : workers_) std::reverse(worker.links.begin(), worker.links.end());
}

// Sets the times at which each instance knows each marker: when all streams upstream of the instance have passed it.
void DataflowRun::set_known_times() {
  using Streams = std::set<std::int32_t>;
  std::vector<std::vector<Streams>> upstream(specs_.size(), std::vector<Streams>(workers_.size()));
  for (std::size_t v = 0; v < specs_.size(); ++v) {
    const FlowSpec& spec = specs_[v];
    for (std::size_t w = 0; w < static_cast<std::size_t>(spec.degree); ++w) {
      Streams& streams = upstream[v][w];
      for (std::size_t s = 0; s < views().size(); ++s) {
        const bool reads =
            vertex_of_[s] == static_cast<std::int32_t>(v) && readers_of(s)[0] == static_cast<std::int32_t>(w);
        if (reads) streams.insert(static_cast<std::int32_t>(s));
      }
      for (const std::int32_t input : spec.inputs) {
        const auto& inputs = upstream[static_cast<std::size_t>(input)];
        for (std::size_t from = 0; from < inputs.size(); ++from) {
          if (spec.route != FlowSpec::Route::kForward || from == w)
            streams.insert(inputs[from].begin(), inputs[from].end());
        }
      }
      const auto [known_times, is_new] = known_times_.try_emplace(streams);
      if (is_new) {
        std::vector<const StreamView*> stream_views;
        for (const std::int32_t s : streams) stream_views.push_back(&views()[static_cast<std::size_t>(s)]);
        known_times->second = options_.markers.known_times_ns(stream_views);
      }
      workers_[w].instances[v]->set_known_times(known_times->second);
    }
  }
}

// Connects a vertex to its inputs.
void DataflowRun::connect(std::size_t vertex) {
  const FlowSpec& spec = specs_[vertex];
  if (spec.route == FlowSpec::Route::kForward && !spec.inputs.empty()) {
    for (Worker& worker : workers_) {
      FlowInstance* const from = worker.instances[static_cast<std::size_t>(spec.inputs[0])].get();
      if (from != nullptr) from->add_reader(*worker.instances[vertex]);
    }
    layouts_for(vertex);
    return;
  }
  for (std::size_t w = 0; w < workers_.size(); ++w) {
    Worker& worker = workers_[w];
    if (worker.instances[vertex] == nullptr) continue;
    FlowInstance& instance = *worker.instances[vertex];
    worker.roots.push_back(&instance);
    if (spec.kind != FlowSpec::Kind::kSource) {
      worker.links.push_back(std::make_unique<FlowLinkReader>(instance, options_.markers, options_.aligned));
      continue;
    }
    const bool has_due = options_.load && options_.measure;
    auto& reader = worker.streams.emplace_back(std::make_unique<FlowStreamReader>(
        instance, options_.markers, threads().meter(static_cast<std::int32_t>(w)), has_due));
    for (std::size_t s = 0; s < views().size(); ++s) {
      if (vertex_of_[s] != static_cast<std::int32_t>(vertex) || readers_of(s)[0] != static_cast<std::int32_t>(w))
        continue;
      reader->add(views()[s], options_.batch, options_.load ? &feeds()[s] : nullptr);
    }
  }
  std::shared_ptr<KeyOwners> owners;
  if (spec.route == FlowSpec::Route::kHash && spec.degree > 1) owners = std::make_shared<KeyOwners>(spec.degree);
  const std::shared_ptr<WordLayouts> layouts = layouts_for(vertex);
  for (const std::int32_t input : spec.inputs) exchange(static_cast<std::size_t>(input), vertex, owners, layouts);
}

// Makes the word layouts for the rows of a SORT and passes them to its instances. Returns null if the vertex is not a
// SORT or if its rows cannot be packed.
std::shared_ptr<WordLayouts> DataflowRun::layouts_for(std::size_t vertex) {
  const FlowSpec& spec = specs_[vertex];
  if (spec.kind != FlowSpec::Kind::kSort || !options_.aligned || !WordLayouts::can_pack(spec)) return nullptr;
  auto layouts = std::make_shared<WordLayouts>(spec, options_.markers);
  for (Worker& worker : workers_) {
    FlowInstance* const instance = worker.instances[vertex].get();
    if (instance != nullptr) instance->pack_by(layouts, spec.route == FlowSpec::Route::kForward);
  }
  return layouts;
}

// Links each instance of one vertex with each instance of another.
void DataflowRun::exchange(std::size_t from, std::size_t to, const std::shared_ptr<KeyOwners>& owners,
                           const std::shared_ptr<WordLayouts>& layouts) {
  const bool has_due = options_.load && options_.measure;
  const auto parkers = threads().parkers();
  for (std::size_t w = 0; w < workers_.size(); ++w) {
    FlowInstance* const producer = workers_[w].instances[from].get();
    if (producer == nullptr) continue;
    const auto links_of = [&](std::span<const std::int32_t> itemsizes, bool has_words) {
      FlowLinks links;
      for (std::size_t r = 0; r < static_cast<std::size_t>(specs_[to].degree); ++r) {
        links.push_back(
            std::make_unique<FlowLink>(itemsizes, options_.link_rows, has_due && !has_words, parkers[w], parkers[r]));
        static_cast<FlowLinkReader&>(*workers_[r].links.back()).add(*links.back(), has_words);
      }
      return links;
    };
    FlowInstance::Exchange exchange{links_of(specs_[from].itemsizes, false), specs_[to].route, owners};
    if (layouts != nullptr) {
      static constexpr std::int32_t kWord[] = {sizeof(std::uint64_t)};
      exchange.words = links_of(kWord, true);
      exchange.packer.emplace(specs_[to], layouts);
    }
    producer->add_exchange(std::move(exchange));
  }
}

std::vector<std::int32_t> DataflowRun::readers_of(std::size_t stream) const {
  const std::int32_t vertex = vertex_of_[stream];
  const auto number = std::count(vertex_of_.begin(), vertex_of_.begin() + static_cast<std::ptrdiff_t>(stream), vertex);
  return {static_cast<std::int32_t>(number) % specs_[static_cast<std::size_t>(vertex)].degree};
}

bool DataflowRun::take_turn(Worker& worker) {
  bool has_progress = false;
  for (const auto& reader : worker.links) has_progress = reader->take_turn() || has_progress;
  for (const auto& reader : worker.streams) has_progress = reader->take_turn() || has_progress;
  const auto is_full = [](FlowInstance* root) { return root->full(); };
  if (!has_progress && std::any_of(worker.roots.begin(), worker.roots.end(), is_full)) {
    ++threads().meter(static_cast<std::int32_t>(&worker - workers_.data())).counters.room_waits;
  }
  for (FlowInstance* root : worker.roots) root->flush();
  return has_progress;
}

bool DataflowRun::finished(const Worker& worker) {
  const auto is_finished = [](const auto& reader) { return reader->finished(); };
  return std::all_of(worker.links.begin(), worker.links.end(), is_finished) &&
         std::all_of(worker.streams.begin(), worker.streams.end(), is_finished);
}

void DataflowRun::work(std::int32_t index) {
  Worker& worker = workers_[static_cast<std::size_t>(index)];
  take_turns(
      threads().backoff(), threads().meter(index).counters, [&](bool) { return take_turn(worker); },
      [&] { return threads().failed(); }, [&] { return finished(worker); },
      [&]() -> Parker& { return threads().parkers()[static_cast<std::size_t>(index)]; });
}

std::vector<const OutputBuffer*> DataflowRun::outputs() const {
  std::vector<const OutputBuffer*> buffers;
  for (const Worker& worker : workers_) {
    for (const auto& instance : worker.instances) {
      if (instance != nullptr && instance->outputs() != nullptr) buffers.push_back(instance->outputs());
    }
  }
  return buffers;
}

std::int64_t DataflowRun::events() const noexcept {
  std::int64_t total = 0;
  for (const Worker& worker : workers_) {
    for (const auto& reader : worker.streams) total += reader->rows();
  }
  return total;
}

void DataflowRun::count(Counts& into) const {
  std::int64_t exchanged = 0;
  std::int64_t packed = 0;
  std::int64_t keys = 0;
  for (const Worker& worker : workers_) {
    for (const auto& instance : worker.instances) {
      if (instance == nullptr) continue;
      exchanged += instance->exchanged();
      packed += instance->packed();
      keys += instance->keys();
    }
  }
  const Counters total = sum_counters();
  into = {
      {"markers", options_.markers.count},  {"exchanged_rows", exchanged},   {"packed_rows", packed}, {"keys", keys},
      {"kernel_calls", total.kernel_calls}, {"room_waits", total.room_waits}};
}

}  // namespace lab
