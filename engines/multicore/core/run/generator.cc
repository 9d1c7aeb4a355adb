#include "run/generator.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "run/clock.h"

#if defined(__linux__)
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <time.h>
#endif

namespace lab {
namespace {

// A sleep ends 50 to 100 us late on an idle machine (timer and scheduler); with a core to spare the rest is
// spun away.
constexpr std::int64_t kSpinNs = 100'000;

// Without one: what becomes due within this time is handed over together, so that at a million events/s the
// generator wakes 20,000 times a second and not a million times.
constexpr std::int64_t kShortestSleepNs = 50'000;

// As many sleeps say how late one ends, which the next ones are shorter by: 30 us and more on a virtual machine, where
// events due within 110 us went together instead of 50. At least kLeastSleepNs: who does not sleep takes a worker's core.
constexpr std::int64_t kSleepsToLearn = 16;
constexpr std::int64_t kLeastSleepNs = 5'000;

// The longest sleep at once: a run that has failed is noticed at the latest then.
constexpr std::int64_t kLongestSleepNs = 20'000'000;

// How long a full ring is left alone before it is looked at again. What waits keeps its due times meanwhile.
constexpr std::int64_t kFullRingNs = 50'000;

// An event may be this late and still count as sent by the end of the load: the bound on the send lag above
// which a trial is invalid anyway (METHOD: p99 at most 1 ms).
constexpr std::int64_t kGraceNs = 1'000'000;

// Blocks published of one source before the others get their turn and the clock is read again.
constexpr int kBlocksPerTurn = 16;

// Blocks of the null engine's ring: as many as the adapter gives an engine under a load.
constexpr std::uint64_t kNullRing = 1 << 14;

// Asks for real-time scheduling of the calling thread; needs the right to it (root, CAP_SYS_NICE, RLIMIT_RTPRIO).
bool take_priority() noexcept {
#if defined(__linux__)
  sched_param lowest{};
  lowest.sched_priority = 1;
  return pthread_setschedparam(pthread_self(), SCHED_FIFO, &lowest) == 0;
#else
  return false;
#endif
}

}  // namespace

void Generator::run(std::int64_t start_ns, std::span<Parker> parkers, const std::atomic<bool>& stop) noexcept {
#if defined(__linux__)
  prctl(PR_SET_TIMERSLACK, 1UL);  // the default of 50 us would be added to every sleep
#endif
  // It shares a core with a worker: on the ordinary queue it would now and then wait for the worker's time slice,
  // milliseconds. It sleeps most of the time, so the priority takes nothing from anybody but its own lateness.
  if (!spin_) real_time_ = take_priority();
  recorder.begin(start_ns, options_.warm_up_ns);
  // seq_cst: as every reader of this flag (dgs/dgs_run.h); it is rare and cheap.
  while (!stop.load(std::memory_order_seq_cst)) {
    // A sleep and not a yield, which a thread with real-time priority does not do for others.
    while (holdable_ && wanted_.load(std::memory_order_relaxed)) {  // relaxed: advice
      std::this_thread::sleep_for(std::chrono::nanoseconds(kShortestSleepNs));
    }
    auto held = holdable_ ? std::unique_lock(sources_) : std::unique_lock<std::mutex>();
    const std::int64_t now = now_ns();
    recorder.saw(now);
    const bool progress = turn(start_ns, now, parkers);
    // Without a core to spare the thread sleeps as soon as everything that was due is out: at a high rate the
    // next event is always due already, and it would take a core from a worker to send events by twos.
    if (progress && (spin_ || behind())) continue;
    std::int64_t next = kEndOfTime;
    bool done = true;
    for (const Fed& fed : fed_) {
      if (fed.source->exhausted()) continue;
      done = false;
      next = std::min(next, fed.source->waits() ? now - start_ns + kFullRingNs : fed.source->next_due());
    }
    if (done) return;
    if (held) held.unlock();
    if (next != kEndOfTime) wait(start_ns + next);
  }
}

bool Generator::turn(std::int64_t start_ns, std::int64_t now, std::span<Parker> parkers) noexcept {
  bool progress = false;
  for (Fed& fed : fed_) {
    bool published = false;
    if (!fed.source->exhausted()) {
      fed.source->notice(now - start_ns);
      for (int i = 0; i < kBlocksPerTurn && fed.source->publish(now); ++i) published = true;
    }
    if (published) {
      progress = true;
      for (const std::int32_t reader : fed.readers) parkers[static_cast<std::size_t>(reader)].notify();
      now = now_ns();
      recorder.saw(now);
    }
    const Source::Noticed handed = fed.source->handed();  // also what was published anew while this thread was held
    if (handed.events == 0) continue;
    lag_.record(now - start_ns - handed.first_due_ns, handed.events);
    if (now - start_ns <= options_.end_ns + kGraceNs) emitted_ += handed.events;
    recorder.emitted(handed.events);
  }
  return progress;
}

bool Generator::behind() const noexcept {
  return std::any_of(fed_.begin(), fed_.end(), [](const Fed& fed) { return fed.source->waits(); });
}

void Generator::wait(std::int64_t until_ns) noexcept {
  std::int64_t now = now_ns();
  const std::int64_t early = spin_ ? kSpinNs : 0;
  const std::int64_t shortest = std::max(kShortestSleepNs - late_ns_, kLeastSleepNs);
  const std::int64_t wanted = spin_ ? until_ns - early : std::max(until_ns, now + shortest);
  const std::int64_t target = std::min(wanted, now + kLongestSleepNs);
  if (target > now) {
#if defined(__linux__)
    const timespec at{static_cast<time_t>(target / 1'000'000'000), static_cast<long>(target % 1'000'000'000)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr);  // woken early: the caller looks again
#else
    std::this_thread::sleep_for(std::chrono::nanoseconds(target - now));
#endif
    // One that a signal ends early is not late; one whose core was taken says nothing of the next.
    late_ns_ += (std::clamp<std::int64_t>(now_ns() - target, 0, kShortestSleepNs) - late_ns_) / kSleepsToLearn;
  }
  if (!spin_ || target < wanted) return;
  while ((now = now_ns()) < until_ns) spin_pause();
}

GeneratorTrial try_generator(std::int64_t events, std::int64_t batch, double rate_eps) {
  std::vector<std::int64_t> ts(static_cast<std::size_t>(events));
  std::vector<std::int64_t> due(ts.size());
  for (std::size_t i = 0; i < ts.size(); ++i) {
    ts[i] = static_cast<std::int64_t>(i);
    due[i] = rate_eps > 0 ? static_cast<std::int64_t>(static_cast<double>(i) * 1e9 / rate_eps) : 0;
  }
  StreamView stream;
  stream.ts = ts;
  stream.due = due;
  Source source(stream, batch, kNullRing);
  const std::size_t reader = source.ring.add_reader();
  std::vector<Parker> parkers(1);
  std::atomic<bool> stop{false};
  LoadOptions options;
  options.end_ns = due.empty() ? 0 : due.back();
  Generator generator(options, std::thread::hardware_concurrency() > 1);
  generator.add(&source, {0});
  const std::int64_t start = now_ns();
  std::thread null_engine([&source, reader, events] {
    std::uint64_t next = 0;
    std::int64_t end = 0;
    while (end < events || next == 0) {
      const std::uint64_t published = source.ring.published();
      if (published == next) {
        std::this_thread::yield();
        continue;
      }
      end = source.ring.at(published - 1).end;
      next = published;
      source.ring.advance(reader, next);
    }
  });
  generator.run(start, parkers, stop);
  const std::int64_t end = now_ns();
  null_engine.join();
  const std::span<const std::int64_t> lag = generator.lag().counts();
  return {events, end - start, {lag.begin(), lag.end()}};
}

}  // namespace lab
