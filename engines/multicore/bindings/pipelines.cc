// The Python face of ordered pipelines: set up a OrderedRun from arrays and function addresses, run it, read
// results.
#include <nanobind/nanobind.h>

#include "ordered/ordered_run.h"
#include "stages.h"

namespace lab::python {
namespace {

using namespace nb::literals;

class PipelineCore final : public StagesCore<OrderedRun> {
 public:
  using StagesCore::StagesCore;

  // (records read, records forwarded, worker time in ns) of each operator.
  std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>> totals() const {
    std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>> result;
    for (std::size_t i = 0; i < runtime().stages(); ++i) {
      const StageTotals one = runtime().totals(i);
      result.emplace_back(one.rows, one.outputs, one.busy_ns);
    }
    return result;
  }

  nb::dict counters() const {
    const OrderedCounts counts = runtime().counts();
    const Counters total = runtime().sleeps_and_yields();
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
    result["window_units"] = runtime().window();
    result["sleeps"] = total.sleeps;
    result["yields"] = total.yields;
    result["outputs_grown"] = runtime().outputs_grown();
    result["real_time_generator"] = runtime().real_time_generator() ? 1 : 0;
    return result;
  }
};

}  // namespace

void bind_pipelines(nb::module_& m) {
  nb::class_<PipelineCore> face(m, "PipelineCore");
  face.def(
      "__init__",
      [](PipelineCore* self, std::int32_t workers, std::int64_t batch, std::int64_t window,
         std::uint64_t ring_blocks, const std::string& scheduler, const std::string& worklist,
         const std::string& reordering, std::int64_t slice_ns, std::int64_t window_ns, std::int64_t capacity,
         const std::vector<std::int32_t>& itemsizes, const std::vector<std::int32_t>& cores, bool oversubscribed,
         const Load& load, bool spare_core, std::int64_t reserved_rows, bool measure) {
        OrderedOptions options;
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
      "load"_a.none(), "spare_core"_a, "reserved_rows"_a, "measure"_a);
  face.def("totals", &PipelineCore::totals, "(records read, records forwarded, worker time in ns) of each operator.")
      .def("processing", [](const PipelineCore& core) { return sparse(core.runtime().processing_counts()); });
  bind_stages(face);
  m.def("pipeline_schedulers", &heuristic_names, "Names of the scheduling heuristics of ordered pipelines.");
}

}  // namespace lab::python
