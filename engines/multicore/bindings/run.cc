// Python bindings shared by all runs: settings, start to end, results.
#include "run/run.h"

#include "convert.h"

namespace lab::python {
namespace {

// LoadOptions as a tuple: (warm_up_ns, end_ns, whole_blocks, tick_ns, received).
using Load = std::tuple<std::int64_t, std::int64_t, bool, std::int64_t, bool>;

void collect(const Run& run, const std::vector<Address>& columns) {
  std::vector<void*> targets;
  for (const Address address : columns) targets.push_back(pointer_at<void*>(address));
  nb::gil_scoped_release release;
  run.collect(targets);
}

// Runs to the end. Every RunThreads::kPollEvery it calls Python's signal handlers, and `poll` if set. An exception of
// these calls, such as KeyboardInterrupt, ends the run.
std::int64_t run_to_end(Run& run, const std::optional<nb::callable>& poll) {
  nb::gil_scoped_release release;
  return run.run([&poll] {
    nb::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (poll) (*poll)();
  });
}

nb::typed<nb::dict, nb::str, nb::int_> counters(const Run& run) {
  nb::dict result;
  for (const auto& [name, value] : run.counters()) result[nb::str(name.data(), name.size())] = value;
  return nb::borrow<nb::typed<nb::dict, nb::str, nb::int_>>(result);
}

// Returns the columns emitted, consumed, outputs, p50, p99, max, with one entry per step of the grid.
std::vector<std::vector<std::int64_t>> progress(const Run& run) {
  std::vector<std::vector<std::int64_t>> columns(6);
  for (const Progress& step : run.progress()) {
    const std::int64_t values[] = {step.emitted, step.consumed, step.outputs, step.p50_ns, step.p99_ns, step.max_ns};
    for (std::size_t i = 0; i < columns.size(); ++i) columns[i].push_back(values[i]);
  }
  return columns;
}

}  // namespace

void bind_run(nb::module_& m) {
  m.attr("STEP_NS") = Recorder::kStepNs;
  m.attr("MAX_WORKERS") = RunSettings::kMaxWorkers;
  nb::class_<RunSettings>(m, "RunSettings", "Settings of every run; see core/run/run.h.")
      .def(
          "__init__",
          [](RunSettings* self, std::int32_t workers, std::int64_t batch, std::uint64_t ring_blocks,
             std::vector<std::int32_t> cores, bool pinned, std::int32_t core_count, const std::optional<Load>& load,
             std::int64_t reserved_rows, bool measure) {
            std::optional<LoadOptions> offered;
            if (load) {
              const auto& [warm_up_ns, end_ns, whole_blocks, tick_ns, received] = *load;
              offered = LoadOptions{warm_up_ns, end_ns, whole_blocks, tick_ns, received};
            }
            new (self) RunSettings{workers,    batch,   ring_blocks,   std::move(cores), pinned,
                                   core_count, offered, reserved_rows, Recorder::kSteps, measure};
          },
          nb::kw_only(), "workers"_a, "batch"_a, "ring_blocks"_a, "cores"_a, "pinned"_a, "core_count"_a,
          "load"_a.none(), "reserved_rows"_a, "measure"_a);
  nb::class_<Run>(m, "Run", "A run of any family. It keeps its arrays alive.")
      .def("start", &Run::start, "Create the threads, which wait for `run`.")
      .def("run", &run_to_end, "poll"_a = nb::none(),
           "Run to the end and return the duration in ns. Signals are handled meanwhile.")
      .def(
          "start_ns", [](const Run& run) { return run.start_ns(); },
          "Return the start time of the monotonic clock in ns, or 0 before the start.")
      .def(
          "receive",
          [](Run& run, std::size_t stream, std::int64_t rows, std::int64_t heartbeats) {
            run.receive(stream, rows, heartbeats);
          },
          "stream"_a, "rows"_a, "heartbeats"_a, "State how many rows and heartbeats of a stream have arrived.")
      .def("rows", &Run::rows)
      .def("events", [](const Run& run) { return run.events(); })
      .def("emitted", [](const Run& run) { return run.emitted(); })
      .def("collect", &collect, "columns"_a, "Write all outputs to the addresses of one column for each field.")
      .def("counters", &counters)
      .def(
          "latency", [](const Run& run) { return sparse(run.latency_counts()); },
          "Return the used buckets as two int64 arrays in bytes: highest values in ns, counts.")
      .def("warm_up", [](const Run& run) { return sparse(run.warm_up_counts()); })
      .def("service", [](const Run& run) { return sparse(run.service_counts()); })
      .def("lag", [](const Run& run) { return sparse(run.lag_counts()); })
      .def(
          "progress", &progress,
          "Return the columns emitted, consumed, outputs, p50, p99, max (ns), with an entry for each step of STEP_NS.");
}

}  // namespace lab::python
