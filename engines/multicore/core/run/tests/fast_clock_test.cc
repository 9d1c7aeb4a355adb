// The unfenced clock stays beside the library's and never runs backwards.
#include "run/fast_clock.h"

#include <chrono>
#include <thread>

#include "check.h"

namespace {

void it_stays_beside_the_clock_and_never_runs_backwards() {
  lab::FastClock clock;
  std::int64_t last = 0;
  std::int64_t apart = 0;
  int readings = 0;
  const std::int64_t end = lab::now_ns() + 50'000'000;
  for (std::int64_t before = lab::now_ns(); before < end; before = lab::now_ns()) {
    const std::int64_t between = clock.now();
    const std::int64_t after = lab::now_ns();
    CHECK(between >= last);
    last = between;
    ++readings;
    // Outside [before, after] by more than 2 us: the anchor's rate was wrong, or the owner was interrupted.
    if (between < before - 2'000 || between > after + 2'000) ++apart;
  }
  CHECK(readings > 1000);
  CHECK(apart * 20 < readings);
}

void a_sleep_does_not_lead_it_astray() {
  lab::FastClock clock;
  for (int i = 0; i < 5; ++i) {
    for (int k = 0; k < 1000; ++k) clock.now();
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    const std::int64_t before = lab::now_ns();
    const std::int64_t between = clock.now();
    CHECK(between >= before - 2'000 && between <= lab::now_ns() + 2'000);
  }
}

}  // namespace

int main() {
  it_stays_beside_the_clock_and_never_runs_backwards();
  a_sleep_does_not_lead_it_astray();
  return 0;
}
