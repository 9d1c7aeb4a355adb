// The total order of all events of an input: (timestamp, stream, position in the stream).
//
// Positions never need to be compared here, because events of one stream keep their order by
// construction; between streams (timestamp, stream) decides.
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

// After every event: what a finished stream promises.
inline constexpr EventKey kEndOfStream{kEndOfTime, std::numeric_limits<std::int32_t>::max()};

}  // namespace lab
