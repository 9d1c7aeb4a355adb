// Ordered pipelines of native operators, for the tests.
#pragma once
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "ordered/ordered_run.h"
#include "stages/tests/stage_cases.h"

namespace lab::test {

inline std::unique_ptr<OrderedRun> pipeline_of(OrderedOptions options, const std::vector<Rows>& streams,
                                               std::size_t operators) {
  return run_of<OrderedRun>(std::move(options), streams, operators);
}

}  // namespace lab::test
