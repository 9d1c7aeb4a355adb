// Python bindings of operators O+.
#include "convert.h"

#include "oplus/oplus_run.h"

namespace lab::python {
namespace {

std::int32_t add_stream(OplusRun& run, const Array<std::int64_t>& ts, const TupleColumns& columns,
                        const Array<std::int64_t>& heartbeats, std::int32_t input, Address process, Address route,
                        const std::vector<std::pair<std::int32_t, bool>>& shapes, const Due& due,
                        const Due& heartbeat_due) {
  StreamView stream = stream_of(run, ts, heartbeats, due, heartbeat_due);
  add_columns(run, stream, columns);
  std::vector<ColumnShape> columns_shapes;
  for (const auto& [itemsize, is_list] : shapes) columns_shapes.push_back({itemsize, is_list});
  return run.add_stream(std::move(stream), input, pointer_at<ProcessKernel>(process), pointer_at<RouteKernel>(route),
                        std::move(columns_shapes));
}

// `carried`: for each field of a mapped tuple, the index of its column and the size of an item. Column 0 is the
// timestamp; `columns` follow. Size 0: the stream lacks the column.
std::int32_t add_mapped_stream(OplusRun& run, const Array<std::int64_t>& ts, const TupleColumns& columns,
                               const Array<std::int64_t>& heartbeats, std::int32_t input, Address process, Address map,
                               const std::vector<std::pair<std::size_t, std::int32_t>>& carried, const Due& due,
                               const Due& heartbeat_due) {
  StreamView stream = stream_of(run, ts, heartbeats, due, heartbeat_due);
  add_columns(run, stream, columns);
  MappedStream mapped;
  mapped.map = pointer_at<MapKernel>(map);
  for (const auto& [column, itemsize] : carried) mapped.carried.push_back({column, itemsize});
  return run.add_mapped_stream(std::move(stream), input, pointer_at<ProcessKernel>(process), std::move(mapped));
}

// A snapshot as a tuple: (time_ns, active instances, busy_ns, processed, windows, compared). `snapshot` returns None
// once the run is over.
using Seen = std::tuple<std::int64_t, std::vector<std::int32_t>, std::vector<std::int64_t>, std::vector<std::int64_t>,
                        std::vector<std::int64_t>, std::int64_t>;
std::optional<Seen> snapshot(const OplusRun& run) {
  std::optional<Snapshot> seen = run.snapshot();
  if (!seen) return std::nullopt;
  return Seen{seen->time_ns, seen->active, seen->busy_ns, seen->processed, seen->windows, seen->compared};
}

// Waits for a switch and returns its (event_ts, moved_bytes), or None if the run ends first.
std::optional<std::pair<std::int64_t, std::int64_t>> await(OplusRun& run, std::int64_t number, std::size_t op) {
  const std::optional<Switch> done = run.await(number, op);
  if (!done) return std::nullopt;
  return std::pair{done->event_ts, done->moved_bytes};
}

// A reconfiguration of an operator: (called_ns, done_ns, before, after, event_ts, moved_bytes). `before` and `after`
// list the active instances.
using Switched = std::tuple<std::int64_t, std::int64_t, std::vector<std::int32_t>, std::vector<std::int32_t>,
                            std::int64_t, std::int64_t>;
std::vector<Switched> switches(const OplusRun& run, std::size_t op) {
  std::vector<Switched> result;
  for (const Switch& change : run.switches(op)) {
    result.emplace_back(change.called_ns, change.done_ns, change.before, change.after, change.event_ts,
                        change.moved_bytes);
  }
  return result;
}

// Returns, by instance and step of the grid, (busy_ns, compared).
std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> load_steps(const OplusRun& run) {
  std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> result;
  for (const auto& steps : run.load_steps()) {
    result.emplace_back();
    for (const LoadStep& step : steps) result.back().emplace_back(step.busy_ns, step.compared);
  }
  return result;
}

}  // namespace

void bind_oplus(nb::module_& m) {
  m.attr("FARTHEST") = kFarthestTime;
  m.attr("MAX_DOWNSTREAM") = kMaxLogReaders;
  m.attr("WINDOW_TABLE_BYTES") = sizeof(WindowTable);
  m.attr("TUPLE_BUFFERS") = list_of(kTupleBuffers);
  nb::class_<OperatorSpec>(m, "OperatorSpec")
      .def(
          "__init__",
          [](OperatorSpec* self, std::string name, std::int64_t advance, std::int64_t size, bool single,
             std::int32_t inputs, std::int64_t entry_bytes, std::int32_t buckets, Address expire,
             std::int64_t max_outputs, bool emits_on_update, bool keeps_time, bool bag,
             std::vector<std::int32_t> stored_fields, bool matches_stored, Address match_by_left,
             Address match_by_right, Address emit_pairs) {
            OperatorSpec spec;
            spec.name = std::move(name);
            spec.window = {advance, size, single};
            spec.inputs = inputs;
            spec.entry_bytes = entry_bytes;
            spec.buckets = buckets;
            spec.expire = pointer_at<ExpireKernel>(expire);
            spec.max_outputs = max_outputs;
            spec.emits_on_update = emits_on_update;
            spec.keeps_time = keeps_time;
            spec.bag = bag;
            spec.stored_fields = std::move(stored_fields);
            spec.matches_stored = matches_stored;
            spec.match_by_left = pointer_at<MatchKernel>(match_by_left);
            spec.match_by_right = pointer_at<MatchKernel>(match_by_right);
            spec.emit_pairs = pointer_at<PairKernel>(emit_pairs);
            new (self) OperatorSpec(spec);
          },
          nb::kw_only(), "name"_a, "advance"_a, "size"_a, "single"_a, "inputs"_a, "entry_bytes"_a, "buckets"_a,
          "expire"_a, "max_outputs"_a, "emits_on_update"_a, "keeps_time"_a = false, "bag"_a = false,
          "stored_fields"_a = std::vector<std::int32_t>{}, "matches_stored"_a = false, "match_by_left"_a = 0,
          "match_by_right"_a = 0, "emit_pairs"_a = 0);
  nb::class_<OplusRun, Run>(m, "OplusRun")
      .def(
          "__init__",
          [](OplusRun* self, const RunSettings& settings, const OperatorSpec& spec, std::int32_t max_instances,
             std::string tuple_buffer, bool shared_nothing, std::vector<std::int32_t> itemsizes,
             const std::optional<std::int64_t>& end_watermark, const std::optional<std::int64_t>& link_rows,
             std::int32_t downstream, std::int32_t map_instances) {
            OplusOptions options{settings};
            options.max_instances = max_instances;
            options.tuple_buffer = std::move(tuple_buffer);
            options.shared_nothing = shared_nothing;
            options.output_itemsizes = std::move(itemsizes);
            options.end_watermark = end_watermark;
            if (link_rows) options.link_rows = *link_rows;
            options.downstream = downstream;
            options.map_instances = map_instances;
            new (self) OplusRun(std::move(options), spec);
          },
          "settings"_a, nb::kw_only(), "spec"_a, "max_instances"_a, "tuple_buffer"_a, "shared_nothing"_a, "itemsizes"_a,
          "end_watermark"_a.none(), "link_rows"_a.none() = nb::none(), "downstream"_a = 0, "map_instances"_a = 0)
      .def(
          "add_operator",
          [](OplusRun& run, const OperatorSpec& spec, Address process, std::vector<std::int32_t> itemsizes) {
            run.add_operator(spec, pointer_at<ProcessKernel>(process), std::move(itemsizes));
          },
          "spec"_a, "process"_a, "itemsizes"_a)
      .def("add_stream", &add_stream, "ts"_a.noconvert(), "columns"_a, "heartbeats"_a.noconvert(), "input"_a,
           "process"_a, "route"_a, "shapes"_a, "due"_a.none().noconvert() = nb::none(),
           "heartbeat_due"_a.none().noconvert() = nb::none())
      .def("add_mapped_stream", &add_mapped_stream, "ts"_a.noconvert(), "columns"_a, "heartbeats"_a.noconvert(),
           "input"_a, "process"_a, "map"_a, "carried"_a, "due"_a.none().noconvert() = nb::none(),
           "heartbeat_due"_a.none().noconvert() = nb::none())
      .def("map", &OplusRun::map, "owner"_a, "op"_a = 0)
      .def("reconfigure", &OplusRun::reconfigure, nb::call_guard<nb::gil_scoped_release>(), "instances"_a, "owner"_a,
           "op"_a = 0)
      .def("await_switch", &await, nb::call_guard<nb::gil_scoped_release>(), "number"_a, "op"_a = 0)
      .def("snapshot", &snapshot)
      .def("switches", &switches, "op"_a = 0)
      .def("load_steps", &load_steps);
}

}  // namespace lab::python
