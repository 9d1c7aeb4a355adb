// Python bindings of typed dataflow graphs.
#include "convert.h"

#include "dataflow/dataflow_run.h"

namespace lab::python {
namespace {

// The state of a vertex: the initial state of new keys, and the entries of the present keys.
using StatePair = std::pair<nb::bytes, nb::bytes>;

std::vector<std::byte> bytes_of(const nb::bytes& bytes) {
  const auto* data = static_cast<const std::byte*>(bytes.data());
  return {data, data + bytes.size()};
}

StatePair state(const DataflowRun& run, std::int32_t vertex) {
  const FlowSpec::KeyedState state = run.state(vertex);
  return {nb::bytes(state.start.data(), state.start.size()), nb::bytes(state.entries.data(), state.entries.size())};
}

void add_vertex(DataflowRun& run, std::string name, const std::string& kind, const std::string& route,
                std::vector<std::int32_t> inputs, std::int32_t degree, Address items, Address markers, Address start,
                std::int64_t start_bytes, std::int64_t entry_bytes, std::int64_t max_outputs, bool keeps_key,
                bool is_answer, bool keyed, std::vector<std::int32_t> itemsizes, const std::vector<std::string>& fields,
                std::vector<std::int32_t> order, const std::vector<bool>& descending,
                const std::optional<StatePair>& initial_state) {
  FlowSpec spec;
  spec.name = std::move(name);
  spec.kind = static_cast<FlowSpec::Kind>(index_of("a vertex's kind", FlowSpec::kKinds, kind));
  spec.route = static_cast<FlowSpec::Route>(index_of("a route", FlowSpec::kRoutes, route));
  spec.inputs = std::move(inputs);
  spec.degree = degree;
  spec.items = pointer_at<FlowKernel>(items);
  spec.markers = pointer_at<FlowKernel>(markers);
  spec.start = pointer_at<StartKernel>(start);
  spec.start_bytes = start_bytes;
  spec.entry_bytes = entry_bytes;
  spec.max_outputs = max_outputs;
  spec.keeps_key = keeps_key;
  spec.is_answer = is_answer;
  spec.keyed = keyed;
  spec.itemsizes = std::move(itemsizes);
  for (const std::string& field : fields) {
    spec.fields.push_back(static_cast<FlowSpec::Field>(index_of("a field's kind", FlowSpec::kFields, field)));
  }
  spec.order = std::move(order);
  spec.descending.assign(descending.begin(), descending.end());
  if (initial_state) {
    spec.initial_state = FlowSpec::KeyedState{bytes_of(initial_state->first), bytes_of(initial_state->second)};
  }
  run.add_vertex(std::move(spec));
}

std::int32_t add_rows(DataflowRun& run, const Array<std::int64_t>& ts, const std::vector<AnyArray>& columns,
                      const Array<std::int64_t>& heartbeats, std::int32_t vertex, const Due& due,
                      const Due& heartbeat_due) {
  StreamView stream = stream_of(run, ts, heartbeats, due, heartbeat_due);
  for (const AnyArray& column : columns) {
    check_length(ts, column.shape(0));
    stream.columns.push_back(keep_alive(run, column));
  }
  return run.add_stream(std::move(stream), vertex);
}

}  // namespace

void bind_dataflow(nb::module_& m) {
  nb::class_<DataflowRun, Run>(m, "DataflowRun")
      .def(
          "__init__",
          [](DataflowRun* self, const RunSettings& settings, std::int64_t first, std::int64_t period,
             std::int64_t count, bool aligned, std::int64_t link_rows) {
            new (self) DataflowRun(DataflowOptions{settings, Markers{first, period, count}, aligned, link_rows});
          },
          "settings"_a, nb::kw_only(), "first"_a, "period"_a, "count"_a, "aligned"_a, "link_rows"_a,
          "Markers are at first, first + period, ...")
      .def("add_vertex", &add_vertex, nb::kw_only(), "name"_a, "kind"_a, "route"_a, "inputs"_a, "degree"_a, "items"_a,
           "markers"_a, "start"_a, "start_bytes"_a, "entry_bytes"_a, "max_outputs"_a, "keeps_key"_a, "is_answer"_a,
           "keyed"_a, "itemsizes"_a, "fields"_a, "order"_a, "descending"_a, "initial_state"_a.none() = nb::none())
      .def("state", &state, "vertex"_a,
           "After the run, return the initial state of new keys and the entries of keys, to resume from.")
      .def("add_stream", &add_rows, "ts"_a.noconvert(), "columns"_a, "heartbeats"_a.noconvert(), "vertex"_a,
           "due"_a.none().noconvert() = nb::none(), "heartbeat_due"_a.none().noconvert() = nb::none());
}

}  // namespace lab::python
