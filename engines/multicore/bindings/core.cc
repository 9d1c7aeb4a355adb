// The Python face of the core: set up a DgsRun from arrays and function addresses, run it, read results.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <stdexcept>

#include "convert.h"
#include "run/core_to_core.h"
#include "dgs/dgs_run.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace lab::python;

namespace {

// A DgsRun together with the Python arrays that it borrows.
class Core {
 public:
  Core(std::int32_t workers, std::int64_t batch, std::uint64_t ring_blocks, std::int64_t max_outputs_per_event,
       std::vector<std::int32_t> output_itemsizes, std::vector<std::int32_t> cores, bool oversubscribed,
       const Load& load, bool spare_core,
       std::int64_t reserved_rows, bool measure)
      : runtime_({workers, batch, ring_blocks, max_outputs_per_event, std::move(output_itemsizes), std::move(cores),
                  oversubscribed, load_options(load), spare_core, reserved_rows, lab::Recorder::kSteps, measure}) {}

  std::int32_t add_stream(const Array<std::int64_t>& ts, const std::optional<Array<std::int32_t>>& tag,
                          const std::vector<std::optional<AnyArray>>& payload, const Array<std::int64_t>& heartbeats,
                          std::int32_t owner, const Due& due, const Due& heartbeat_due) {
    if (tag && tag->shape(0) != ts.shape(0)) throw std::invalid_argument("the tag column's length differs from ts");
    lab::StreamView stream = stream_of(ts, heartbeats, due, heartbeat_due, kept_);
    stream.tag = tag ? tag->data() : nullptr;
    stream.columns.push_back(stream.tag);
    for (const auto& column : payload) {
      if (column && column->shape(0) != ts.shape(0)) throw std::invalid_argument("a column's length differs from ts");
      stream.columns.push_back(column ? column->data() : nullptr);
      if (column) kept_.push_back(nb::cast(*column));
    }
    if (tag) kept_.push_back(nb::cast(*tag));
    return runtime_.add_stream(std::move(stream), owner);
  }

  void add_state_type(std::int64_t nbytes) { runtime_.forest.add_state_type(nbytes); }

  // Nodes as parallel lists; children -1 for leaves; predicates as rows of one byte per kind.
  std::int32_t add_template(const std::vector<std::int32_t>& parent, const std::vector<std::int32_t>& first,
                            const std::vector<std::int32_t>& second, const std::vector<std::int32_t>& state_type,
                            const std::vector<Address>& fork, const std::vector<Address>& join,
                            const std::vector<std::vector<std::uint8_t>>& pred1,
                            const std::vector<std::vector<std::uint8_t>>& pred2) {
    const std::size_t n = parent.size();
    if (first.size() != n || second.size() != n || state_type.size() != n || fork.size() != n || join.size() != n ||
        pred1.size() != n || pred2.size() != n) {
      throw std::invalid_argument("all lists of a template have one entry per node");
    }
    lab::TreeTemplate shape;
    for (std::size_t i = 0; i < n; ++i) {
      lab::TreeTemplate::Node node;
      node.parent = parent[i];
      node.first = first[i];
      node.second = second[i];
      node.state_type = state_type[i];
      node.fork = reinterpret_cast<lab::ForkKernel>(fork[i]);
      node.join = reinterpret_cast<lab::JoinKernel>(join[i]);
      node.pred1 = pred1[i];
      node.pred2 = pred2[i];
      shape.nodes.push_back(std::move(node));
    }
    return runtime_.forest.add_template(std::move(shape));
  }

  std::int32_t add_trees(std::int32_t shape, std::int32_t count) { return runtime_.forest.add_trees(shape, count); }

  std::int32_t add_mailbox(std::int32_t worker) { return runtime_.add_mailbox(worker); }

  // Makes state i of `storage` (stride bytes each) the state of leaf `leaves[i]` of tree `trees[i]`.
  void place(std::int32_t mailbox, const Array<std::int32_t>& trees, const Array<std::int32_t>& leaves,
             Address storage, std::int64_t stride) {
    if (trees.shape(0) != leaves.shape(0)) throw std::invalid_argument("one leaf per tree");
    for (std::size_t i = 0; i < trees.shape(0); ++i) {
      runtime_.mailbox(mailbox).leaf_of_tree.at(static_cast<std::size_t>(trees.data()[i])) = leaves.data()[i];
      runtime_.forest.place(trees.data()[i], leaves.data()[i],
                            reinterpret_cast<std::byte*>(storage) + static_cast<std::int64_t>(i) * stride);
    }
  }

  void initialise(std::int32_t first_tree, std::int32_t count, const nb::bytes& initial) {
    const auto* data = reinterpret_cast<const std::byte*>(initial.c_str());
    for (std::int32_t t = first_tree; t < first_tree + count; ++t) {
      runtime_.forest.initialise(t, {data, initial.size()});
    }
  }

  void add_lane(std::int32_t mailbox, std::int32_t stream, Address run, const std::optional<Array<std::int32_t>>& slots,
                Address state, const std::optional<Array<std::int32_t>>& order_tree,
                const std::optional<Array<std::int32_t>>& order_node, const std::vector<Address>& update) {
    lab::Lane lane;
    lane.run = reinterpret_cast<lab::RunKernel>(run);
    lane.state = reinterpret_cast<void*>(state);
    if (order_tree.has_value() != order_node.has_value()) throw std::invalid_argument("order_tree goes with order_node");
    if (slots) {
      lane.slots = slots->data();
      kept_.push_back(nb::cast(*slots));
    }
    if (order_tree) {
      lane.order_tree = order_tree->data();
      lane.order_node = order_node->data();
      kept_.push_back(nb::cast(*order_tree));
      kept_.push_back(nb::cast(*order_node));
    }
    for (const Address address : update) lane.update.push_back(reinterpret_cast<lab::RunKernel>(address));
    runtime_.add_lane(mailbox, stream, std::move(lane));
  }

