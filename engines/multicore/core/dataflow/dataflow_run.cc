#include "dataflow/dataflow_run.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace lab {
namespace {

DataflowOptions checked(DataflowOptions options) {
  check(options);
  if (options.link_rows < 1 || options.link_rows > DataflowOptions::kMostLinkRows) {
    throw std::invalid_argument("link_rows must be between 1 and " + std::to_string(DataflowOptions::kMostLinkRows));
  }
  const Markers& markers = options.markers;
  if (markers.period < 1 || markers.count < 0) throw std::invalid_argument("markers have a period of at least 1");
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
    throw std::invalid_argument(where + "its degree must be between 1 and the number of workers");
  }
  if (spec.kept && spec.degree != 1) throw std::invalid_argument(where + "it has several instances to resume");
  if (spec.max_outputs < 1) throw std::invalid_argument(where + "max_outputs must be at least 1");
  const bool passes = spec.kind == Kind::kSource || spec.kind == Kind::kSort;
  if (passes != (spec.items == nullptr)) throw std::invalid_argument(where + "it has no function for items");
  if (spec.keyed && spec.itemsizes.size() < 2) throw std::invalid_argument(where + "its second column is its key");
  if (spec.kind == Kind::kSort) {
    const std::size_t columns = spec.itemsizes.size();
    if (spec.fields.size() != columns || spec.order.size() != columns || spec.falling.size() != columns) {
      throw std::invalid_argument(where + "SORT wants to know how each field is compared");
    }
  }
  if ((spec.kind == Kind::kSource) != spec.inputs.empty()) {
    throw std::invalid_argument(where + "a source reads streams, all others read vertices");
  }
  for (const std::int32_t input : spec.inputs) {
    if (input < 0 || static_cast<std::size_t>(input) >= specs_.size()) {
      throw std::invalid_argument(where + "it reads a vertex that is not there");
    }
    if (specs_[static_cast<std::size_t>(input)].gives) {
      throw std::invalid_argument(where + "it reads a vertex whose rows leave the graph");
    }
  }
  if (spec.route == FlowSpec::Route::kForward && !spec.inputs.empty() &&
      (spec.inputs.size() != 1 || specs_[static_cast<std::size_t>(spec.inputs[0])].degree != spec.degree)) {
    throw std::invalid_argument(where + "rows are forwarded from one vertex, of the same degree");
  }
  specs_.push_back(std::move(spec));
}

std::int32_t DataflowRun::add_stream(StreamView stream, std::int32_t vertex) {
  if (vertex < 0 || static_cast<std::size_t>(vertex) >= specs_.size() ||
      specs_[static_cast<std::size_t>(vertex)].kind != FlowSpec::Kind::kSource) {
    throw std::invalid_argument("a stream belongs to a source");
  }
  if (stream.columns.size() != specs_[static_cast<std::size_t>(vertex)].itemsizes.size()) {
    throw std::invalid_argument("a stream has one column for each field of its source");
  }
  const StreamView& view = add_view(std::move(stream));
  if (options_.load) add_feed(view);  // at full speed columns are read
  vertex_of_.push_back(vertex);
  return view.index;
}

FlowSpec::Kept DataflowRun::kept(std::int32_t vertex) const {
  const auto index = static_cast<std::size_t>(vertex);
  if (specs_.at(index).degree != 1) throw std::logic_error("a vertex with several instances cannot be resumed");
  return workers_.front().instances.at(index)->kept();
}

void DataflowRun::prepare() {
  if (specs_.empty() || !specs_.back().gives) throw std::logic_error("a graph's last vertex gives the answer");
  const auto fits = [this](const FlowSpec& spec) { return !spec.gives || spec.itemsizes == specs_.back().itemsizes; };
  if (!std::all_of(specs_.begin(), specs_.end(), fits))
    throw std::logic_error("all that give the answer have its columns");
  const bool due = options_.load && options_.measure;
  std::int64_t largest = 1;  // most outputs of one call
  for (const FlowSpec& spec : specs_) largest = std::max(largest, spec.gives ? spec.max_outputs : 1);
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
                                                               threads().failure(), index, due);
    }
    for (const auto& instance : worker.instances) {
      if (instance != nullptr && instance->spec().gives) instance->to(pool_, number++);
    }
  }
  for (std::size_t v = 0; v < specs_.size(); ++v) connect(v);
  if (due) tell_when_markers_are_known();
  for (Worker& worker : workers_) std::reverse(worker.links.begin(), worker.links.end());
}

// An instance knows a marker when the last of the streams that lead to it has passed it.
void DataflowRun::tell_when_markers_are_known() {
  using Streams = std::set<std::int32_t>;
  std::vector<std::vector<Streams>> leading(specs_.size(), std::vector<Streams>(workers_.size()));
  for (std::size_t v = 0; v < specs_.size(); ++v) {
    const FlowSpec& spec = specs_[v];
    for (std::size_t w = 0; w < static_cast<std::size_t>(spec.degree); ++w) {
      Streams& streams = leading[v][w];
      for (std::size_t s = 0; s < views().size(); ++s) {
        const bool read =
            vertex_of_[s] == static_cast<std::int32_t>(v) && readers_of(s)[0] == static_cast<std::int32_t>(w);
        if (read) streams.insert(static_cast<std::int32_t>(s));
      }
      for (const std::int32_t input : spec.inputs) {
        const auto& before = leading[static_cast<std::size_t>(input)];
        for (std::size_t from = 0; from < before.size(); ++from) {
          if (spec.route != FlowSpec::Route::kForward || from == w)
            streams.insert(before[from].begin(), before[from].end());
        }
      }
      const auto [times_known, is_new] = times_known_.try_emplace(streams);
      if (is_new) {
        std::vector<const StreamView*> found;
        for (const std::int32_t s : streams) found.push_back(&views()[static_cast<std::size_t>(s)]);
        times_known->second = options_.markers.times_known(found);
      }
      workers_[w].instances[v]->set_times_known(times_known->second);
    }
  }
}

