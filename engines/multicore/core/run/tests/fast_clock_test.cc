// The unfenced clock stays close to the library's clock and never decreases.
#include "run/fast_clock.h"

#include <chrono>
#include <thread>

#include "check.h"

namespace {

// Whether a reading is within 2 us of the library clock's readings before and after it. It is not if the
// owner lost its core while the clock made an anchor: the anchor's rate is then wrong until the next one.
bool agrees(std::int64_t before, std::int64_t between) {
  return between >= before - 2'000 && between <= lab::now_ns() + 2'000;
}

void it_stays_close_to_the_clock_and_never_runs_backwards() {
  constexpr int kReadings = 200'000;
  lab::FastClock clock;
  std::int64_t last = 0;
  for (int apart = kReadings; apart * 20 >= kReadings;) {
    apart = 0;
    for (int i = 0; i < kReadings; ++i) {
      const std::int64_t before = lab::now_ns();
      const std::int64_t between = clock.now();
      if (!agrees(before, between)) ++apart;
      CHECK(between >= last);
      last = between;
    }
  }
}

void a_sleep_does_not_lead_it_astray() {
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
  it_stays_close_to_the_clock_and_never_runs_backwards();
  a_sleep_does_not_lead_it_astray();
  return 0;
}
