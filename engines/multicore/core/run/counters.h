// What a thread counts while it works.
#pragma once
#include <cstdint>

namespace lab {

// Written by one thread at a time, read after the run.
struct Counters {
  std::int64_t synchronizations = 0;  // won, i.e. counted once each
  std::int64_t parked = 0;            // arrivals that were not the last
  std::int64_t moved_bytes = 0;       // of states that went to another worker, and came back
  std::int64_t kernel_calls = 0;
  std::int64_t events = 0;  // of streams, once for each reader
  std::int64_t sleeps = 0;
  std::int64_t yields = 0;
  std::int64_t room_waits = 0;  // for room in a link
};

}  // namespace lab
