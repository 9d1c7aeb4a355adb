// EventKey: the total order of all events of an input: (timestamp, stream, position in the stream).
//
// An EventKey omits the position, since events of one stream keep their order by construction. Between streams,
// (timestamp, stream) decides. Mailboxes and links compare these keys.
#pragma once
#include <compare>
#include <cstdint>
#include <limits>

namespace lab {

struct EventKey {
  std::int64_t ts;
  std::int32_t stream;

  friend constexpr auto operator<=>(const EventKey&, const EventKey&) = default;
};

inline constexpr std::int64_t kEndOfTime = std::numeric_limits<std::int64_t>::max();

// The key after every event. A finished stream promises it.
inline constexpr EventKey kEndOfStream{kEndOfTime, std::numeric_limits<std::int32_t>::max()};

}  // namespace lab
