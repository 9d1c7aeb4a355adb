// The Python face of O+: set up an OplusRun from arrays and function addresses, run it, read results.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "convert.h"
#include "oplus/oplus_run.h"

namespace lab::python {
namespace {

using namespace nb::literals;

// An OplusRun together with the Python arrays that it borrows.
class OperatorCore {
 public:
  OperatorCore(OplusOptions options, const OperatorSpec& spec) : runtime_(std::move(options), spec) {}

  void add_operator(const OperatorSpec& spec, Address process, std::vector<std::int32_t> itemsizes) {
    runtime_.add_operator(spec, reinterpret_cast<ProcessKernel>(process), std::move(itemsizes));
  }

  std::int32_t add_stream(const Array<std::int64_t>& ts, const TupleColumns& columns,
                          const Array<std::int64_t>& heartbeats, std::int32_t input, Address process, Address route,
                          const std::vector<std::pair<std::int32_t, bool>>& shapes, const Due& due,
                          const Due& heartbeat_due) {
    StreamView stream = stream_of(ts, heartbeats, due, heartbeat_due, kept_);
    add_columns(stream, columns, kept_);
    std::vector<ColumnShape> columns_shapes;
    for (const auto& [itemsize, is_list] : shapes) columns_shapes.push_back({itemsize, is_list});
    return runtime_.add_stream(std::move(stream), input, reinterpret_cast<ProcessKernel>(process),
                               reinterpret_cast<RouteKernel>(route), std::move(columns_shapes));
  }

  void map(std::vector<std::int32_t> owner, std::size_t op) { runtime_.map(std::move(owner), op); }
  void start() { runtime_.start(); }

  std::int64_t run() {
    nb::gil_scoped_release release;
    return runtime_.run();
  }

  std::int64_t reconfigure(std::int32_t instances, std::vector<std::int32_t> owner) {
    nb::gil_scoped_release release;
    return runtime_.reconfigure(instances, std::move(owner));
  }

  // (time_ns, instances, busy_ns, processed, windows, compared), or None when the run is over.
  using Seen = std::tuple<std::int64_t, std::int32_t, std::vector<std::int64_t>, std::vector<std::int64_t>,
                          std::vector<std::int64_t>, std::int64_t>;
  std::optional<Seen> snapshot() const {
    std::optional<Snapshot> seen = runtime_.snapshot();
    if (!seen) return std::nullopt;
    return Seen{seen->time_ns, seen->instances, seen->busy_ns, seen->processed, seen->windows, seen->compared};
  }

  // (event_ts, moved_bytes) once a switch has been applied, or None when the run is over before.
  std::optional<std::pair<std::int64_t, std::int64_t>> await(std::int64_t number) {
    nb::gil_scoped_release release;
    const std::optional<Switch> done = runtime_.await(number);
    if (!done) return std::nullopt;
    return std::pair{done->event_ts, done->moved_bytes};
  }

  // (called_ns, done_ns, before, after, event_ts, moved_bytes) of each reconfiguration.
  std::vector<std::tuple<std::int64_t, std::int64_t, std::int32_t, std::int32_t, std::int64_t, std::int64_t>> switches()
      const {
    std::vector<std::tuple<std::int64_t, std::int64_t, std::int32_t, std::int32_t, std::int64_t, std::int64_t>> result;
    for (const Switch& one : runtime_.switches()) {
      result.emplace_back(one.called_ns, one.done_ns, one.before, one.after, one.event_ts, one.moved_bytes);
    }
    return result;
  }

  // For each instance (busy_ns, compared) by step of the grid.
  std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> load_steps() const {
    std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> result;
    for (const auto& steps : runtime_.load_steps()) {
      result.emplace_back();
      for (const LoadStep& step : steps) result.back().emplace_back(step.busy_ns, step.compared);
    }
    return result;
  }

  void collect(const std::vector<Address>& columns) const {
    std::vector<void*> targets;
    for (const Address address : columns) targets.push_back(reinterpret_cast<void*>(address));
    nb::gil_scoped_release release;
    runtime_.collect(targets);
  }

  nb::dict counters() const {
    const Counters total = runtime_.counters();
    nb::dict result;
    result["kernel_calls"] = total.kernel_calls;
    result["sleeps"] = total.sleeps;
    result["yields"] = total.yields;
    result["comparisons"] = runtime_.compared();
    result["outputs_grown"] = runtime_.outputs_grown();
    result["real_time_generator"] = runtime_.real_time_generator() ? 1 : 0;
    return result;
  }

  OplusRun runtime_;

