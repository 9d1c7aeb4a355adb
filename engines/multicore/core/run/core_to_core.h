// Core-to-core latency: how long a cache line takes from one core to another.
//
// It is what workers pay for each line that they share, and a property of the machine: 20 to 50 ns within a cluster of
// cores, 100 to 300 ns between clusters or sockets. A hypervisor may move the cores of a guest while it runs.
#pragma once
#include <cstdint>

namespace lab {

// Two threads, pinned to a core each, write a line in turn. Returns nanoseconds one way: the lowest of several short
// tries, so that an interruption of either does not count; -1 when no try has ended within `limit_ns` in all. Throws
// std::invalid_argument when the cores are the same or below 0, or the limit is above an hour; std::runtime_error when a
// thread cannot be pinned.
double core_to_core_ns(std::int32_t first, std::int32_t second, std::int64_t limit_ns);

}  // namespace lab
