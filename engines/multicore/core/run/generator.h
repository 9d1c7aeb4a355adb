// The generator: a thread that hands events over when they are due, whatever the engine does (open loop).
//
// An event is stamped with the time at which it was due, never with the time at which it was sent, so that
// latencies contain every wait (no coordinated omission). What the generator itself is late by, its send lag,
// is recorded apart: from due until the readers have been told. Events that are handed over together count each
// with the lag of the first of them, so the lag errs on the high side. An event that finds the ring full has
// been handed over then: it waits for a reader, not for the generator.
#pragma once
#include <atomic>
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

// The latest time after the start that a load may name, 146 years: the sum with a clock reading fits.
inline constexpr std::int64_t kLatestDueNs = kEndOfTime / 2;

struct LoadOptions {
  std::int64_t warm_up_ns = 0;  // outputs due before this, after the start, count as warm-up
  std::int64_t end_ns = 0;      // when the offered load ends
  bool whole_blocks = false;    // publish full batches only
};

class alignas(kCacheLine) Generator {
 public:
  // `spin`: there is a core to spare, so that the last moments before a due time are spun away.
  Generator(const LoadOptions& options, bool spin, bool on = true, std::int64_t steps = Recorder::kSteps)
      : recorder(on, steps), options_(options), spin_(spin) {}

  // Adds a source that `readers`, indices into the parkers, wait for. Before `run`.
  void add(Source* source, std::vector<std::int32_t> readers) { fed_.push_back({source, std::move(readers)}); }

  // Hands over everything on schedule, from `start_ns` on, and returns when all sources are exhausted or
  // `stop` is set. One thread.
  void run(std::int64_t start_ns, std::span<Parker> parkers, const std::atomic<bool>& stop) noexcept;

  // For a run that changes what it does with sources while it runs. Before `run`.
  void make_holdable() noexcept { holdable_ = true; }
  // Nobody but the caller touches the sources until it gives the lock back. Any thread, of one that is holdable.
  std::unique_lock<std::mutex> hold() {
    wanted_.store(true, std::memory_order_relaxed);  // relaxed: advice, for a generator that hardly lets go
    std::unique_lock held(sources_);
    wanted_.store(false, std::memory_order_relaxed);  // relaxed: likewise
    return held;
  }

  // Read after `run`.
  std::int64_t emitted() const noexcept { return emitted_; }  // events handed over by the end of the load
  const Histogram& lag() const noexcept { return lag_; }
  bool real_time() const noexcept { return real_time_; }  // whether it ran with real-time priority

  Recorder recorder;  // `emitted` by step

 private:
  struct Fed {
    Source* source;
    std::vector<std::int32_t> readers;
  };

  bool turn(std::int64_t start_ns, std::int64_t now, std::span<Parker> parkers) noexcept;
  bool behind() const noexcept;
  void wait(std::int64_t until_ns) noexcept;

  LoadOptions options_;
  bool spin_;
  std::vector<Fed> fed_;
  bool holdable_ = false;
  std::atomic<bool> wanted_{false};  // written by who holds, read by the generator
  std::mutex sources_;  // guards what `fed_` points to, where that is holdable; held from one sleep to the next
  Histogram lag_;
  std::int64_t emitted_ = 0;
  std::int64_t late_ns_ = 0;  // how long after its time a sleep ends, as a mean of late ones
  bool real_time_ = false;
};

// What a generator did with nobody to wait for.
struct GeneratorTrial {
  std::int64_t events = 0;
  std::int64_t duration_ns = 0;
  std::vector<std::int64_t> lag_counts;  // by histogram bucket
};

// Runs a generator into a reader that only gives blocks back, on a thread of its own: the ceiling of any rate
// that may be claimed on this machine. `rate_eps` 0: everything is due at once.
GeneratorTrial try_generator(std::int64_t events, std::int64_t batch, double rate_eps);

}  // namespace lab
