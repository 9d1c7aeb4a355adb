// InstanceThreads: the shared state of the threads of a run: parkers, stop flags, and the measurements of each thread.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <thread>
#include <vector>

#include "run/cacheline.h"
#include "run/clock.h"
#include "run/parker.h"
#include "run/recorder.h"

namespace lab {

// The work of a thread in one step of the recorder's grid.
struct LoadStep {
  std::int64_t busy_ns;
  std::int64_t compared;
};

// The measurements of one thread, which writes them. Other threads read `busy_ns` at any time, and the rest after the
// run.
class alignas(kCacheLine) WorkMeter {
 public:
  WorkMeter(bool on, std::int64_t grid_steps) : recorder(on, grid_steps), grid_steps_(grid_steps) {
    if (!on) return;
    // calloc, since untouched pages then cost nothing.
    steps_.reset(static_cast<LoadStep*>(std::calloc(static_cast<std::size_t>(grid_steps), sizeof(LoadStep))));
    if (!steps_) throw std::bad_alloc();
  }

  bool on() const noexcept { return recorder.on(); }

  // Records the work between two readings of the clock. Call only if `on()`.
  void worked(std::int64_t from_ns, std::int64_t to_ns, std::int64_t compared) noexcept {
    const std::int64_t step =
        std::clamp<std::int64_t>((to_ns - recorder.start()) / Recorder::kStepNs, 0, grid_steps_ - 1);
    LoadStep& load = steps_.get()[step];
    load.busy_ns += to_ns - from_ns;
    load.compared += compared;
    used_ = std::max(used_, step + 1);
    // relaxed: statistics, one writer.
    busy_ns_.store(busy_ns_.load(std::memory_order_relaxed) + to_ns - from_ns, std::memory_order_relaxed);
  }

  std::int64_t busy_ns() const noexcept { return busy_ns_.load(std::memory_order_relaxed); }  // relaxed: statistics
  std::vector<LoadStep> steps() const { return {steps_.get(), steps_.get() + used_}; }

  Recorder recorder;
  Counters counters;

 private:
  struct Free {
    void operator()(LoadStep* steps) const noexcept { std::free(steps); }
  };

  std::int64_t grid_steps_;
  std::unique_ptr<LoadStep, Free> steps_;
  std::int64_t used_ = 0;
  std::atomic<std::int64_t> busy_ns_{0};
};

class InstanceThreads {
 public:
  // `backoff`: the waiting policy of each thread.
  InstanceThreads(std::int32_t count, Backoff backoff, bool measure, std::int64_t grid_steps)
      : backoff_(backoff), parkers_(static_cast<std::size_t>(count)), pool_(static_cast<std::size_t>(count)) {
    for (std::int32_t i = 0; i < count; ++i) meters_.push_back(std::make_unique<WorkMeter>(measure, grid_steps));
  }

  WorkMeter& meter(std::int32_t thread) noexcept { return *meters_[static_cast<std::size_t>(thread)]; }
  std::span<const std::unique_ptr<WorkMeter>> meters() const noexcept { return meters_; }
  std::span<Parker> parkers() noexcept { return parkers_; }

  // Returns the parker of a thread. An inactive thread sleeps in the pool, where only changes, the end and failures
  // wake it.
  Parker& place(std::int32_t thread, bool active) noexcept {
    return (active ? parkers_ : pool_)[static_cast<std::size_t>(thread)];
  }
  Backoff backoff() const noexcept { return backoff_; }

  // `fail` and `finish` store with seq_cst, then notify. A thread about to sleep sees the flag, or `notify` sees it
  // asleep (run/parker.h).
  void fail() noexcept { set(failed_); }
  void finish() noexcept { set(finished_); }
  bool failed() const noexcept { return failed_.load(std::memory_order_seq_cst); }      // pairs with `fail`
  bool finished() const noexcept { return finished_.load(std::memory_order_seq_cst); }  // pairs with `finish`
  const std::atomic<bool>& failure() const noexcept { return failed_; }

  void notify_all() noexcept {
    for (Parker& parker : parkers_) parker.notify();
    for (Parker& parker : pool_) parker.notify();
  }
  // Notifies the first `count` threads.
  void notify(std::int32_t count) noexcept {
    for (std::int32_t i = 0; i < count; ++i) parkers_[static_cast<std::size_t>(i)].notify();
  }

  // Notifies these threads.
  void notify(std::span<const std::int32_t> threads) noexcept {
    for (const std::int32_t i : threads) parkers_[static_cast<std::size_t>(i)].notify();
  }

  // Notifies threads [first, end).
  void notify(std::int32_t first, std::int32_t end) noexcept {
    for (std::int32_t i = first; i < end; ++i) parkers_[static_cast<std::size_t>(i)].notify();
  }

  // Sets the start of the run. Call before the release of the threads.
  void begin(std::int64_t start_ns, std::int64_t warm_up_ns) noexcept {
    start_ns_.store(start_ns, std::memory_order_relaxed);  // relaxed: the release of the waiting threads follows
    for (const auto& meter : meters_) meter->recorder.begin(start_ns, warm_up_ns);
  }
  // relaxed: threads of the run wait for the release after the store; other threads only compute differences to it.
  std::int64_t start_ns() const noexcept { return start_ns_.load(std::memory_order_relaxed); }
  std::int64_t since_start() const noexcept {  // 0 before the start
    const std::int64_t start = start_ns();
    return start == 0 ? 0 : now_ns() - start;
  }

 private:
  void set(std::atomic<bool>& flag) noexcept {
    flag.store(true, std::memory_order_seq_cst);
    notify_all();
  }

  const Backoff backoff_;  // waiting policy of each thread, in its initial state
  std::vector<std::unique_ptr<WorkMeter>> meters_;
  std::vector<Parker> parkers_;            // parkers of active threads
  std::vector<Parker> pool_;               // parkers of inactive threads
  std::atomic<std::int64_t> start_ns_{0};  // 0 before the start. Written by `run`; a controller may read it earlier
  // Written by the thread that fails, or by the last thread to end; read by all.
  alignas(kCacheLine) std::atomic<bool> failed_{false};
  std::atomic<bool> finished_{false};
};

}  // namespace lab
