// Generator: a thread of a run that publishes events at their due times, independently of the engine (open loop).
//
// The stamp of an event is its due time, never its send time, so latencies contain every wait (no coordinated
// omission). The generator separately records its own delay, the send lag: the time from the due time until it has
// notified the readers. All events published together get the lag of their first event, so the lag can only be
// overestimated. An event that finds the ring full counts as published then, since it waits for a reader.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "run/cacheline.h"
#include "run/histogram.h"
#include "run/parker.h"
#include "run/recorder.h"
#include "run/source.h"

namespace lab {

// The latest due time after the start, 146 years. Its sum with a clock reading fits in int64.
inline constexpr std::int64_t kLatestDueNs = kEndOfTime / 2;

struct LoadOptions {
  std::int64_t warm_up_ns = 0;  // outputs due earlier than this after the start count as warm-up
  std::int64_t end_ns = 0;      // end of the offered load
  bool whole_blocks = false;    // publish full batches only
  std::int64_t tick_ns = 0;     // unit of arrival times, which sources set as they publish rows; 0 for event times
  bool received = false;        // whether rows arrive from outside during the run (`Run::receive`)
};

// Counts the calls of `Run::receive`, and wakes the generator. Any thread may use it.
class Receipts {
 public:
  void notify() noexcept;
  std::uint64_t count() noexcept;
  // Returns once the count differs from `seen`, or after `longest_ns`.
  void wait(std::uint64_t seen, std::int64_t longest_ns) noexcept;

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::uint64_t count_ = 0;  // guarded by `mutex_`
};

class alignas(kCacheLine) Generator {
 public:
  // `spin`: whether the generator spins just before a due time, because it has a core of its own. `receipts`: with
  // `LoadOptions::received`, the generator waits for these instead of due times; otherwise null.
  Generator(const LoadOptions& options, bool spin, bool on = true, std::int64_t steps = Recorder::kSteps,
            Receipts* receipts = nullptr)
      : recorder(on, steps), options_(options), spin_(spin), receipts_(receipts) {}

  // Adds a source. `readers` are the indices of the parkers of the threads that wait for it. Call before `run`.
  void add(Source* source, std::vector<std::int32_t> readers) { scheduled_.push_back({source, std::move(readers)}); }

  // Publishes all events on schedule, from `start_ns` on. Returns once all sources are exhausted or `stop` is set. Only
  // one thread calls it.
  void run(std::int64_t start_ns, std::span<Parker> parkers, const std::atomic<bool>& stop) noexcept;

  // Permits `hold`, for a run that changes its use of the sources while it runs. Call before `run`.
  void make_holdable() noexcept { holdable_ = true; }
  // Returns a lock under which only the caller uses the sources. Any thread may call it, after `make_holdable`.
  std::unique_lock<std::mutex> hold() {
    // relaxed: a hint for a generator that rarely releases the lock
    hold_requested_.store(true, std::memory_order_relaxed);
    std::unique_lock lock(sources_mutex_);
    hold_requested_.store(false, std::memory_order_relaxed);  // relaxed: a hint
    return lock;
  }

  // Read after `run`.
  std::int64_t emitted() const noexcept { return emitted_; }  // events published by the end of the load
  const Histogram& lag() const noexcept { return lag_; }
  bool real_time() const noexcept { return real_time_; }  // whether it ran with real-time priority

  Recorder recorder;  // only its counts `emitted` are used

 private:
  // A source and the threads that read it.
  struct Scheduled {
    Source* source;
    std::vector<std::int32_t> readers;
  };

  bool take_turn(std::int64_t start_ns, std::int64_t now, std::span<Parker> parkers) noexcept;
  bool has_waiting_events() const noexcept;
  void wait(std::int64_t until_ns) noexcept;

  LoadOptions options_;
  bool spin_;
  Receipts* receipts_;
  std::vector<Scheduled> scheduled_;
  bool holdable_ = false;
  std::atomic<bool> hold_requested_{false};  // written by the caller of `hold`, read by the generator
  std::mutex sources_mutex_;  // guards the sources after `make_holdable`; the generator holds it except in sleeps
  Histogram lag_;
  std::int64_t emitted_ = 0;
  std::int64_t mean_delay_ns_ = 0;  // mean time by which sleeps end late
  bool real_time_ = false;
};

// The result of a generator that waits for no reader.
struct GeneratorTrial {
  std::int64_t events = 0;
  std::int64_t duration_ns = 0;
  std::vector<std::int64_t> lag_counts;  // by histogram bucket
};

// Runs a generator whose only reader, a thread of its own, just releases blocks. The result is the upper limit of the
// rates that this machine can offer. With `rate_eps` 0, all events are due at once.
GeneratorTrial try_generator(std::int64_t events, std::int64_t batch, double rate_eps);

}  // namespace lab