// Connects a vertex to its inputs.
void DataflowRun::connect(std::size_t vertex) {
  const FlowSpec& spec = specs_[vertex];
  if (spec.route == FlowSpec::Route::kForward && !spec.inputs.empty()) {
    for (Worker& worker : workers_) {
      FlowInstance* const from = worker.instances[static_cast<std::size_t>(spec.inputs[0])].get();
      if (from != nullptr) from->to(*worker.instances[vertex]);
    }
    layouts_for(vertex);
    return;
  }
  for (std::size_t w = 0; w < workers_.size(); ++w) {
    Worker& worker = workers_[w];
    if (worker.instances[vertex] == nullptr) continue;
    FlowInstance& into = *worker.instances[vertex];
    worker.roots.push_back(&into);
    if (spec.kind != FlowSpec::Kind::kSource) {
      worker.links.push_back(std::make_unique<FlowLinkReader>(into, options_.markers, options_.aligned));
      continue;
    }
    const bool due = options_.load && options_.measure;
    auto& reader = worker.streams.emplace_back(
        std::make_unique<FlowStreamReader>(into, options_.markers, threads().meter(static_cast<std::int32_t>(w)), due));
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

// Makes the layouts of a SORT's rows and passes them to its instances; null: not a SORT, or its rows cannot be packed.
std::shared_ptr<WordLayouts> DataflowRun::layouts_for(std::size_t vertex) {
  const FlowSpec& spec = specs_[vertex];
  if (spec.kind != FlowSpec::Kind::kSort || !options_.aligned || !WordLayouts::possible(spec)) return nullptr;
  auto layouts = std::make_shared<WordLayouts>(spec, options_.markers);
  for (Worker& worker : workers_) {
    FlowInstance* const instance = worker.instances[vertex].get();
    if (instance != nullptr) instance->pack_by(layouts, spec.route == FlowSpec::Route::kForward);
  }
  return layouts;
}

// Links each instance of one vertex with each of another.
void DataflowRun::exchange(std::size_t from, std::size_t to, const std::shared_ptr<KeyOwners>& owners,
                           const std::shared_ptr<WordLayouts>& layouts) {
  const bool due = options_.load && options_.measure;
  const auto parkers = threads().parkers();
  for (std::size_t w = 0; w < workers_.size(); ++w) {
    FlowInstance* const producer = workers_[w].instances[from].get();
    if (producer == nullptr) continue;
    const auto links_of = [&](std::span<const std::int32_t> itemsizes, bool words) {
      FlowLinks links;
      for (std::size_t r = 0; r < static_cast<std::size_t>(specs_[to].degree); ++r) {
        links.push_back(
            std::make_unique<FlowLink>(itemsizes, options_.link_rows, due && !words, parkers[w], parkers[r]));
        static_cast<FlowLinkReader&>(*workers_[r].links.back()).add(*links.back(), words);
      }
      return links;
    };
    FlowInstance::Exchange exchange{links_of(specs_[from].itemsizes, false), specs_[to].route, owners};
    if (layouts != nullptr) {
      static constexpr std::int32_t kWord[] = {sizeof(std::uint64_t)};
      exchange.words = links_of(kWord, true);
      exchange.packer.emplace(specs_[to], layouts);
    }
    producer->to(std::move(exchange));
  }
}

std::vector<std::int32_t> DataflowRun::readers_of(std::size_t stream) const {
  const std::int32_t vertex = vertex_of_[stream];
  const auto number = std::count(vertex_of_.begin(), vertex_of_.begin() + static_cast<std::ptrdiff_t>(stream), vertex);
  return {static_cast<std::int32_t>(number) % specs_[static_cast<std::size_t>(vertex)].degree};
}

bool DataflowRun::take_turn(Worker& worker) {
  bool any = false;
  for (const auto& reader : worker.links) any = reader->take_turn() || any;
  for (const auto& reader : worker.streams) any = reader->take_turn() || any;
  const auto full = [](FlowInstance* root) { return root->full(); };
  if (!any && std::any_of(worker.roots.begin(), worker.roots.end(), full)) {
    ++threads().meter(static_cast<std::int32_t>(&worker - workers_.data())).counters.room_waits;
  }
  for (FlowInstance* root : worker.roots) root->flush();
  return any;
}

bool DataflowRun::finished(const Worker& worker) {
  const auto done = [](const auto& reader) { return reader->finished(); };
  return std::all_of(worker.links.begin(), worker.links.end(), done) &&
         std::all_of(worker.streams.begin(), worker.streams.end(), done);
}

void DataflowRun::work(std::int32_t index) {
  Worker& worker = workers_[static_cast<std::size_t>(index)];
  take_turns(
      threads().backoff(), threads().meter(index).counters, [&](bool) { return take_turn(worker); },
      [&] { return threads().failed(); }, [&] { return finished(worker); },
      [&]() -> Parker& { return threads().parkers()[static_cast<std::size_t>(index)]; });
}

std::vector<const OutputBuffer*> DataflowRun::outputs() const {
  std::vector<const OutputBuffer*> all;
  for (const Worker& worker : workers_) {
    for (const auto& instance : worker.instances) {
      if (instance != nullptr && instance->outputs() != nullptr) all.push_back(instance->outputs());
    }
  }
  return all;
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
