// Implements Generator; see run/generator.h.
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

// A sleep ends 50 to 100 us late on an idle machine (timer and scheduler). With a free core the generator sleeps less
// by this time and then spins.
constexpr std::int64_t kSpinNs = 100'000;

// Without a free core, the generator publishes all events due within this time together. At a million events/s it wakes
// 20,000 times a second instead of a million times.
constexpr std::int64_t kShortestSleepNs = 50'000;

// Sleeps end late. The next sleep is shortened by the mean delay of about this many sleeps. The delay is 30 us and more
// on a virtual machine; without the correction, events due within 110 us, instead of 50 us, were published together. A
// sleep lasts at least kMinSleepNs, since a generator that does not sleep occupies the core of a worker.
constexpr std::int64_t kSleepsToLearn = 16;
constexpr std::int64_t kMinSleepNs = 5'000;

// The longest sleep. The generator notices a failed run at its end at the latest.
constexpr std::int64_t kLongestSleepNs = 20'000'000;

// The wait after a full ring before the next try. Waiting events keep their due times.
constexpr std::int64_t kFullRingNs = 50'000;

// An event that is late by at most this still counts as sent by the end of the load. A trial with a larger send lag is
// invalid (METHOD: p99 at most 1 ms).
constexpr std::int64_t kGraceNs = 1'000'000;

// Maximum number of blocks of a source in a turn, before the other sources and the next reading of the clock.
constexpr int kBlocksPerTurn = 16;

// Number of blocks of the null engine's ring, as in the ring of an engine under a load.
constexpr std::uint64_t kNullRing = 1 << 14;

// Requests real-time scheduling of the calling thread. It needs permission (root, CAP_SYS_NICE, RLIMIT_RTPRIO).
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

void Receipts::notify() noexcept {
  {
    const std::lock_guard lock(mutex_);
    ++count_;
  }
  arrived_.notify_one();
}

std::uint64_t Receipts::count() noexcept {
  const std::lock_guard lock(mutex_);
  return count_;
}

void Receipts::wait(std::uint64_t seen, std::int64_t longest_ns) noexcept {
  std::unique_lock lock(mutex_);
  arrived_.wait_for(lock, std::chrono::nanoseconds(longest_ns), [&] { return count_ != seen; });
}

void Generator::run(std::int64_t start_ns, std::span<Parker> parkers, const std::atomic<bool>& stop) noexcept {
#if defined(__linux__)
  prctl(PR_SET_TIMERSLACK, 1UL);  // the default would add 50 us to every sleep
#endif
  // Without a free core, the thread shares a core with a worker. With ordinary priority it would sometimes wait
  // milliseconds for the end of the worker's time slice. It sleeps most of the time, so the priority costs workers
  // little.
  if (!spin_) real_time_ = take_priority();
  recorder.begin(start_ns, options_.warm_up_ns);
  // seq_cst, as for every reader of this flag (dgs/dgs_run.h); it is rare and cheap.
  while (!stop.load(std::memory_order_seq_cst)) {
    // Sleep, since a thread with real-time priority does not yield to other threads.
    while (holdable_ && hold_requested_.load(std::memory_order_relaxed)) {  // relaxed: a hint
      std::this_thread::sleep_for(std::chrono::nanoseconds(kShortestSleepNs));
    }
    auto lock = holdable_ ? std::unique_lock(sources_mutex_) : std::unique_lock<std::mutex>();
    const std::uint64_t seen = receipts_ == nullptr ? 0 : receipts_->count();
    const std::int64_t now = now_ns();
    recorder.observe(now);
    const bool progress = take_turn(start_ns, now, parkers);
    // Without a free core the thread sleeps once all due events are published. At a high rate the next event is always
    // due already. Without the sleep the thread would occupy the core of a worker and publish events two at a time.
    if (progress && (spin_ || has_waiting_events())) continue;
    std::int64_t next = kEndOfTime;
    bool all_exhausted = true;
    for (const Scheduled& entry : scheduled_) {
      if (entry.source->exhausted()) continue;
      all_exhausted = false;
      next = std::min(next, entry.source->waits() ? now - start_ns + kFullRingNs : entry.source->next_due());
    }
    if (all_exhausted) return;
    // This reads the sources, so it comes before they are unlocked.
    const bool waits_for_rows = receipts_ != nullptr && !has_waiting_events();
    if (lock) lock.unlock();
    if (waits_for_rows) {
      receipts_->wait(seen, kLongestSleepNs);
    } else if (next != kEndOfTime) {
      wait(start_ns + next);
    }
  }
}

// Publishes the due events of all sources, and notifies their readers. Returns whether it published anything.
bool Generator::take_turn(std::int64_t start_ns, std::int64_t now, std::span<Parker> parkers) noexcept {
  bool progress = false;
  for (Scheduled& entry : scheduled_) {
    bool published = false;
    if (!entry.source->exhausted()) {
      entry.source->notice(now - start_ns);
      for (int i = 0; i < kBlocksPerTurn && entry.source->publish(now); ++i) published = true;
    }
    if (published) {
      progress = true;
      for (const std::int32_t reader : entry.readers) parkers[static_cast<std::size_t>(reader)].notify();
      now = now_ns();
      recorder.observe(now);
    }
    // Includes events published again while another thread held the sources.
    const Source::DueEvents handed_over = entry.source->count_handed_over();
    if (handed_over.events == 0) continue;
    lag_.record(now - start_ns - handed_over.first_due_ns, handed_over.events);
    if (now - start_ns <= options_.end_ns + kGraceNs) emitted_ += handed_over.events;
    recorder.emitted(handed_over.events);
  }
  return progress;
}

bool Generator::has_waiting_events() const noexcept {
  return std::any_of(scheduled_.begin(), scheduled_.end(),
                     [](const Scheduled& entry) { return entry.source->waits(); });
}

// Sleeps until about `until_ns`; with a free core, spins for the last part. May return earlier.
void Generator::wait(std::int64_t until_ns) noexcept {
  std::int64_t now = now_ns();
  const std::int64_t spin_ns = spin_ ? kSpinNs : 0;
  const std::int64_t shortest = std::max(kShortestSleepNs - mean_delay_ns_, kMinSleepNs);
  const std::int64_t wake_ns = spin_ ? until_ns - spin_ns : std::max(until_ns, now + shortest);
  const std::int64_t target = std::min(wake_ns, now + kLongestSleepNs);
  if (target > now) {
#if defined(__linux__)
    const timespec wake_time{static_cast<time_t>(target / 1'000'000'000), static_cast<long>(target % 1'000'000'000)};
    // After an early wake-up the caller checks again.
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake_time, nullptr);
#else
    std::this_thread::sleep_for(std::chrono::nanoseconds(target - now));
#endif
    // The clamp ignores a sleep that a signal ends early, and limits the effect of a sleep on a busy core.
    mean_delay_ns_ +=
        (std::clamp<std::int64_t>(now_ns() - target, 0, kShortestSleepNs) - mean_delay_ns_) / kSleepsToLearn;
  }
  if (!spin_ || target < wake_ns) return;
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
