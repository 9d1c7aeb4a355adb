// The unfenced clock stays close to the library's clock and never decreases.
#include "run/fast_clock.h"

#include <chrono>
#include <thread>

#include "check.h"

namespace {

// Returns whether a reading is within 2 us of the library clock's readings before and after it. It is not if the thread
// lost its core while the clock made an anchor: the rate of that anchor is then wrong until the next one.
bool agrees(std::int64_t before, std::int64_t reading) {
  return reading >= before - 2'000 && reading <= lab::now_ns() + 2'000;
}

void the_clock_stays_close_to_the_librarys_and_never_runs_backwards() {
  constexpr int kReadings = 200'000;
  lab::FastClock clock;
  std::int64_t last = 0;
  for (int apart = kReadings; apart * 20 >= kReadings;) {
    apart = 0;
    for (int i = 0; i < kReadings; ++i) {
      const std::int64_t before = lab::now_ns();
      const std::int64_t reading = clock.now();
      if (!agrees(before, reading)) ++apart;
      CHECK(reading >= last);
      last = reading;
    }
  }
}

void the_clock_is_right_after_a_sleep() {
  lab::FastClock clock;
  for (int good = 0; good < 5;) {
    for (int k = 0; k < 1000; ++k) clock.now();
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    const std::int64_t before = lab::now_ns();
    good += agrees(before, clock.now()) ? 1 : 0;
  }
}

}  // namespace

int main() {
  the_clock_stays_close_to_the_librarys_and_never_runs_backwards();
  the_clock_is_right_after_a_sleep();
  return 0;
}
