// Python bindings of the core's micro-benchmarks, for pytest-benchmark (benchmarks/test_core.py).
#include "bench.h"

#include <cstdint>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <string>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace {

std::vector<std::string> names() {
  std::vector<std::string> result;
  for (const lab::bench::Bench& bench : lab::bench::all()) result.emplace_back(bench.name);
  return result;
}

std::int64_t run(const std::string& name, std::int64_t n) { return lab::bench::run_checked(lab::bench::find(name), n); }

}  // namespace

NB_MODULE(_bench, m) {
  m.doc() = "Micro-benchmarks of the multicore engine's core; core_bench is the same set as a program.";
  m.def("names", &names, "Names of all benchmarks, in a fixed order.");
  m.def(
      "unit", [](const std::string& name) { return std::string(lab::bench::find(name).unit); }, "name"_a,
      "The unit of a benchmark's n.");
  m.def(
      "default_n", [](const std::string& name) { return lab::bench::find(name).n; }, "name"_a,
      "The n at which a benchmark's instructions are counted.");
  m.def(
      "spent_s", [] { return static_cast<double>(lab::bench::spent_ns()) * 1e-9; },
      "Seconds that this thread has spent inside benchmarks, without their set-up and the check of their answers.");
  m.def("run", &run, "name"_a, "n"_a,
        "Runs a benchmark and returns its checksum. Raises ValueError for an unknown name or n below 1, and "
        "RuntimeError for a wrong checksum.");
}
