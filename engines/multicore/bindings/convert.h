// What both faces of the core share: array views, and results as Python values.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "run/run_parts.h"

namespace lab::python {

namespace nb = nanobind;

template <typename T>
using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using AnyArray = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Address = std::uintptr_t;

template <typename T>
std::span<const T> view(const Array<T>& array) {
  return {array.data(), array.shape(0)};
}

using Due = std::optional<Array<std::int64_t>>;  // with a load, of each event or heartbeat

// A stream whose first column is the timestamp. `kept`: gets what it borrows.
inline StreamView stream_of(const Array<std::int64_t>& ts, const Array<std::int64_t>& heartbeats, const Due& due,
                            const Due& heartbeat_due, std::vector<nb::object>& kept) {
  StreamView stream;
  stream.ts = view(ts);
  stream.columns = {ts.data()};
  stream.heartbeats = view(heartbeats);
  kept.push_back(nb::cast(ts));
  kept.push_back(nb::cast(heartbeats));
  if (due) {
    stream.due = view(*due);
    kept.push_back(nb::cast(*due));
  }
  if (heartbeat_due) {
    stream.heartbeat_due = view(*heartbeat_due);
    kept.push_back(nb::cast(*heartbeat_due));
  }
  return stream;
}

// The columns of a stream of an operator O+; None: its input does not have that one. Lists are three.
using TupleColumns = std::vector<std::optional<AnyArray>>;

inline void add_columns(StreamView& stream, const TupleColumns& columns, std::vector<nb::object>& kept) {
  for (const auto& column : columns) {
    stream.columns.push_back(column ? column->data() : nullptr);
    if (column) kept.push_back(nb::cast(*column));
  }
}

// A histogram as its used buckets: the highest value of each, and its count, as int64 in memory. Tens of
// thousands of Python integers would take a millisecond, inside the time that is measured.
using Sparse = std::pair<nb::bytes, nb::bytes>;

inline Sparse sparse(const std::vector<std::int64_t>& counts) {
  std::vector<std::int64_t> values, used;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    values.push_back(lab::Histogram::highest_in(static_cast<std::int64_t>(i)));
    used.push_back(counts[i]);
  }
  return {nb::bytes(values.data(), values.size() * sizeof(std::int64_t)),
          nb::bytes(used.data(), used.size() * sizeof(std::int64_t))};
}

using Load = std::optional<std::tuple<std::int64_t, std::int64_t, bool>>;  // warm_up_ns, end_ns, whole blocks

inline std::optional<LoadOptions> load_options(const Load& load) {
  if (!load) return std::nullopt;
  return LoadOptions{std::get<0>(*load), std::get<1>(*load), std::get<2>(*load)};
}

// Columns emitted, consumed, outputs, p50, p99, max; one entry per step of the grid.
inline std::vector<std::vector<std::int64_t>> columns_of(const std::vector<Progress>& steps) {
  std::vector<std::vector<std::int64_t>> columns(6);
  for (const Progress& step : steps) {
    const std::int64_t values[] = {step.emitted, step.consumed, step.outputs, step.p50_ns, step.p99_ns, step.max_ns};
    for (std::size_t i = 0; i < columns.size(); ++i) columns[i].push_back(values[i]);
  }
  return columns;
}

// The face of operators, in operators.cc.
void bind_operators(nb::module_& m);
// And of hand-written joins, in joins.cc.
void bind_joins(nb::module_& m);
// And of ordered pipelines, in pipelines.cc.
void bind_pipelines(nb::module_& m);
// And of query graphs, in layers.cc.
void bind_layers(nb::module_& m);

}  // namespace lab::python
