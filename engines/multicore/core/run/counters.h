// The counters of a thread's work. Each worker thread of a run increments its own.
#pragma once
#include <cstdint>

namespace lab {

// One thread at a time writes them. The run reads them at its end.
struct Counters {
  std::int64_t synchronizations = 0;  // won, so each counts once
  std::int64_t parked = 0;            // arrivals before the last
  std::int64_t moved_bytes = 0;       // of states that moved to another worker and back
  std::int64_t kernel_calls = 0;
  std::int64_t events = 0;  // of streams; each reader counts them again
  std::int64_t sleeps = 0;
  std::int64_t yields = 0;
  std::int64_t room_waits = 0;  // waits for room in a link
};

}  // namespace lab
