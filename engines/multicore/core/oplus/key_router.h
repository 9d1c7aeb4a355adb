// Runs Algorithm 1 for the rows of a stream: finds the keyed instances responsible for a key of each row.
#pragma once
#include <cstdint>
#include <stdexcept>

#include "oplus/instance.h"

namespace lab {

// Each instance has one bit; the highest bit stays free.
inline constexpr std::int32_t kMostRouted = 63;

// Writes, for rows [begin, end) of a stream, the bits of the instances to which `owner` assigns a bucket of the row's
// keys. Throws std::runtime_error when f_MK raised.
inline void route_rows(const OperatorStream& stream, std::int64_t begin, std::int64_t end, const std::int32_t* owner,
                       std::uint64_t* masks) {
  if (stream.route(owner, stream.view->columns.data(), begin, end, masks) - 1 != end) {
    throw std::runtime_error("keys raised an exception");
  }
}

}  // namespace lab
