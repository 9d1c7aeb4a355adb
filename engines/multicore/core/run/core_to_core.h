// core_to_core_ns: measures core-to-core latency, the time that a cache line takes from one core to another.
//
// Workers pay this latency for each line that they share. It depends on the machine: 20 to 50 ns within a cluster of
// cores, 100 to 300 ns between clusters or sockets. A hypervisor may move the cores of a guest while it runs.
#pragma once
#include <cstdint>

namespace lab {

// Lets two threads, each pinned to its core, write a cache line in turn. Returns the time one way in ns: the lowest of
// several short tries, so that an interruption of a thread does not count. Returns -1 if no try ended within `limit_ns`
// in total. Throws std::invalid_argument if the cores are equal or below 0, or the limit is above an hour. Throws
// std::runtime_error if it cannot pin a thread.
double core_to_core_ns(std::int32_t first, std::int32_t second, std::int64_t limit_ns);

}  // namespace lab
