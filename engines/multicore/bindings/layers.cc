// The Python face of query graphs: set up a LayersRuntime from arrays and function addresses, run it, read results.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "convert.h"
#include "layers_runtime.h"

namespace lab::python {
namespace {

using namespace nb::literals;

// A LayersRuntime together with the Python arrays that it borrows.
class LayersCore {
 public:
  explicit LayersCore(LayersOptions options) : runtime_(std::move(options)) {}

  void add_stage(std::string name, const std::string& kind, Address process, Address partition,
                 std::int32_t partitions, std::int64_t state_bytes, std::int64_t max_outputs,
                 std::vector<std::int32_t> itemsizes) {
    StageSpec spec;
    spec.name = std::move(name);
    using Kind = StageSpec::Kind;
    if (kind != "stateless" && kind != "partitioned" && kind != "stateful") {
      throw std::invalid_argument("an operator is stateless, partitioned or stateful, not " + kind);
    }
    spec.kind = kind == "stateless" ? Kind::kStateless : kind == "stateful" ? Kind::kStateful : Kind::kPartitioned;
    spec.process = reinterpret_cast<StageKernel>(process);
    spec.partition = reinterpret_cast<PartitionKernel>(partition);
    spec.partitions = partitions;
    spec.state_bytes = state_bytes;
    spec.max_outputs = max_outputs;
    spec.itemsizes = std::move(itemsizes);
    runtime_.add_stage(std::move(spec));
  }

  std::int32_t add_stream(const Array<std::int64_t>& ts, const std::vector<AnyArray>& columns,
                          const Array<std::int64_t>& heartbeats, const std::optional<Array<std::int64_t>>& due,
                          const std::optional<Array<std::int64_t>>& heartbeat_due) {
    StreamView stream;
    stream.ts = view(ts);
    stream.columns = {ts.data()};
    for (const AnyArray& column : columns) {
      if (column.shape(0) != ts.shape(0)) throw std::invalid_argument("a column's length differs from ts");
      stream.columns.push_back(column.data());
      kept_.push_back(nb::cast(column));
    }
    stream.heartbeats = view(heartbeats);
    kept_.push_back(nb::cast(ts));
    kept_.push_back(nb::cast(heartbeats));
    if (due) {
      stream.due = view(*due);
      kept_.push_back(nb::cast(*due));
    }
    if (heartbeat_due) {
      stream.heartbeat_due = view(*heartbeat_due);
      kept_.push_back(nb::cast(*heartbeat_due));
    }
    return runtime_.add_stream(std::move(stream));
  }

  void start() { runtime_.start(); }

  std::int64_t run() {
    nb::gil_scoped_release release;
    return runtime_.run();
  }

  void collect(const std::vector<Address>& columns) const {
    std::vector<void*> targets;
    for (const Address address : columns) targets.push_back(reinterpret_cast<void*>(address));
    nb::gil_scoped_release release;
    runtime_.collect(targets);
  }

  // Times are of the graph's threads, from the start of the run to the end of each.
  nb::dict counters() const {
    const LayersTotals total = runtime_.totals();
    nb::dict result;
    result["threads"] = runtime_.threads();
    result["injectors"] = total.injectors;
    result["instances"] = total.instances;
    result["mergers"] = total.mergers;
    result["sinks"] = total.sinks;
    result["queues"] = total.queues;
    result["logs"] = total.logs;
    result["kernel_calls"] = total.kernel_calls;
    result["room_waits"] = total.room_waits;
    result["spilled_rows"] = total.spilled_rows;
    result["merges_by_producers"] = total.merges_by_producers;
    result["merges_by_readers"] = total.merges_by_readers;
    result["sleeps"] = total.sleeps;
    result["yields"] = total.yields;
    result["voluntary_switches"] = total.use.voluntary;
    result["involuntary_switches"] = total.use.involuntary;
    result["cpu_ns"] = total.use.cpu_ns;
    result["merger_cpu_ns"] = total.use_of_mergers.cpu_ns;
    result["real_time_generator"] = runtime_.real_time_generator() ? 1 : 0;
    return result;
  }

  LayersRuntime runtime_;

 private:
  std::vector<nb::object> kept_;
};

}  // namespace

void bind_layers(nb::module_& m) {
  nb::class_<LayersCore>(m, "LayersCore")
      .def(
          "__init__",
          [](LayersCore* self, const std::string& determinism, std::int32_t workers, std::int64_t batch,
             std::int64_t channel_rows, std::uint64_t ring_blocks, const std::vector<std::int32_t>& itemsizes,
             std::int32_t core_count, const std::vector<std::int32_t>& cores, const Load& load,
             std::int64_t reserved_rows, bool measure) {
            LayersOptions options;
            options.determinism = determinism;
            options.workers = workers;
            options.batch = batch;
            options.channel_rows = channel_rows;
            options.ring_blocks = ring_blocks;
            options.input_itemsizes = itemsizes;
            options.core_count = core_count;
            options.cores = cores;
            options.load = load_options(load);
            options.reserved_rows = reserved_rows;
            options.measure = measure;
            new (self) LayersCore(std::move(options));
          },
          nb::kw_only(), "determinism"_a, "workers"_a, "batch"_a, "channel_rows"_a, "ring_blocks"_a, "itemsizes"_a,
          "core_count"_a, "cores"_a, "load"_a.none(), "reserved_rows"_a, "measure"_a)
      .def("add_stage", &LayersCore::add_stage, nb::kw_only(), "name"_a, "kind"_a, "process"_a, "partition"_a,
           "partitions"_a, "state_bytes"_a, "max_outputs"_a, "itemsizes"_a)
      .def("add_stream", &LayersCore::add_stream, "ts"_a.noconvert(), "columns"_a, "heartbeats"_a.noconvert(),
           "due"_a.none().noconvert() = nb::none(), "heartbeat_due"_a.none().noconvert() = nb::none())
      .def("start", &LayersCore::start)
      .def("run", &LayersCore::run)
      .def("collect", &LayersCore::collect, "columns"_a)
      .def("counters", &LayersCore::counters)
      .def("rows", [](const LayersCore& core) { return core.runtime_.rows(); })
      .def("events", [](const LayersCore& core) { return core.runtime_.events(); })
      .def("emitted", [](const LayersCore& core) { return core.runtime_.emitted(); })
      .def("latency", [](const LayersCore& core) { return sparse(core.runtime_.latency_counts()); })
      .def("warm_up", [](const LayersCore& core) { return sparse(core.runtime_.warm_up_counts()); })
      .def("service", [](const LayersCore& core) { return sparse(core.runtime_.service_counts()); })
      .def("lag", [](const LayersCore& core) { return sparse(core.runtime_.lag_counts()); })
      .def("progress", [](const LayersCore& core) { return columns_of(core.runtime_.progress()); });
}

}  // namespace lab::python
