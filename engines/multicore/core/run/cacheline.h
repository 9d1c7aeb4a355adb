// kCacheLine: the unit of false sharing, which separates fields of different writers.
#pragma once
#include <cstddef>

namespace lab {

// Two 64-byte lines: the adjacent-line prefetcher of x86 pulls pairs, and some ARM cores have 128-byte lines.
inline constexpr std::size_t kCacheLine = 128;

}  // namespace lab
