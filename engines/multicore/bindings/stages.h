// Bindings that ordered pipelines and query graphs share: operators and streams.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "convert.h"

#include "stages/spec.h"

namespace lab::python {

template <typename AnyRun>
void add_stage(AnyRun& run, std::string name, const std::string& kind, Address process, Address partition,
               std::int32_t partitions, std::int64_t state_bytes, std::int64_t max_outputs,
               std::vector<std::int32_t> itemsizes) {
  StageSpec spec;
  spec.name = std::move(name);
  spec.kind = static_cast<StageSpec::Kind>(index_of("an operator's kind", StageSpec::kKinds, kind));
  spec.process = pointer_at<StageKernel>(process);
  spec.partition = pointer_at<PartitionKernel>(partition);
  spec.partitions = partitions;
  spec.state_bytes = state_bytes;
  spec.max_outputs = max_outputs;
  spec.itemsizes = std::move(itemsizes);
  run.add_stage(std::move(spec));
}

template <typename AnyRun>
std::int32_t add_records(AnyRun& run, const Array<std::int64_t>& ts, const std::vector<AnyArray>& columns,
                         const Array<std::int64_t>& heartbeats, const Due& due, const Due& heartbeat_due) {
  StreamView stream = stream_of(run, ts, heartbeats, due, heartbeat_due);
  for (const AnyArray& column : columns) {
    check_length(ts, column.shape(0));
    stream.columns.push_back(keep_alive(run, column));
  }
  return run.add_stream(std::move(stream));
}

// Binds the methods that OrderedRun and LayersRun share.
template <typename AnyRun>
nb::class_<AnyRun, Run>& bind_stages(nb::class_<AnyRun, Run>&& binding) {
  return binding
      .def("add_stage", &add_stage<AnyRun>, nb::kw_only(), "name"_a, "kind"_a, "process"_a, "partition"_a,
           "partitions"_a, "state_bytes"_a, "max_outputs"_a, "itemsizes"_a)
      .def("add_stream", &add_records<AnyRun>, "ts"_a.noconvert(), "columns"_a, "heartbeats"_a.noconvert(),
           "due"_a.none().noconvert() = nb::none(), "heartbeat_due"_a.none().noconvert() = nb::none());
}

}  // namespace lab::python
