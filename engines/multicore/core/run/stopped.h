// The early end of a long piece of work in a run that has failed or was cancelled. Worker threads check for it.
#pragma once
#include <atomic>

namespace lab {

// A thread throws it to end early. It is no error: the run knows the reason.
struct Stopped {};

// `stop`: InstanceThreads::failure. Throws Stopped when it is set.
inline void go_on_unless(const std::atomic<bool>& stop) {
  // relaxed: the leaving thread reads no data of the thread that set the flag.
  if (stop.load(std::memory_order_relaxed)) throw Stopped();
}

}  // namespace lab