  void start() { runtime_.start(); }

  std::int64_t run() {
    nb::gil_scoped_release release;
    return runtime_.run();
  }

  std::int64_t rows() const { return runtime_.rows(); }
  std::int64_t events() const { return runtime_.events(); }

  void collect(const std::vector<Address>& columns) const {
    std::vector<void*> targets;
    for (const Address address : columns) targets.push_back(reinterpret_cast<void*>(address));
    nb::gil_scoped_release release;
    runtime_.collect(targets);
  }

  nb::dict counters() const {
    const lab::Counters total = runtime_.counters();
    nb::dict result;
    result["synchronizations"] = total.synchronizations;
    result["parked"] = total.parked;
    result["kernel_calls"] = total.kernel_calls;
    result["sleeps"] = total.sleeps;
    result["yields"] = total.yields;
    result["outputs_grown"] = runtime_.outputs_grown();
    result["real_time_generator"] = runtime_.real_time_generator() ? 1 : 0;
    return result;
  }

  Sparse latency() const { return sparse(runtime_.latency_counts()); }
  Sparse warm_up() const { return sparse(runtime_.warm_up_counts()); }
  Sparse service() const { return sparse(runtime_.service_counts()); }
  Sparse lag() const { return sparse(runtime_.lag_counts()); }
  std::int64_t emitted() const { return runtime_.emitted(); }

  std::vector<std::vector<std::int64_t>> progress() const { return columns_of(runtime_.progress()); }

  Sparse sync() const { return sparse(runtime_.sync_counts()); }

 private:
  std::vector<nb::object> kept_;  // first: destroyed last
  lab::DgsRun runtime_;
};

}  // namespace

NB_MODULE(_core, m) {
  m.doc() = "The multicore engine's C++ core. Use engines.multicore.adapter instead of calling it directly.";
  nb::class_<Core>(m, "Core")
      .def(nb::init<std::int32_t, std::int64_t, std::uint64_t, std::int64_t, std::vector<std::int32_t>,
                    std::vector<std::int32_t>, bool, Load, bool,
                    std::int64_t, bool>(),
           "workers"_a, "batch"_a, "ring_blocks"_a, "max_outputs_per_event"_a, "output_itemsizes"_a, "cores"_a,
           "oversubscribed"_a, "load"_a.none() = nb::none(), "spare_core"_a = false, "reserved_rows"_a = 0, "measure"_a = true)
      .def("add_stream", &Core::add_stream, "ts"_a.noconvert(), "tag"_a.none().noconvert(), "payload"_a,
           "heartbeats"_a.noconvert(), "owner"_a, "due"_a.none().noconvert() = nb::none(),
           "heartbeat_due"_a.none().noconvert() = nb::none())
      .def("add_state_type", &Core::add_state_type, "nbytes"_a)
      .def("add_template", &Core::add_template, "parent"_a, "first"_a, "second"_a, "state_type"_a, "fork"_a, "join"_a,
           "pred1"_a, "pred2"_a)
      .def("add_trees", &Core::add_trees, "shape"_a, "count"_a)
      .def("add_mailbox", &Core::add_mailbox, "worker"_a)
      .def("place", &Core::place, "mailbox"_a, "trees"_a, "leaves"_a, "storage"_a, "stride"_a)
      .def("initialise", &Core::initialise, "first_tree"_a, "count"_a, "initial"_a)
      .def("add_lane", &Core::add_lane, "mailbox"_a, "stream"_a, "run"_a, "slots"_a.none(), "state"_a,
           "order_tree"_a.none(), "order_node"_a.none(), "update"_a)
      .def("start", &Core::start)
      .def("run", &Core::run)
      .def("rows", &Core::rows)
      .def("events", &Core::events)
      .def("collect", &Core::collect, "columns"_a)
      .def("counters", &Core::counters)
      .def("latency", &Core::latency, "Used buckets as two int64 arrays in bytes: highest value in ns, count.")
      .def("warm_up", &Core::warm_up)
      .def("service", &Core::service)
      .def("lag", &Core::lag)
      .def("emitted", &Core::emitted)
      .def("progress", &Core::progress)
      .def("sync", &Core::sync);
  bind_operators(m);
  bind_joins(m);
  bind_pipelines(m);
  bind_layers(m);
  m.attr("STEP_NS") = lab::Recorder::kStepNs;
  m.def(
      "try_generator",
      [](std::int64_t events, std::int64_t batch, double rate_eps) {
        lab::GeneratorTrial trial;
        {
          nb::gil_scoped_release release;
          trial = lab::try_generator(events, batch, rate_eps);
        }
        return std::make_pair(trial.duration_ns, sparse(trial.lag_counts));
      },
      "events"_a, "batch"_a, "rate_eps"_a,
      "Hand events to a null engine, at a rate or (0) at once; returns duration in ns and send lags (see `Core.latency`).");
  m.def("core_to_core_ns", &lab::core_to_core_ns, nb::call_guard<nb::gil_scoped_release>(), "first"_a, "second"_a,
        "limit_ns"_a, "Nanoseconds that a cache line takes from one core to another; -1: not known within the limit.");
  m.def("bucket_value", &lab::Histogram::highest_in, "index"_a, "Highest latency in ns of a histogram bucket.");
}
