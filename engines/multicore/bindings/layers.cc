// Python bindings of query graphs.
#include "stages.h"

#include "layers/layers_run.h"

namespace lab::python {
namespace {

std::int32_t add_tuples(LayersRun& run, const Array<std::int64_t>& ts, const TupleColumns& columns,
                        const Array<std::int64_t>& heartbeats, std::int32_t input, Address process, Address route,
                        const Due& due, const Due& heartbeat_due) {
  StreamView stream = stream_of(run, ts, heartbeats, due, heartbeat_due);
  add_columns(run, stream, columns);
  return run.add_stream(std::move(stream), input, pointer_at<ProcessKernel>(process), pointer_at<RouteKernel>(route));
}

}  // namespace

void bind_layers(nb::module_& m) {
  m.attr("DETERMINISMS") = list_of(kDeterminisms);
  m.attr("CHANNELS") = list_of(kChannels);
  m.attr("MERGE_UNITS") = list_of(kMergeUnits);
  m.attr("DEALINGS") = list_of(kDealings);
  bind_stages(nb::class_<LayersRun, Run>(m, "LayersRun"))
      .def(
          "__init__",
          [](LayersRun* self, const RunSettings& settings, const std::string& determinism, const std::string& channels,
             const std::string& merge_unit, const std::string& dealing, std::int64_t channel_rows,
             std::vector<std::int32_t> itemsizes) {
            LayersOptions options{settings};
            options.determinism = static_cast<Determinism>(index_of("determinism", kDeterminisms, determinism));
            options.channels = static_cast<Channels>(index_of("channels", kChannels, channels));
            options.merge_unit = static_cast<MergeUnit>(index_of("merge_unit", kMergeUnits, merge_unit));
            options.dealing = static_cast<Dealing>(index_of("dealing", kDealings, dealing));
            options.channel_rows = channel_rows;
            options.input_itemsizes = std::move(itemsizes);
            new (self) LayersRun(std::move(options));
          },
          "settings"_a, nb::kw_only(), "determinism"_a, "channels"_a, "merge_unit"_a, "dealing"_a, "channel_rows"_a,
          "itemsizes"_a)
      .def(
          "set_operator",
          [](LayersRun& run, const OperatorSpec& spec, std::vector<std::int32_t> owner,
             std::vector<std::int32_t> itemsizes, const std::optional<std::int64_t>& end_watermark) {
            run.set_operator({spec, std::move(owner), std::move(itemsizes), end_watermark});
          },
          nb::kw_only(), "spec"_a, "owner"_a, "itemsizes"_a, "end_watermark"_a.none())
      .def("add_stream", &add_tuples, "ts"_a.noconvert(), "columns"_a, "heartbeats"_a.noconvert(), "input"_a,
           "process"_a, "route"_a, "due"_a.none().noconvert() = nb::none(),
           "heartbeat_due"_a.none().noconvert() = nb::none());
}

}  // namespace lab::python
