// The Python face of ordered pipelines: set up a PipelineRuntime from arrays and function addresses, run it, read
// results.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "convert.h"
#include "pipeline_runtime.h"

namespace lab::python {
namespace {

using namespace nb::literals;

// A PipelineRuntime together with the Python arrays that it borrows.
class PipelineCore {
 public:
  explicit PipelineCore(PipelineOptions options) : runtime_(std::move(options)) {}

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

  // (records read, records forwarded, worker time in ns) of each operator.
  std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>> totals() const {
    std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>> result;
    for (std::size_t i = 0; i < runtime_.stages(); ++i) {
      const StageTotals one = runtime_.totals(i);
      result.emplace_back(one.rows, one.outputs, one.busy_ns);
    }
    return result;
  }

  nb::dict counters() const {
    const PipelineCounts counts = runtime_.counts();
    const Counters total = runtime_.sleeps_and_yields();
    nb::dict result;
    result["kernel_calls"] = counts.kernel_calls;
    result["scheduler_decisions"] = counts.decisions;
    result["scheduler_ns"] = counts.decision_ns;
    result["scheduler_vain_looks"] = counts.vain_looks;
    result["reordering_adds"] = counts.adds;
    result["reordering_sends"] = counts.sends;
    result["reordering_found_taken"] = counts.found_taken;
    result["reordering_handed_over"] = counts.handed_over;
    result["groups_delegated"] = counts.delegated;
    result["groups_waited"] = counts.waits;
    result["window_units"] = runtime_.window();
    result["sleeps"] = total.sleeps;
    result["yields"] = total.yields;
    result["real_time_generator"] = runtime_.real_time_generator() ? 1 : 0;
    return result;
  }

  PipelineRuntime runtime_;

 private:
  std::vector<nb::object> kept_;
};

}  // namespace

void bind_pipelines(nb::module_& m) {
  nb::class_<PipelineCore>(m, "PipelineCore")
      .def(
          "__init__",
          [](PipelineCore* self, std::int32_t workers, std::int64_t batch, std::int64_t window,
             std::uint64_t ring_blocks, const std::string& scheduler, const std::string& worklist,
             const std::string& reordering, std::int64_t slice_ns, std::int64_t window_ns, std::int64_t capacity,
             const std::vector<std::int32_t>& itemsizes, const std::vector<std::int32_t>& cores, bool oversubscribed,
             const Load& load, bool spare_core, std::int64_t reserved_rows, bool measure) {
            PipelineOptions options;
            options.workers = workers;
            options.batch = batch;
            options.window = window;
            options.ring_blocks = ring_blocks;
            options.scheduler = scheduler;
            options.worklist = worklist;
            options.reordering = reordering;
            options.slice_ns = slice_ns;
            options.window_ns = window_ns;
            options.capacity = capacity;
            options.input_itemsizes = itemsizes;
            options.cores = cores;
            options.oversubscribed = oversubscribed;
            options.load = load_options(load);
            options.spare_core = spare_core;
            options.reserved_rows = reserved_rows;
            options.measure = measure;
            new (self) PipelineCore(std::move(options));
          },
          nb::kw_only(), "workers"_a, "batch"_a, "window"_a, "ring_blocks"_a, "scheduler"_a, "worklist"_a,
          "reordering"_a, "slice_ns"_a, "window_ns"_a, "capacity"_a, "itemsizes"_a, "cores"_a, "oversubscribed"_a,
          "load"_a.none(), "spare_core"_a, "reserved_rows"_a, "measure"_a)
      .def("add_stage", &PipelineCore::add_stage, nb::kw_only(), "name"_a, "kind"_a, "process"_a, "partition"_a,
           "partitions"_a, "state_bytes"_a, "max_outputs"_a, "itemsizes"_a)
      .def("add_stream", &PipelineCore::add_stream, "ts"_a.noconvert(), "columns"_a, "heartbeats"_a.noconvert(),
           "due"_a.none().noconvert() = nb::none(), "heartbeat_due"_a.none().noconvert() = nb::none())
      .def("start", &PipelineCore::start)
      .def("run", &PipelineCore::run)
      .def("collect", &PipelineCore::collect, "columns"_a)
      .def("totals", &PipelineCore::totals, "(records read, records forwarded, worker time in ns) of each operator.")
      .def("counters", &PipelineCore::counters)
      .def("rows", [](const PipelineCore& core) { return core.runtime_.rows(); })
      .def("events", [](const PipelineCore& core) { return core.runtime_.events(); })
      .def("emitted", [](const PipelineCore& core) { return core.runtime_.emitted(); })
      .def("latency", [](const PipelineCore& core) { return sparse(core.runtime_.latency_counts()); })
      .def("warm_up", [](const PipelineCore& core) { return sparse(core.runtime_.warm_up_counts()); })
      .def("service", [](const PipelineCore& core) { return sparse(core.runtime_.service_counts()); })
      .def("processing", [](const PipelineCore& core) { return sparse(core.runtime_.processing_counts()); })
      .def("lag", [](const PipelineCore& core) { return sparse(core.runtime_.lag_counts()); })
      .def("progress", [](const PipelineCore& core) { return columns_of(core.runtime_.progress()); });
  m.def("pipeline_schedulers", &heuristic_names, "Names of the scheduling heuristics of ordered pipelines.");
}

}  // namespace lab::python
