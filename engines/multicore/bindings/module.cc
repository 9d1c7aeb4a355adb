// Python bindings of the core. A caller sets up a run from arrays and function addresses, runs it, and reads its
// results.
#include <cstddef>
#include <map>
#include <nanobind/stl/map.h>
#include <string>

#include "convert.h"

#include "dataflow/kernel.h"
#include "dataflow/spec.h"
#include "oplus/kernel.h"
#include "oplus/stored_tuples.h"
#include "run/core_to_core.h"
#include "run/generator.h"
#include "run/kernel.h"
#include "run/key_table.h"
#include "stages/kernel.h"
#include "stages/spec.h"

using namespace lab::python;

namespace {

using Fields = std::map<std::string, std::size_t>;

template <std::size_t kOffset>
constexpr std::size_t word() {
  static_assert(kOffset % 8 == 0, "kernels access whole words");
  return kOffset / 8;
}

#define FIELD(type, name) {#name, word<offsetof(lab::type, name)>()}

// Returns, by struct, the place of each field that kernels access, in words of 8 bytes. kernels/memory.py reads these
// places, so that the offsets are written down only once.
std::map<std::string, Fields> structs() {
  return {
      {"Emit", {FIELD(Emit, columns), FIELD(Emit, count), FIELD(Emit, capacity), FIELD(Emit, refused)}},
      {"KeySet",
       {FIELD(KeySet, columns), FIELD(KeySet, count), FIELD(KeySet, capacity), FIELD(KeySet, refused),
        FIELD(KeySet, owner), FIELD(KeySet, me)}},
      {"InstanceView",
       {FIELD(InstanceView, keys),        FIELD(InstanceView, stamp),        FIELD(InstanceView, instance),
        FIELD(InstanceView, find),        FIELD(InstanceView, streams),      FIELD(InstanceView, rows),
        FIELD(InstanceView, sources),     FIELD(InstanceView, keyed_places), FIELD(InstanceView, tables),
        FIELD(InstanceView, left),        FIELD(InstanceView, slot),         FIELD(InstanceView, prefetch),
        FIELD(InstanceView, reserve),     FIELD(InstanceView, compared),     FIELD(InstanceView, output_demand),
        FIELD(InstanceView, new_entries), FIELD(InstanceView, single_keys),  FIELD(InstanceView, routed),
        FIELD(InstanceView, row_keys),    FIELD(InstanceView, streams_end),  FIELD(InstanceView, firsts),
        FIELD(InstanceView, counts),      FIELD(InstanceView, shifts)}},
      {"WindowIndex",
       {FIELD(WindowIndex, slots), FIELD(WindowIndex, entries), FIELD(WindowIndex, mask), FIELD(WindowIndex, shift),
        FIELD(WindowIndex, count), FIELD(WindowIndex, limit)}},
      {"StoredTuples",
       {FIELD(StoredTuples, first), FIELD(StoredTuples, last), FIELD(StoredTuples, limit),
        FIELD(StoredTuples, memory)}},
      {"StageCall",
       {FIELD(StageCall, columns), FIELD(StageCall, base), FIELD(StageCall, order), FIELD(StageCall, state),
        FIELD(StageCall, find), FIELD(StageCall, sources), FIELD(StageCall, partitions)}},
      {"FlowCall",
       {FIELD(FlowCall, columns), FIELD(FlowCall, base), FIELD(FlowCall, table), FIELD(FlowCall, start),
        FIELD(FlowCall, make), FIELD(FlowCall, sources), FIELD(FlowCall, marker)}},
  };
}

}  // namespace

NB_MODULE(_core, m) {
  m.doc() = "The multicore engine's C++ core. Use streamlab.engines.multicore.adapter instead of calling it directly.";
  bind_run(m);
  bind_dgs(m);
  bind_oplus(m);
  bind_ordered(m);
  bind_layers(m);
  bind_joins(m);
  bind_dataflow(m);
  m.attr("STRUCTS") = nb::cast(structs());
  m.attr("WINDOWS_AT") = lab::WindowTable::kKeyOffset;
  m.attr("NO_STAMP") = lab::WindowTable::kNoStamp;
  m.attr("NO_WINDOW") = lab::WindowTable::kNoWindow;
  m.attr("STORED_TUPLES_AT") = lab::StoredPlaces::kOffset;
  m.attr("STORED_TUPLES_BYTES") = sizeof(lab::StoredTuples);
  m.attr("STATE_AT") = lab::KeyStates::kHeadBytes;
  static_assert(lab::FlowTable::kHeadBytes == lab::KeyStates::kHeadBytes);
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
        "limit_ns"_a,
        "Return the nanoseconds that a cache line takes from one core to another, or -1 if not measured within the "
        "limit.");
  m.def("bucket_value", &lab::Histogram::highest_in, "index"_a,
        "Return the highest latency in ns of a histogram bucket.");
}
