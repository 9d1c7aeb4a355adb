// What the faces of ordered pipelines and of query graphs share: operators and streams set up from arrays and function
// addresses, a run without the interpreter's lock, and its results.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>
#include <vector>

#include "convert.h"
#include "stages/spec.h"

namespace lab::python {

// A runtime of operators in a line, together with the Python arrays that it borrows.
template <typename Runtime>
class StagesCore {
 public:
  template <typename Options>
  explicit StagesCore(Options options) : runtime_(std::move(options)) {}

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
                          const Array<std::int64_t>& heartbeats, const Due& due, const Due& heartbeat_due) {
    StreamView stream = stream_of(ts, heartbeats, due, heartbeat_due, kept_);
    for (const AnyArray& column : columns) {
      if (column.shape(0) != ts.shape(0)) throw std::invalid_argument("a column's length differs from ts");
      stream.columns.push_back(column.data());
      kept_.push_back(nb::cast(column));
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

  const Runtime& runtime() const noexcept { return runtime_; }

 protected:
  std::vector<nb::object> kept_;  // first: destroyed last
  Runtime runtime_;
};

// Adds the above and the results to the class of `Core`.
template <typename Core>
void bind_stages(nb::class_<Core>& face) {
  using namespace nb::literals;
  face.def("add_stage", &Core::add_stage, nb::kw_only(), "name"_a, "kind"_a, "process"_a, "partition"_a,
           "partitions"_a, "state_bytes"_a, "max_outputs"_a, "itemsizes"_a)
      .def("add_stream", &Core::add_stream, "ts"_a.noconvert(), "columns"_a, "heartbeats"_a.noconvert(),
           "due"_a.none().noconvert() = nb::none(), "heartbeat_due"_a.none().noconvert() = nb::none())
      .def("start", &Core::start)
      .def("run", &Core::run)
      .def("collect", &Core::collect, "columns"_a)
      .def("counters", &Core::counters)
      .def("rows", [](const Core& core) { return core.runtime().rows(); })
      .def("events", [](const Core& core) { return core.runtime().events(); })
      .def("emitted", [](const Core& core) { return core.runtime().emitted(); })
      .def("latency", [](const Core& core) { return sparse(core.runtime().latency_counts()); })
      .def("warm_up", [](const Core& core) { return sparse(core.runtime().warm_up_counts()); })
      .def("service", [](const Core& core) { return sparse(core.runtime().service_counts()); })
      .def("lag", [](const Core& core) { return sparse(core.runtime().lag_counts()); })
      .def("progress", [](const Core& core) { return columns_of(core.runtime().progress()); });
}

}  // namespace lab::python
