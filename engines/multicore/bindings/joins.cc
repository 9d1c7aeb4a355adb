// Python bindings of the hand-written band joins.
#include "convert.h"

#include "joins/joins_run.h"

namespace lab::python {
namespace {

// Returns the items of a column of T, which the run keeps alive. Throws unless the column is as long as `ts`.
template <typename T>
const void* column(JoinsRun& run, const nb::object& object, const Array<std::int64_t>& ts) {
  const auto array = nb::cast<Array<T>>(object, false);
  check_length(ts, array.shape(0));
  return keep_alive(run, array);
}

void add_stream(JoinsRun& run, const Array<std::int64_t>& ts, const std::vector<nb::object>& columns,
                const Array<std::int64_t>& heartbeats, const Due& due, const Due& heartbeat_due) {
  if (columns.size() != 2 && columns.size() != 4) {
    throw std::invalid_argument("got " + std::to_string(columns.size()) +
                                " columns; expected 2 (x, y) or 4 (a, b, c, d)");
  }
  StreamView stream = stream_of(run, ts, heartbeats, due, heartbeat_due);
  stream.columns.push_back(column<std::int32_t>(run, columns[0], ts));
  stream.columns.push_back(column<float>(run, columns[1], ts));
  if (columns.size() == 4) {
    stream.columns.push_back(column<double>(run, columns[2], ts));
    stream.columns.push_back(column<std::int8_t>(run, columns[3], ts));
  }
  run.add_stream(std::move(stream));
}

}  // namespace

void bind_joins(nb::module_& m) {
  m.attr("JOIN_KINDS") = list_of(kJoinKinds);
  m.attr("JOIN_FORMS") = list_of(kJoinForms);
  nb::class_<JoinsRun, Run>(m, "JoinsRun")
      .def(
          "__init__",
          [](JoinsRun* self, const RunSettings& settings, const std::string& kind, std::int64_t window,
             std::int32_t band, const std::string& form, std::string tuple_buffer) {
            JoinsOptions options{settings};
            options.kind = static_cast<JoinKind>(index_of("a join", kJoinKinds, kind));
            options.window = window;
            options.band = band;
            options.form = static_cast<JoinForm>(index_of("a form of joins", kJoinForms, form));
            options.tuple_buffer = std::move(tuple_buffer);
            new (self) JoinsRun(std::move(options));
          },
          "settings"_a, nb::kw_only(), "kind"_a, "window"_a, "band"_a, "form"_a, "tuple_buffer"_a)
      .def("add_stream", &add_stream, "ts"_a.noconvert(), "columns"_a, "heartbeats"_a.noconvert(),
           "due"_a.none().noconvert() = nb::none(), "heartbeat_due"_a.none().noconvert() = nb::none(),
           "Add the left input (x, y) first, then the right input (a, b, c, d).");
}

}  // namespace lab::python
