// Exceptions by which a thread of a run ends early, or reports that memory ran out.
#pragma once
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <new>

namespace lab {

// Thrown by a thread to end early. It is not an error; the run stores the reason.
struct Stopped {};

// Throws Stopped if `stop` (InstanceThreads::failure) is set.
inline void throw_if_stopped(const std::atomic<bool>& stop) {
  // relaxed: the leaving thread reads no data of the thread that set the flag.
  if (stop.load(std::memory_order_relaxed)) throw Stopped();
}

// Memory has run out. The message lives in the object, so reporting allocates nothing.
class NoMemory final : public std::bad_alloc {
 public:
  // Formats like printf; truncates a message that is too long.
  [[gnu::format(printf, 2, 3)]] explicit NoMemory(const char* format, ...) noexcept {
    std::va_list values;
    va_start(values, format);
    std::vsnprintf(what_, sizeof what_, format, values);
    va_end(values);
  }
  const char* what() const noexcept override { return what_; }

 private:
  char what_[512];
};

}  // namespace lab
