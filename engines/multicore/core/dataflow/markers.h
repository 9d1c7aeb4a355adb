// Markers: the markers of an input of DataflowRun. There is one marker at each multiple of a period after the first
// event's time, up to the last event's time.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "run/event_key.h"
#include "run/source.h"

namespace lab {

// A *block* has the events between two markers. Block b ends with marker b; no marker ends the last block.
struct Markers {
  std::int64_t first = 0;  // time of marker 0
  std::int64_t period = 1;
  std::int64_t count = 0;

  // Returns the time before which all rows of block `block` lie.
  std::int64_t end_of(std::int64_t block) const noexcept {
    return block == count ? kEndOfTime : first + block * period;
  }

  // With a load: returns, by marker, the time at which the reader of these streams knows the marker, in ns after the
  // start. A reader knows a marker when all streams have passed it, by an event, a heartbeat or their end.
  std::vector<std::int64_t> known_times_ns(std::span<const StreamView* const> streams) const;
};

}  // namespace lab
