// Markers: the markers of an input of DataflowRun: one at each multiple of a period above the time of the first event,
// up to that of the last.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "run/event_key.h"
#include "run/source.h"

namespace lab {

// Block b of an input ends with marker b; no marker ends the last block.
struct Markers {
  std::int64_t first = 0;  // time of marker 0
  std::int64_t period = 1;
  std::int64_t count = 0;

  // Rows of block `block` have ts below this.
  std::int64_t end_of(std::int64_t block) const noexcept {
    return block == count ? kEndOfTime : first + block * period;
  }

  // With a load: when each marker is known to the reader of these streams, in ns after the start. That is when the last
  // of them has passed it, by an event, a heartbeat or its end.
  std::vector<std::int64_t> times_known(std::span<const StreamView* const> streams) const;
};

}  // namespace lab
