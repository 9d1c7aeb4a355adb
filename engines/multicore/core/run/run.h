// A run of any family: its streams and their sources, the generator, the threads, what they measured, the answer.
// A family adds what a thread does (`work`) and what that needs.
//
// Law of ends: threads call a family within `run` only, which joins them. A run that was started and never let go ends
// without them, so a family needs no destructor for its threads' sake.
// Law of borrowing: what `keep` was given outlives all else of a run, a family's own members included.
//
// Set-up and results are for one thread.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "run/feed.h"
#include "run/generator.h"
#include "run/instance_threads.h"
#include "run/settings.h"
#include "run/sink.h"
#include "run/source.h"
#include "run/sums.h"
#include "run/threads.h"

namespace lab {

class Run {
 public:
  using Counts = std::vector<std::pair<std::string_view, std::int64_t>>;  // by name

  virtual ~Run() = default;
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // Holds on to what streams, kernels or states borrow, until everything else of the run has gone.
  void keep(std::shared_ptr<const void> borrowed) { kept_.push_back(std::move(borrowed)); }

  // Sets up what the family needs and creates the threads, which wait for `run`. Once. Throws std::system_error when a
  // thread cannot be had; the others have ended then, and there is no run.
  void start();

  // Runs to the end of all streams and joins the threads. Returns the duration in ns, from the release of the threads
  // to the end of the last. Throws std::runtime_error when a thread failed, NoMemory when it found none. `look`, unless it is empty, is called now and
  // then meanwhile, by this thread; what it throws calls the run off: the threads end, and that is passed on.
  std::int64_t run(const std::function<void()>& look = {});

  std::int64_t rows() const;                           // output records
  std::int64_t outputs_grown() const;                  // see OutputPool
  void collect(std::span<void* const> columns) const;  // merges them; see run/sink.h
  virtual std::int64_t events() const noexcept = 0;    // that are done with

  // Histograms by bucket, over all threads; they end with the last bucket that is used.
  std::vector<std::int64_t> latency_counts() const { return sum(&Recorder::steady); }  // with a load: after the warm-up
  std::vector<std::int64_t> warm_up_counts() const { return sum(&Recorder::warm_up); }
  std::vector<std::int64_t> service_counts() const { return sum(&Recorder::service); }
  std::vector<std::int64_t> lag_counts() const;  // the generator's; empty without one
  std::vector<Progress> progress() const;        // by step of `Recorder::kStepNs`
  std::int64_t emitted() const noexcept { return generator_ ? generator_->emitted() : 0; }
  bool real_time_generator() const noexcept { return generator_ && generator_->real_time(); }

  // The family's, then sleeps, yields, outputs_grown, real_time_generator.
  Counts counters() const;
  std::int32_t thread_count() const noexcept { return static_cast<std::int32_t>(meters().size()); }

 protected:
  Run() = default;

  // The options that a family keeps, checked. Called once they are there.
  virtual const RunSettings& settings() const noexcept = 0;
  // Sets up what threads work on, once, when there will be no more streams.
  virtual void prepare() = 0;
  // Has thread `index` work until everything is done, or `threads().failed()`. A std::exception fails the run.
  virtual void work(std::int32_t index) = 0;
  // Whom to wake, beside the threads, when one has failed. Any thread.
  virtual void wake_others() noexcept {}
  // Looks at what the threads left. Throws std::runtime_error.
  virtual void check_end() const {}
  virtual std::vector<const OutputBuffer*> outputs() const = 0;  // they share a pool
  virtual void count(Counts&) const {}
  // Threads that wait for what the generator hands over of a stream: all, unless a family knows better.
  virtual std::vector<std::int32_t> readers_of(std::size_t stream) const;

  // Threads begin on the cores by their turns; -1 and what is below count from the last core back.
  virtual std::int32_t turn_of(std::int32_t thread) const noexcept { return thread; }

  // Once, before `threads()` is used and at the latest in `prepare`; `called`: what errors call a thread.
  void make_threads(std::int32_t count, const char* called);
  InstanceThreads& threads() noexcept { return *threads_; }
  const InstanceThreads& threads() const noexcept { return *threads_; }
  std::span<const std::unique_ptr<WorkMeter>> meters() const noexcept {
    return threads_ ? threads_->meters() : std::span<const std::unique_ptr<WorkMeter>>();
  }
  Counters sum_counters() const noexcept;

  // Keeps a stream; its index, which breaks ties in time, is the number of streams before. Throws std::logic_error
  // after `start`; std::invalid_argument when timestamps or heartbeats decrease or reach the end of time, or due times
  // are not as a load wants them: ascending from 0 to `kLatestDueNs`, one for each.
  StreamView& add_view(StreamView stream);
  // What replays a stream, and a reader of it. `stamped`: see Source.
  Source& add_source(const StreamView& view, bool stamped);
  Feed& add_feed(const StreamView& view, bool stamped);

  // With a load, after `make_threads`: see Generator. Without one there is nothing to hold.
  void make_generator_holdable() noexcept {
    if (generator_) generator_->make_holdable();
  }
  std::unique_lock<std::mutex> hold_generator() {
    return generator_ ? generator_->hold() : std::unique_lock<std::mutex>();
  }

  bool started() const noexcept { return run_threads_.started(); }
  const std::deque<StreamView>& views() const noexcept { return views_; }
  std::span<const std::unique_ptr<Source>> sources() const noexcept { return sources_; }
  std::deque<Feed>& feeds() noexcept { return feeds_; }

 private:
  std::vector<std::int64_t> sum(Histogram Recorder::* of) const;

  std::vector<std::shared_ptr<const void>> kept_;  // first: goes last
  std::deque<StreamView> views_;                   // deques: others hold references
  std::vector<std::unique_ptr<Source>> sources_;
  std::deque<Feed> feeds_;
  std::optional<InstanceThreads> threads_;
  const char* called_ = "";
  std::unique_ptr<Generator> generator_;  // with a load
  RunThreads run_threads_;
};

}  // namespace lab
