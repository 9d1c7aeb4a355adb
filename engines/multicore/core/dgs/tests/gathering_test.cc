// The mode of a run over time, with given rates and a simulated clock.
#include "dgs/gathering.h"

#include <functional>

#include "check.h"

namespace {

constexpr std::int64_t kMs = 1'000'000;

// Runs from `from_ns` to `to_ns`. `rate` returns the events per ns for a time and a mode. Returns the share of
// the time in which the run was gathered.
double share_gathered(lab::Gathering& gathering, std::int64_t from_ns, std::int64_t to_ns,
                      const std::function<double(std::int64_t, bool)>& rate, double& events,
                      std::int64_t look_ns = 10'000, std::int64_t workers = 2) {
  std::int64_t gathered_ns = 0;
  for (std::int64_t now = from_ns; now < to_ns;) {
    if (gathering.due(now)) gathering.decide(now, static_cast<std::int64_t>(events));
    // A turn for all workers takes that many times as long.
    const std::int64_t turn_ns = gathering.gathered() ? workers * look_ns : look_ns;
    events += rate(now, gathering.gathered()) * static_cast<double>(turn_ns);
    if (gathering.gathered()) gathered_ns += turn_ns;
    now += turn_ns;
  }
  return static_cast<double>(gathered_ns) / static_cast<double>(to_ns - from_ns);
}

double run(const std::function<double(std::int64_t, bool)>& rate, std::int64_t to_ns, std::int64_t look_ns = 10'000,
           std::int64_t workers = 2) {
  lab::Gathering gathering;
  double events = 0;
  return share_gathered(gathering, kMs, kMs + to_ns, rate, events, look_ns, workers);
}

void the_better_mode_has_most_of_the_time() {
  CHECK(run([](std::int64_t, bool gathered) { return gathered ? 0.2 : 0.4; }, 1000 * kMs) < 0.03);
  CHECK(run([](std::int64_t, bool gathered) { return gathered ? 0.4 : 0.04; }, 1000 * kMs) > 0.97);
  // At equal rates no worker is sent to sleep.
  CHECK(run([](std::int64_t, bool) { return 0.3; }, 1000 * kMs) < 0.03);
  CHECK(run([](std::int64_t, bool) { return 0.0; }, 1000 * kMs) < 0.03);
}

void short_runs_choose_early() {
  // 5 ms, the length of a demo, of which the decision takes half a millisecond.
  CHECK(run([](std::int64_t, bool gathered) { return gathered ? 2.0 : 0.5; }, 5 * kMs) > 0.8);
  CHECK(run([](std::int64_t, bool gathered) { return gathered ? 0.5 : 2.0; }, 5 * kMs) < 0.2);
}

// With turns of milliseconds, the mode is checked rarely, and so tried rarely.
void tries_take_a_bounded_share_of_the_time_however_long_turns_are() {
  for (const std::int64_t look_ns : {10'000LL, 300'000LL, 16'000'000LL}) {
    for (const std::int64_t workers : {2, 8}) {
      const auto apart = [](std::int64_t, bool gathered) { return gathered ? 0.2 : 0.4; };
      const auto together = [](std::int64_t, bool gathered) { return gathered ? 0.4 : 0.04; };
      const std::int64_t long_enough = 2000 * workers * look_ns + 2000 * kMs;
      CHECK(run(apart, long_enough, look_ns, workers) < 0.06);
      CHECK(run(together, long_enough, look_ns, workers) > 0.94);
    }
  }
}

// A mode looks too good in its first moments: the choice is wrong, but for less than half of the time.
void a_mode_that_looks_good_at_first_does_not_stay_for_long() {
  std::int64_t since = 0;
  bool last = false;
  const auto rate = [&](std::int64_t now, bool gathered) {
    if (gathered != last) since = now;
    last = gathered;
    const bool young = now - since < 400'000;
    return gathered ? (young ? 0.5 : 0.2) : 0.4;
  };
  CHECK(run(rate, 2000 * kMs) < 0.1);
}

void a_change_of_the_machine_is_followed() {
  lab::Gathering gathering;
  double events = 0;
  const auto rate = [](std::int64_t now, bool gathered) { return gathered == (now < 500 * kMs) ? 1.0 : 0.1; };
  CHECK(share_gathered(gathering, kMs, 500 * kMs, rate, events) > 0.9);
  share_gathered(gathering, 500 * kMs, 800 * kMs, rate, events);  // at most the time of a choice
  CHECK(share_gathered(gathering, 800 * kMs, 1500 * kMs, rate, events) < 0.1);
}

void a_change_that_cannot_be_made_yet_is_requested_again() {
  lab::Gathering gathering;
  std::int64_t now = kMs;
  while (!gathering.decide(now, now)) now += 10'000;
  CHECK(gathering.gathered());
  while (!gathering.decide(now, 2 * now)) now += 10'000;
  CHECK(!gathering.gathered());
  gathering.postpone();
  CHECK(gathering.gathered());
  CHECK(gathering.decide(now + 1, 2 * now));
  CHECK(!gathering.gathered());
}

}  // namespace

int main() {
  the_better_mode_has_most_of_the_time();
  short_runs_choose_early();
  tries_take_a_bounded_share_of_the_time_however_long_turns_are();
  a_mode_that_looks_good_at_first_does_not_stay_for_long();
  a_change_of_the_machine_is_followed();
  a_change_that_cannot_be_made_yet_is_requested_again();
  return 0;
}
