#include "dataflow/markers.h"

#include <algorithm>

namespace lab {
namespace {

// Returns the due time of the first of some ascending moments at or after `time`; kEndOfTime: none. `at`: in, where to
// begin; out, its index.
std::int64_t first_due(std::span<const std::int64_t> moments, std::span<const std::int64_t> due, std::int64_t time,
                       std::size_t& at) {
  at = static_cast<std::size_t>(
      std::lower_bound(moments.begin() + static_cast<std::ptrdiff_t>(at), moments.end(), time) - moments.begin());
  return at == moments.size() ? kEndOfTime : due[at];
}

}  // namespace

std::vector<std::int64_t> Markers::times_known(std::span<const StreamView* const> streams) const {
  std::vector<std::int64_t> result(static_cast<std::size_t>(count), 0);
  for (const StreamView* const stream : streams) {
    std::int64_t over = 0;  // when its end is known
    if (!stream->due.empty()) over = stream->due.back();
    if (!stream->heartbeat_due.empty()) over = std::max(over, stream->heartbeat_due.back());
    std::size_t event = 0;
    std::size_t heartbeat = 0;
    for (std::int64_t block = 0; block < count; ++block) {
      const std::int64_t time = end_of(block);
      // A heartbeat h promises that later events have a time above it.
      const std::int64_t due =
          std::min({first_due(stream->ts, stream->due, time, event),
                    first_due(stream->heartbeats, stream->heartbeat_due, time - 1, heartbeat), over});
      std::int64_t& latest = result[static_cast<std::size_t>(block)];
      latest = std::max(latest, due);
    }
  }
  return result;
}

}  // namespace lab