 private:
  std::vector<nb::object> kept_;
};

}  // namespace

void bind_operators(nb::module_& m) {
  nb::class_<OperatorSpec>(m, "OperatorSpec")
      .def(
          "__init__",
          [](OperatorSpec* self, std::string name, std::int64_t advance, std::int64_t size, bool single,
             std::int32_t inputs, std::int64_t entry_bytes, std::int32_t buckets, Address expire,
             std::int64_t max_outputs, bool emits_on_update, Address match_by_left, Address match_by_right,
             Address emit_pairs) {
            OperatorSpec spec;
            spec.name = std::move(name);
            spec.window = {advance, size, single};
            spec.inputs = inputs;
            spec.entry_bytes = entry_bytes;
            spec.buckets = buckets;
            spec.expire = reinterpret_cast<ExpireKernel>(expire);
            spec.max_outputs = max_outputs;
            spec.emits_on_update = emits_on_update;
            spec.match_by_left = reinterpret_cast<MatchKernel>(match_by_left);
            spec.match_by_right = reinterpret_cast<MatchKernel>(match_by_right);
            spec.emit_pairs = reinterpret_cast<PairKernel>(emit_pairs);
            new (self) OperatorSpec(spec);
          },
          nb::kw_only(), "name"_a, "advance"_a, "size"_a, "single"_a, "inputs"_a, "entry_bytes"_a, "buckets"_a,
          "expire"_a, "max_outputs"_a, "emits_on_update"_a, "match_by_left"_a = 0, "match_by_right"_a = 0,
          "emit_pairs"_a = 0);
  nb::class_<OperatorCore>(m, "OperatorCore")
      .def(
          "__init__",
          [](OperatorCore* self, const OperatorSpec& spec, std::int32_t instances, std::int32_t most_instances,
             std::int64_t batch, std::uint64_t ring_blocks, const std::string& tuple_buffer, bool shared_nothing,
             const std::vector<std::int32_t>& itemsizes, const std::vector<std::int32_t>& cores, bool oversubscribed,
             const Load& load, bool spare_core, std::int64_t reserved_rows, bool measure,
             const std::optional<std::int64_t>& end_watermark, std::optional<std::int64_t> link_rows) {
            OplusOptions options;
            options.instances = instances;
            options.most_instances = most_instances;
            options.batch = batch;
            options.ring_blocks = ring_blocks;
            options.tuple_buffer = tuple_buffer;
            options.shared_nothing = shared_nothing;
            options.output_itemsizes = itemsizes;
            options.cores = cores;
            options.oversubscribed = oversubscribed;
            options.load = load_options(load);
            options.spare_core = spare_core;
            options.reserved_rows = reserved_rows;
            options.measure = measure;
            options.end_watermark = end_watermark;
            if (link_rows) options.link_rows = *link_rows;
            new (self) OperatorCore(std::move(options), spec);
          },
          nb::kw_only(), "spec"_a, "instances"_a, "most_instances"_a, "batch"_a, "ring_blocks"_a, "tuple_buffer"_a,
          "shared_nothing"_a, "itemsizes"_a, "cores"_a, "oversubscribed"_a, "load"_a.none(), "spare_core"_a,
          "reserved_rows"_a, "measure"_a, "end_watermark"_a.none(), "link_rows"_a.none() = nb::none())
      .def("add_operator", &OperatorCore::add_operator, "spec"_a, "process"_a, "itemsizes"_a)
      .def("add_stream", &OperatorCore::add_stream, "ts"_a.noconvert(), "columns"_a, "heartbeats"_a.noconvert(),
           "input"_a, "process"_a, "route"_a, "shapes"_a, "due"_a.none().noconvert() = nb::none(),
           "heartbeat_due"_a.none().noconvert() = nb::none())
      .def("map", &OperatorCore::map, "owner"_a, "op"_a = 0)
      .def("start", &OperatorCore::start)
      .def("run", &OperatorCore::run)
      .def("reconfigure", &OperatorCore::reconfigure, "instances"_a, "owner"_a)
      .def("await_switch", &OperatorCore::await, "number"_a)
      .def("snapshot", &OperatorCore::snapshot)
      .def("switches", &OperatorCore::switches)
      .def("load_steps", &OperatorCore::load_steps)
      .def("collect", &OperatorCore::collect, "columns"_a)
      .def("counters", &OperatorCore::counters)
      .def("rows", [](const OperatorCore& core) { return core.runtime_.rows(); })
      .def("events", [](const OperatorCore& core) { return core.runtime_.events(); })
      .def("emitted", [](const OperatorCore& core) { return core.runtime_.emitted(); })
      .def("latency", [](const OperatorCore& core) { return sparse(core.runtime_.latency_counts()); })
      .def("warm_up", [](const OperatorCore& core) { return sparse(core.runtime_.warm_up_counts()); })
      .def("service", [](const OperatorCore& core) { return sparse(core.runtime_.service_counts()); })
      .def("lag", [](const OperatorCore& core) { return sparse(core.runtime_.lag_counts()); })
      .def("progress", [](const OperatorCore& core) { return columns_of(core.runtime_.progress()); });
}

}  // namespace lab::python
