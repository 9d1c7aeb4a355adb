// Recorder: the measurements of one thread, a worker or the generator: latency histograms, and counts on a 100 ms grid.
//
// Only the owning thread writes a recorder; other threads read it after that thread has ended. So it needs no locks, no
// atomics and no allocation after construction. The owner reads the clock at each hand-over of work and at each output.
// In between, `now()` is the last reading, at most one block old.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <vector>

#include "run/cacheline.h"
#include "run/fast_clock.h"
#include "run/histogram.h"

namespace lab {

// Latency buckets of a grid step: eight for each power of two, so a value is exact to within 12.5 %.
class CoarseLatency {
 public:
  static constexpr int kBuckets = 336;  // up to one hour

  static constexpr int index_of(std::int64_t value_ns) noexcept {
    const auto value = static_cast<std::uint64_t>(value_ns < 0 ? 0 : std::min(value_ns, Histogram::kHighest));
    if (value < 8) return static_cast<int>(value);
    const int shift = 60 - std::countl_zero(value);  // width - 4: keeps the top four bits
    return (shift + 1) * 8 + static_cast<int>((value >> shift) - 8);
  }

  // Returns the highest value in bucket `index`.
  static constexpr std::int64_t highest_in(int index) noexcept {
    if (index < 8) return index;
    const int shift = index / 8 - 1;
    return ((std::int64_t{index % 8} + 9) << shift) - 1;
  }
};
static_assert(CoarseLatency::index_of(7) == 7 && CoarseLatency::index_of(8) == 8 && CoarseLatency::index_of(16) == 16);
static_assert(CoarseLatency::highest_in(16) == 17 && CoarseLatency::index_of(17) == 16);
static_assert(CoarseLatency::index_of(Histogram::kHighest) < CoarseLatency::kBuckets);

// The counts of one step of the grid.
struct Step {
  double consumed;       // events read; each of k readers of a stream counts 1/k of an event
  std::int64_t emitted;  // events published by the generator
  std::int64_t outputs;
  std::int64_t max_ns;  // largest latency
  std::array<std::uint32_t, CoarseLatency::kBuckets> latency;
};
static_assert(std::is_trivially_copyable_v<Step> && std::is_trivially_default_constructible_v<Step> &&
                  std::numeric_limits<double>::is_iec559,
              "zeroed memory is a step in which nothing happened");

class alignas(kCacheLine) Recorder {
 public:
  static constexpr std::int64_t kStepNs = 100'000'000;
  static constexpr std::int64_t kSteps = 36'000;  // one hour

  // Without `on`, records nothing and never reads the clock. Records after the last of `steps` steps count in that
  // step.
  explicit Recorder(bool on = true, std::int64_t steps = kSteps)
      : on_(on),
        step_limit_(steps),
        // calloc, since untouched pages then cost nothing.
        steps_(on ? static_cast<Step*>(std::calloc(static_cast<std::size_t>(steps), sizeof(Step))) : nullptr,
               std::free) {
    if (on && !steps_) throw std::bad_alloc();
  }

  // Sets the start of the run and the length of its warm-up. Call before the owner starts.
  void begin(std::int64_t start_ns, std::int64_t warm_up_ns) noexcept {
    start_ = now_ = start_ns;
    steady_from_ = start_ns + warm_up_ns;
    step_end_ = start_ns + kStepNs;
  }

  bool on() const noexcept { return on_; }
  std::int64_t start() const noexcept { return start_; }

  // Reads the clock, unless recording is off.
  std::int64_t tick() noexcept {
    if (on_) observe(clock_.now());
    return now_;
  }

  // Takes over an earlier reading of the clock by another thread.
  void observe(std::int64_t time_ns) noexcept { now_ = std::max(now_, time_ns); }

  std::int64_t now() const noexcept { return now_; }

  void consumed(double events) noexcept {
    if (on_) step().consumed += events;
  }

  void emitted(std::int64_t events) noexcept {
    if (on_) step().emitted += events;
  }

  // Records `n` outputs at `now()`. `due_ns`: due time of the latest input that they depend on.
  void output(std::int64_t due_ns, std::int64_t n) noexcept {
    if (!on_) return;
    const std::int64_t latency = now_ - due_ns;
    (due_ns < steady_from_ ? warm_up : steady).record(latency, n);
    Step& current = step();
    current.outputs += n;
    current.max_ns = std::max(current.max_ns, latency);
    current.latency[static_cast<std::size_t>(CoarseLatency::index_of(latency))] += static_cast<std::uint32_t>(n);
  }

  // Records `n` outputs at `now()` whose inputs have no known due time.
  void made(std::int64_t n) noexcept {
    if (on_) step().outputs += n;
  }

  // Records the service time of `n` outputs: the time since the engine took their input at `taken_ns`.
  void served(std::int64_t due_ns, std::int64_t taken_ns, std::int64_t n) noexcept {
    if (on_ && due_ns >= steady_from_) service.record(now_ - taken_ns, n);
  }

  // Returns step `index` of the grid, below the number of steps.
  const Step& at(std::int64_t index) const noexcept { return steps_.get()[index]; }

  // Returns the number of steps up to the last step with a record.
  std::int64_t used() const noexcept { return used_; }

  Histogram steady;   // latency of outputs due after the warm-up
  Histogram warm_up;  // latency of outputs due before the end of the warm-up
  Histogram service;  // see `served`

 private:
  Step& step() noexcept {
    if (now_ >= step_end_) {
      current_ = std::min((now_ - start_) / kStepNs, step_limit_ - 1);
      step_end_ = start_ + (current_ + 1) * kStepNs;
    }
    used_ = std::max(used_, current_ + 1);
    return steps_.get()[current_];
  }

  bool on_;
  std::int64_t step_limit_;
  std::int64_t start_ = 0;
  std::int64_t now_ = 0;
  FastClock clock_;
  std::int64_t steady_from_ = 0;  // end of the warm-up
  std::int64_t step_end_ = 0;     // end of the current step
  std::int64_t current_ = 0;      // index of the current step
  std::int64_t used_ = 0;
  std::unique_ptr<Step[], void (*)(void*)> steps_;
};

// Counts the work of a thread. The thread increments the counters; the run reads them at its end.
struct Counters {
  std::int64_t synchronizations = 0;  // synchronizations that this thread won, so that each counts once
  std::int64_t parked = 0;            // arrivals at a synchronization, except the last
  std::int64_t moved_bytes = 0;       // bytes of states that moved to another worker and back
  std::int64_t kernel_calls = 0;
  std::int64_t events = 0;  // events of streams; each reader counts them
  std::int64_t sleeps = 0;
  std::int64_t yields = 0;
  std::int64_t room_waits = 0;  // waits for room in a link
};

// One step of the grid, summed over all threads.
struct Progress {
  std::int64_t emitted = 0;
  std::int64_t consumed = 0;
  std::int64_t outputs = 0;
  std::int64_t p50_ns = -1;  // the end of a bucket of `CoarseLatency`; -1 without outputs
  std::int64_t p99_ns = -1;
  std::int64_t max_ns = -1;
};

// Returns counts by bucket, up to the last used bucket.
std::vector<std::int64_t> sum_counts(std::span<const Histogram* const> histograms);
std::vector<Progress> sum_progress(std::span<const Recorder* const> recorders);

}  // namespace lab
