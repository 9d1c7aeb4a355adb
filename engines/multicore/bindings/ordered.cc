// Python bindings of ordered pipelines.
#include "stages.h"

#include "ordered/ordered_run.h"

namespace lab::python {
namespace {

std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>> totals(const OrderedRun& run) {
  std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>> result;
  for (std::size_t i = 0; i < run.stages(); ++i) {
    const StageTotals total = run.totals(i);
    result.emplace_back(total.rows, total.outputs, total.busy_ns);
  }
  return result;
}

std::vector<nb::bytes> states(OrderedRun& run, std::size_t stage) {
  std::vector<nb::bytes> result;
  for (const auto& state : run.stage(stage).states()) result.emplace_back(state.data(), state.size());
  return result;
}

void restore(OrderedRun& run, std::size_t stage, const std::vector<nb::bytes>& states) {
  std::vector<std::span<const std::byte>> spans;
  for (const nb::bytes& state : states) {
    spans.emplace_back(static_cast<const std::byte*>(state.data()), state.size());
  }
  run.stage(stage).restore(spans);
}

}  // namespace

void bind_ordered(nb::module_& m) {
  m.attr("MAX_STREAMS") = kMaxLogSources;
  m.attr("MAX_UNIT_RECORDS") = OrderedOptions::kMaxBatch;
  m.attr("MAX_WINDOW") = OrderedOptions::kMaxWindow;
  m.attr("MAX_GROUPS") = kMaxGroups;
  m.attr("KEY_STATES_BYTES") = sizeof(KeyStates);
  m.attr("SCHEDULERS") = list_of(heuristic_names());
  m.attr("WORKLISTS") = list_of(kWorklists);
  m.attr("REORDERINGS") = list_of(kReorderings);
  m.attr("SERIALS") = list_of(kSerials);
  m.attr("UNIT_WINDOWS") = OperatorSerials::kWindows;
  bind_stages(nb::class_<OrderedRun, Run>(m, "OrderedRun"))
      .def(
          "__init__",
          [](OrderedRun* self, const RunSettings& settings, std::int64_t window, std::string scheduler,
             std::string worklist, std::string reordering, std::string serials, std::int64_t window_ns,
             std::int64_t capacity, std::vector<std::int32_t> itemsizes) {
            OrderedOptions options{settings};
            options.window = window;
            options.scheduler = std::move(scheduler);
            options.worklist = std::move(worklist);
            options.reordering = std::move(reordering);
            options.serials = std::move(serials);
            options.window_ns = window_ns;
            options.capacity = capacity;
            options.input_itemsizes = std::move(itemsizes);
            new (self) OrderedRun(std::move(options));
          },
          "settings"_a, nb::kw_only(), "window"_a, "scheduler"_a, "worklist"_a, "reordering"_a, "serials"_a,
          "window_ns"_a, "capacity"_a, "itemsizes"_a)
      .def("totals", &totals, "Return (records read, records forwarded, worker time in ns) of each operator.")
      .def("states", &states, "stage"_a,
           "After the run: the state of each partition, or the only state, to resume from.")
      .def("restore", &restore, "stage"_a, "states"_a, "Before the start.")
      .def("processing", [](const OrderedRun& run) { return sparse(run.processing_counts()); });
}

}  // namespace lab::python
