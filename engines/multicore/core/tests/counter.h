// counter: finds a counter of a run by its name.
#pragma once
#include <cstdint>
#include <string_view>

#include "check.h"

#include "run/run.h"

namespace lab::test {

inline std::int64_t counter(const Run& run, std::string_view wanted) {
  for (const auto& [name, value] : run.counters()) {
    if (name == wanted) return value;
  }
  CHECK(!"such a counter");
  return 0;
}

}  // namespace lab::test
