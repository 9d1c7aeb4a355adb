// The Python face of the hand-written band joins: set up a JoinsRun from arrays, run it, read results.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "joins/band_match.h"
#include "convert.h"
#include "joins/joins_run.h"

namespace lab::python {
namespace {

using namespace nb::literals;

JoinKind kind_of(const std::string& name) {
  if (name == "adhoc") return JoinKind::kAdHoc;
  if (name == "1t") return JoinKind::kSingle;
  if (name == "indexed") return JoinKind::kIndexed;
  throw std::invalid_argument("a join is adhoc, 1t or indexed, not " + name);
}

// A JoinsRun together with the Python arrays that it borrows.
class JoinCore {
 public:
  explicit JoinCore(JoinsOptions options) : kind_(options.kind), run_(std::move(options)) {}

  template <typename T>
  const void* column(const nb::object& given, const Array<std::int64_t>& ts) {
    const auto array = nb::cast<Array<T>>(given, false);
    if (array.shape(0) != ts.shape(0)) throw std::invalid_argument("a column's length differs from ts");
    kept_.push_back(nb::cast(array));
    return array.data();
  }

  void add_stream(const Array<std::int64_t>& ts, const std::vector<nb::object>& columns,
                  const Array<std::int64_t>& heartbeats, const Due& due, const Due& heartbeat_due) {
    if (columns.size() != 2 && columns.size() != 4) throw std::invalid_argument("columns are x, y or a, b, c, d");
    StreamView stream = stream_of(ts, heartbeats, due, heartbeat_due, kept_);
    stream.columns.push_back(column<std::int32_t>(columns[0], ts));
    stream.columns.push_back(column<float>(columns[1], ts));
    if (columns.size() == 4) {
      stream.columns.push_back(column<double>(columns[2], ts));
      stream.columns.push_back(column<std::int8_t>(columns[3], ts));
    }
    run_.add_stream(std::move(stream));
  }

  void start() { run_.start(); }

  std::int64_t run() {
    nb::gil_scoped_release release;
    return run_.run();
  }

  void collect(const std::vector<Address>& columns) const {
    std::vector<void*> targets;
    for (const Address address : columns) targets.push_back(reinterpret_cast<void*>(address));
    nb::gil_scoped_release release;
    run_.collect(targets);
  }

  nb::dict counters() const {
    const Counters total = run_.counters();
    nb::dict result;
    result["sleeps"] = total.sleeps;
    result["yields"] = total.yields;
    result[kind_ == JoinKind::kIndexed ? "candidates" : "comparisons"] = run_.looked_at();
    result["outputs_grown"] = run_.outputs_grown();
    // The index looks at single rows, without vectors.
    if (kind_ != JoinKind::kIndexed) result["vector_bits"] = band_match().vector_bits;
    result["real_time_generator"] = run_.real_time_generator() ? 1 : 0;
    return result;
  }

 private:
  std::vector<nb::object> kept_;  // first: destroyed last
  JoinKind kind_;

 public:
  JoinsRun run_;
};

}  // namespace

void bind_joins(nb::module_& m) {
  nb::class_<JoinCore>(m, "JoinCore")
      .def(
          "__init__",
          [](JoinCore* self, const std::string& kind, std::int32_t threads, std::int64_t window, std::int32_t band,
             std::int64_t batch, std::uint64_t ring_blocks, const std::vector<std::int32_t>& cores, bool oversubscribed,
             const Load& load, bool spare_core, std::int64_t reserved_rows, bool measure) {
            JoinsOptions options;
            options.kind = kind_of(kind);
            options.threads = threads;
            options.window = window;
            options.band = band;
            options.batch = batch;
            options.ring_blocks = ring_blocks;
            options.cores = cores;
            options.oversubscribed = oversubscribed;
            options.load = load_options(load);
            options.spare_core = spare_core;
            options.reserved_rows = reserved_rows;
            options.measure = measure;
            new (self) JoinCore(std::move(options));
          },
          nb::kw_only(), "kind"_a, "threads"_a, "window"_a, "band"_a, "batch"_a, "ring_blocks"_a, "cores"_a,
          "oversubscribed"_a, "load"_a.none(), "spare_core"_a, "reserved_rows"_a, "measure"_a)
      .def("add_stream", &JoinCore::add_stream, "ts"_a.noconvert(), "columns"_a, "heartbeats"_a.noconvert(),
           "due"_a.none().noconvert() = nb::none(), "heartbeat_due"_a.none().noconvert() = nb::none(),
           "First x, y of the left input, then a, b, c, d of the right one.")
      .def("start", &JoinCore::start)
      .def("run", &JoinCore::run)
      .def("collect", &JoinCore::collect, "columns"_a)
      .def("counters", &JoinCore::counters)
      .def("rows", [](const JoinCore& core) { return core.run_.rows(); })
      .def("events", [](const JoinCore& core) { return core.run_.events(); })
      .def("emitted", [](const JoinCore& core) { return core.run_.emitted(); })
      .def("latency", [](const JoinCore& core) { return sparse(core.run_.latency_counts()); })
      .def("warm_up", [](const JoinCore& core) { return sparse(core.run_.warm_up_counts()); })
      .def("lag", [](const JoinCore& core) { return sparse(core.run_.lag_counts()); })
      .def("progress", [](const JoinCore& core) { return columns_of(core.run_.progress()); });
}

}  // namespace lab::python
