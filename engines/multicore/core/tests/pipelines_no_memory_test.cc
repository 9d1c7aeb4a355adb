// As no_memory_test.cc, of pipelines.
#include <random>

#include "check.h"
#include "layers/tests/layers_cases.h"
#include "ordered/tests/ordered_cases.h"
#include "starve.h"

namespace {

using lab::test::behaviours;
using Kind = lab::StageSpec::Kind;

}  // namespace

int main() {
  behaviours = {};
  behaviours[1].kind = Kind::kPartitioned;
  std::mt19937 random(3);
  const auto streams = lab::test::random_streams(random, 2, 400, 20, 3);
  const auto said = lab::test::starve([&] {
    lab::OrderedOptions options;
    options.workers = 2;
    options.batch = 8;
    options.core_count = 2;
    options.grid_steps = 50;
    auto run = lab::test::pipeline_of(options, streams, 2);
    run->start();
    return run;
  });
  CHECK(lab::test::any_has(said, "operator "));
  CHECK(lab::test::kSanitized || lab::test::any_has(said, ": out of memory: the table of keys of partition "));
  for (const auto determinism : {lab::Determinism::kCommunication, lab::Determinism::kOperator}) {
    const auto failed = lab::test::starve([&] {
      lab::LayersOptions options;
      options.determinism = determinism;
      options.workers = 2;
      options.channel_rows = 16;
      options.core_count = 2;
      options.grid_steps = 50;
      auto run = lab::test::graph_of(options, streams, 2);
      run->start();
      return run;
    });
    CHECK(lab::test::kSanitized || lab::test::any_has(failed, ": out of memory: the table of keys of partition "));
  }
}
