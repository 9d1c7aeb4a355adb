// How a piece of work that may take long ends early, when its run has failed or was called off.
#pragma once
#include <atomic>

namespace lab {

// Thrown by a thread of a run that has to end: no error, the run knows why.
struct Stopped {};

// `stop`: InstanceThreads::failure. Throws Stopped when it is set.
inline void go_on_unless(const std::atomic<bool>& stop) {
  // relaxed: who leaves reads nothing of what the thread that set it has written.
  if (stop.load(std::memory_order_relaxed)) throw Stopped();
}

}  // namespace lab
