// Like no_memory_test.cc, for pipelines and dataflow graphs.
#include <random>

#include "check.h"
#include "starve.h"

#include "dataflow/tests/flow_cases.h"
#include "layers/tests/layers_cases.h"
#include "ordered/ordered_run.h"

namespace {

using lab::test::behaviours;
using Kind = lab::StageSpec::Kind;

// Links, tables, SORT's rows, outputs: all allocate during the run.
void graphs() {
  using lab::test::vertices;
  using Route = lab::FlowSpec::Route;
  using FlowKind = lab::FlowSpec::Kind;
  vertices = {};
  vertices[1] = {.kind = FlowKind::kPartial, .inputs = {0}};
  vertices[2] = {.kind = FlowKind::kKeyed, .route = Route::kHash, .inputs = {1}, .degree = 2, .items = false};
  vertices[3] = {.kind = FlowKind::kSort, .route = Route::kHash, .inputs = {2, 0}, .degree = 2};
  vertices[4] = {.kind = FlowKind::kKeyed, .inputs = {3}, .degree = 2, .is_answer = true, .ordered = true};
  lab::test::FlowInput input;
  input.sources = {0};
  input.streams.emplace_back();
  for (std::int64_t i = 0; i < 6000; ++i) input.streams[0].add({i / 1000, i * 7919 % 100, 0, i});
  const auto make = [&] {
    auto options = lab::test::short_run<lab::DataflowOptions>(2, 2);
    options.batch = 64;
    options.markers = lab::test::markers_of(input, 3);
    auto run = lab::test::flow_of(options, input, 5);
    run->start();
    return run;
  };
  lab::test::starves_saying(make, ": operator number 2: out of memory: its table of ");
}

}  // namespace

int main() {
  graphs();
  behaviours = {};
  behaviours[1].kind = Kind::kPartitioned;
  std::mt19937 random(3);
  const auto streams = lab::test::random_streams(random, 2, 400, 20, 3);
  const auto make = [&] {
    auto options = lab::test::short_run<lab::OrderedOptions>(2, 2);
    options.batch = 8;
    auto run = lab::test::run_of<lab::OrderedRun>(options, streams, 2);
    run->start();
    return run;
  };
  lab::test::starves_saying(make, ": out of memory: the table of keys of partition ");
  for (const auto determinism : {lab::Determinism::kCommunication, lab::Determinism::kOperator}) {
    const auto graph = [&] {
      auto options = lab::test::short_run<lab::LayersOptions>(2, 2);
      options.determinism = determinism;
      options.channel_rows = 16;
      auto run = lab::test::run_of<lab::LayersRun>(options, streams, 2);
      run->start();
      return run;
    };
    lab::test::starves_saying(graph, ": out of memory: the table of keys of partition ");
  }
  return 0;
}
