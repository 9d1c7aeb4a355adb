// The Python face of query graphs: set up a LayersRuntime from arrays and function addresses, run it, read results.
#include <nanobind/nanobind.h>

#include "layers_runtime.h"
#include "stages.h"

namespace lab::python {
namespace {

using namespace nb::literals;

class LayersCore final : public StagesCore<LayersRuntime> {
 public:
  using StagesCore::StagesCore;

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
}

}  // namespace lab::python
