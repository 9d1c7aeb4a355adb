// The Python face of query graphs: set up a LayersRun from arrays and function addresses, run it, read results.
#include <nanobind/nanobind.h>

#include "layers/layers_run.h"
#include "stages.h"

namespace lab::python {
namespace {

using namespace nb::literals;

class LayersCore final : public StagesCore<LayersRun> {
 public:
  using StagesCore::StagesCore;

  void set_operator(const OperatorSpec& spec, std::vector<std::int32_t> owner, std::vector<std::int32_t> itemsizes,
                    const std::optional<std::int64_t>& end_watermark) {
    runtime_.set_operator({spec, std::move(owner), std::move(itemsizes), end_watermark});
  }

  std::int32_t add_tuples(const Array<std::int64_t>& ts, const TupleColumns& columns,
                          const Array<std::int64_t>& heartbeats, std::int32_t input, Address process, Address route,
                          const Due& due, const Due& heartbeat_due) {
    StreamView stream = stream_of(ts, heartbeats, due, heartbeat_due, kept_);
    add_columns(stream, columns, kept_);
    return runtime_.add_stream(std::move(stream), input, reinterpret_cast<ProcessKernel>(process),
                               reinterpret_cast<RouteKernel>(route));
  }

  // Times are of the graph's threads, from the start of the run to the end of each.
  nb::dict counters() const {
    const LayersTotals total = runtime().totals();
    nb::dict result;
    result["threads"] = runtime().threads();
    result["injectors"] = total.injectors;
    result["instances"] = total.instances;
    result["mergers"] = total.mergers;
    result["sinks"] = total.sinks;
    result["queues"] = total.queues;
    result["logs"] = total.logs;
    result["kernel_calls"] = total.kernel_calls;
    result["comparisons"] = total.compared;
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
    result["outputs_grown"] = runtime().outputs_grown();
    result["real_time_generator"] = runtime().real_time_generator() ? 1 : 0;
    return result;
  }
};

}  // namespace

void bind_layers(nb::module_& m) {
  nb::class_<LayersCore> face(m, "LayersCore");
  face.def(
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
      "core_count"_a, "cores"_a, "load"_a.none(), "reserved_rows"_a, "measure"_a);
  bind_stages(face);
  face.def("set_operator", &LayersCore::set_operator, nb::kw_only(), "spec"_a, "owner"_a, "itemsizes"_a,
           "end_watermark"_a.none())
      .def("add_stream", &LayersCore::add_tuples, "ts"_a.noconvert(), "columns"_a, "heartbeats"_a.noconvert(),
           "input"_a, "process"_a, "route"_a, "due"_a.none().noconvert() = nb::none(),
           "heartbeat_due"_a.none().noconvert() = nb::none());
}

}  // namespace lab::python
