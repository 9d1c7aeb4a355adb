// Python bindings of the core: a caller sets up a run from arrays and function addresses, runs it, and reads its
// results.
#include "convert.h"

#include "run/core_to_core.h"
#include "run/generator.h"

using namespace lab::python;

NB_MODULE(_core, m) {
  m.doc() = "The multicore engine's C++ core. Use streamlab.engines.multicore.adapter instead of calling it directly.";
  bind_run(m);
  bind_dgs(m);
  bind_oplus(m);
  bind_ordered(m);
  bind_layers(m);
  bind_joins(m);
  bind_dataflow(m);
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
      "Hand events to a null engine, at a rate or (0) at once; returns duration in ns and send lags (see "
      "`Run.latency`).");
  m.def("core_to_core_ns", &lab::core_to_core_ns, nb::call_guard<nb::gil_scoped_release>(), "first"_a, "second"_a,
        "limit_ns"_a, "Nanoseconds that a cache line takes from one core to another; -1: not known within the limit.");
  m.def("bucket_value", &lab::Histogram::highest_in, "index"_a, "Highest latency in ns of a histogram bucket.");
}
