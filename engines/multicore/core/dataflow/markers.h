// The markers of an input: at each multiple of a period above the time of the first event, up to that of the last.
#pragma once
#include <cstdint>
#include <vector>

#include "run/event_key.h"

namespace lab {

// Block b of an input ends with marker b, but for the last one, which no marker ends.
struct Markers {
  std::int64_t first = 0;  // time of marker 0
  std::int64_t period = 1;
  std::int64_t count = 0;
  std::vector<std::int64_t> due;  // with a load: when each is known, in ns after the start

  // Rows of block `block` have ts below this.
  std::int64_t end_of(std::int64_t block) const noexcept {
    return block == count ? kEndOfTime : first + block * period;
  }
};

}  // namespace lab
