// Implements dataflow/markers.h.
#include "dataflow/markers.h"

#include <algorithm>

namespace lab {
namespace {

// Finds the first of ascending `times` that is at least `time`, and returns its due time, or kEndOfTime if there is
// none. The search starts at `index`, which becomes the index of the found time.
std::int64_t first_due(std::span<const std::int64_t> times, std::span<const std::int64_t> due, std::int64_t time,
                       std::size_t& index) {
  index = static_cast<std::size_t>(
      std::lower_bound(times.begin() + static_cast<std::ptrdiff_t>(index), times.end(), time) - times.begin());
  return index == times.size() ? kEndOfTime : due[index];
}

}  // namespace

std::vector<std::int64_t> Markers::known_times_ns(std::span<const StreamView* const> streams) const {
  std::vector<std::int64_t> result(static_cast<std::size_t>(count), 0);
  for (const StreamView* const stream : streams) {
    std::int64_t end_due = 0;  // time at which the end of the stream is known
    if (!stream->due.empty()) end_due = stream->due.back();
    if (!stream->heartbeat_due.empty()) end_due = std::max(end_due, stream->heartbeat_due.back());
    std::size_t event = 0;
    std::size_t heartbeat = 0;
    for (std::int64_t block = 0; block < count; ++block) {
      const std::int64_t time = end_of(block);
      // A heartbeat h promises that later events have a time above h.
      const std::int64_t due =
          std::min({first_due(stream->ts, stream->due, time, event),
                    first_due(stream->heartbeats, stream->heartbeat_due, time - 1, heartbeat), end_due});
      std::int64_t& latest = result[static_cast<std::size_t>(block)];
      latest = std::max(latest, due);
    }
  }
  return result;
}

}  // namespace lab
