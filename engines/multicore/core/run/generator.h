// The generator: a thread of a run that publishes events at their due times, independently of the engine (open loop).
//
// The stamp of an event is its due time, never its send time, so latencies contain every wait (no coordinated
// omission). The generator records its own delay, the send lag, separately: from the due time until it has notified the
// readers. All events published together count the lag of their first event, so the lag errs on the high side. An event
// that finds the ring full counts as published at that time: it waits for a reader, not for the generator.
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

// The latest due time after the start, 146 years: its sum with a clock reading fits.
inline constexpr std::int64_t kLatestDueNs = kEndOfTime / 2;

struct LoadOptions {
  std::int64_t warm_up_ns = 0;  // outputs due earlier than this after the start count as warm-up
  std::int64_t end_ns = 0;      // end of the offered load
  bool whole_blocks = false;    // publish full batches only
  std::int64_t tick_ns = 0;     // sources set the time of a row as they publish it, in this unit; 0: event times
  bool received = false;        // rows arrive from outside during the run (`Run::receive`), whenever they are due
};

// Counts what arrives from outside, and wakes the generator. Any thread.
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
  // `spin`: a core is free for the generator, so it spins during the last moments before a due time.
  // `receipts`: with `LoadOptions::received`, what it waits for instead of due times; else null.
  Generator(const LoadOptions& options, bool spin, bool on = true, std::int64_t steps = Recorder::kSteps,
            Receipts* receipts = nullptr)
      : recorder(on, steps), options_(options), spin_(spin), receipts_(receipts) {}

  // Adds a source. `readers` are the indices of the parkers of the threads that wait for it. Before `run`.
  void add(Source* source, std::vector<std::int32_t> readers) { fed_.push_back({source, std::move(readers)}); }

  // Publishes all events on schedule, from `start_ns` on. Returns once all sources are exhausted or `stop` is set.
  // One thread.
  void run(std::int64_t start_ns, std::span<Parker> parkers, const std::atomic<bool>& stop) noexcept;

  // For a run that changes its use of the sources while it runs. Before `run`.
  void make_holdable() noexcept { holdable_ = true; }
  // Only the caller touches the sources until it releases the lock. Any thread; only after `make_holdable`.
  std::unique_lock<std::mutex> hold() {
    hold_requested_.store(true,
                          std::memory_order_relaxed);  // relaxed: a hint for a generator that rarely releases the lock
    std::unique_lock held(sources_);
    hold_requested_.store(false, std::memory_order_relaxed);  // relaxed: likewise
    return held;
  }

  // Read after `run`.
  std::int64_t emitted() const noexcept { return emitted_; }  // events published by the end of the load
  const Histogram& lag() const noexcept { return lag_; }
  bool real_time() const noexcept { return real_time_; }  // whether it ran with real-time priority

  Recorder recorder;  // `emitted` by step

 private:
  struct Fed {
    Source* source;
    std::vector<std::int32_t> readers;
  };

  bool take_turn(std::int64_t start_ns, std::int64_t now, std::span<Parker> parkers) noexcept;
  bool behind() const noexcept;
  void wait(std::int64_t until_ns) noexcept;

  LoadOptions options_;
  bool spin_;
  Receipts* receipts_;
  std::vector<Fed> fed_;
  bool holdable_ = false;
  std::atomic<bool> hold_requested_{false};  // written by the caller of `hold`, read by the generator
  std::mutex sources_;  // guards the sources of `fed_` after `make_holdable`; the generator holds it between two sleeps
  Histogram lag_;
  std::int64_t emitted_ = 0;
  std::int64_t late_ns_ = 0;  // mean delay of the late ends of sleeps
  bool real_time_ = false;
};

// The result of a generator that waits for no reader.
struct GeneratorTrial {
  std::int64_t events = 0;
  std::int64_t duration_ns = 0;
  std::vector<std::int64_t> lag_counts;  // by histogram bucket
};

// Runs a generator with a reader, in its own thread, that only releases blocks. The result is the upper limit of the
// rates that this machine can offer. `rate_eps` 0: all events are due at once.
GeneratorTrial try_generator(std::int64_t events, std::int64_t batch, double rate_eps);

}  // namespace lab
