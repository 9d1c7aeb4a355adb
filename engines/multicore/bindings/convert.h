// Conversions that the bindings of all families share: from arrays to views that a run keeps alive, and from results to
// Python values.
#pragma once
#include <cstdint>
#include <memory>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "run/names.h"
#include "run/run.h"

namespace lab::python {

namespace nb = nanobind;
using namespace nb::literals;

template <typename T>
using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using AnyArray = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Address = std::uintptr_t;

template <typename Kernel>
Kernel pointer_at(Address address) {
  return reinterpret_cast<Kernel>(address);
}

// Makes a run keep an array alive, and returns the address of the array's items.
template <typename AnArray>
auto keep_alive(Run& run, const AnArray& array) {
  run.keep(std::make_shared<nb::object>(nb::cast(array)));
  return array.data();
}

// Like `keep_alive`, but returns all items of the array.
template <typename T>
std::span<const T> kept_span(Run& run, const Array<T>& array) {
  return {keep_alive(run, array), array.shape(0)};
}

using Due = std::optional<Array<std::int64_t>>;  // due times of events or heartbeats; None without a load

// Returns a stream whose only column yet is the timestamp. The run keeps the arrays alive.
inline StreamView stream_of(Run& run, const Array<std::int64_t>& ts, const Array<std::int64_t>& heartbeats,
                            const Due& due, const Due& heartbeat_due) {
  StreamView stream;
  stream.ts = kept_span(run, ts);
  stream.columns = {ts.data()};
  stream.heartbeats = kept_span(run, heartbeats);
  if (due) stream.due = kept_span(run, *due);
  if (heartbeat_due) stream.heartbeat_due = kept_span(run, *heartbeat_due);
  return stream;
}

inline void check_length(const Array<std::int64_t>& ts, std::size_t length) {
  if (length != ts.shape(0)) {
    throw std::invalid_argument("a column has " + std::to_string(length) + " rows; expected " +
                                std::to_string(ts.shape(0)) + ", as ts has");
  }
}

// The columns of a stream for an operator O+. None stands for a column that the input lacks. A list field has three
// columns.
using TupleColumns = std::vector<std::optional<AnyArray>>;

inline void add_columns(Run& run, StreamView& stream, const TupleColumns& columns) {
  for (const auto& column : columns) stream.columns.push_back(column ? keep_alive(run, *column) : nullptr);
}

// The used buckets of a histogram: their highest values and their counts, each as int64 in bytes. Tens of thousands of
// Python integers would take a millisecond of the measured time.
using Sparse = std::pair<nb::bytes, nb::bytes>;

inline Sparse sparse(const std::vector<std::int64_t>& counts) {
  std::vector<std::int64_t> values, used_counts;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    values.push_back(Histogram::highest_in(static_cast<std::int64_t>(i)));
    used_counts.push_back(counts[i]);
  }
  return {nb::bytes(values.data(), values.size() * sizeof(std::int64_t)),
          nb::bytes(used_counts.data(), used_counts.size() * sizeof(std::int64_t))};
}

// Returns the names of an option's values.
template <typename Names>
nb::list list_of(const Names& names) {
  nb::list result;
  for (const auto& name : names) result.append(nb::str(name.data(), name.size()));
  return result;
}

// Each function binds a family, in the file with the family's name. `bind_run` binds their base class; call it first.
void bind_run(nb::module_& m);
void bind_dgs(nb::module_& m);
void bind_oplus(nb::module_& m);
void bind_ordered(nb::module_& m);
void bind_layers(nb::module_& m);
void bind_joins(nb::module_& m);
void bind_dataflow(nb::module_& m);

}  // namespace lab::python
