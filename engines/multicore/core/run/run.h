// Run: the base class of the runs of all families: streams, sources, generator, threads, measurements and results.
// A family adds the work of a thread (`work`) and the data that it needs.
//
// Law of ends: threads call a family only within `run`, which joins them. If a run is started but `run` is never
// called, its threads end without a call of the family. So a family needs no destructor that stops threads.
// Law of borrowing: the objects passed to `keep` outlive all other members of a run, including those of a family.
//
// One thread sets up a run and reads its results.
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
#include "run/recorder.h"
#include "run/sink.h"
#include "run/source.h"
#include "run/threads.h"

namespace lab {

// The settings of every run. The options of a family derive from them.
struct RunSettings {
  static constexpr std::int32_t kMaxWorkers = 256;  // each worker may be a source, and a log stores a source in a byte
  static constexpr std::uint64_t kMaxRingBlocks = std::uint64_t{1} << 20;  // 32 MiB of blocks

  std::int32_t workers = 1;         // threads, or instances of operators, at the start
  std::int64_t batch = 1;           // maximum number of events published together
  std::uint64_t ring_blocks = 64;   // maximum number of blocks by which a source is ahead of its slowest reader
  std::vector<std::int32_t> cores;  // starting cores of the threads, in turn; empty for any
  bool pinned = false;              // whether threads stay on these cores
  // Number of cores that the process may use; 0 for one per thread. With fewer cores than threads, no thread spins.
  // With more, the generator spins on a free core.
  std::int32_t core_count = 0;
  std::optional<LoadOptions> load;  // the load, which publishes events at their due times; nullopt for full speed
  std::int64_t reserved_rows = 0;   // output rows of all threads whose memory is touched before the run
  std::int64_t grid_steps = Recorder::kSteps;  // number of steps of 100 ms; later records count in the last step
  bool measure = true;                         // whether to record latency and counts over time
};

// Throws std::invalid_argument if a setting is out of range.
void check(const RunSettings& settings);

class Run {
 public:
  using Counts = std::vector<std::pair<std::string_view, std::int64_t>>;  // by name

  virtual ~Run() = default;
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // Keeps alive an object that streams, kernels or states borrow, until all other members of the run are destroyed.
  void keep(std::shared_ptr<const void> borrowed) { borrowed_.push_back(std::move(borrowed)); }

  // Prepares the family and creates the threads, which wait for `run`. Call it once. Throws std::system_error if the
  // system cannot create a thread. After this error no thread is left, and `run` must not be called.
  void start();

  // Runs to the end of all streams and joins the threads. Returns the duration in ns, from the release of the threads
  // to the end of the last. Throws std::runtime_error if a thread failed, NoMemory if memory ran out. The calling
  // thread calls `poll`, unless it is empty, every `RunThreads::kPollEvery`. If `poll` throws, the threads end, and
  // `run` rethrows.
  std::int64_t run(const std::function<void()>& poll = {});

  // Returns 0 before the start. Any thread may call it.
  std::int64_t start_ns() const noexcept { return threads_ ? threads_->start_ns() : 0; }

  // With `LoadOptions::received`, states that the first `rows` rows and the first `heartbeats` heartbeats of a stream
  // have arrived and their columns are written. Only one thread calls it, which is not a thread of the run.
  void receive(std::size_t stream, std::int64_t rows, std::int64_t heartbeats) noexcept;

  std::int64_t rows() const;                           // number of output records
  std::int64_t outputs_grown() const;                  // see OutputPool
  void collect(std::span<void* const> columns) const;  // merges the outputs; see run/sink.h
  virtual std::int64_t events() const noexcept = 0;    // number of processed events

  // Histograms by bucket, summed over all threads. They end with the last used bucket.
  std::vector<std::int64_t> latency_counts() const { return sum(&Recorder::steady); }  // with a load, after the warm-up
  std::vector<std::int64_t> warm_up_counts() const { return sum(&Recorder::warm_up); }
  std::vector<std::int64_t> service_counts() const { return sum(&Recorder::service); }
  std::vector<std::int64_t> lag_counts() const;  // send lag of the generator; empty without a load
  std::vector<Progress> progress() const;        // by step of `Recorder::kStepNs`
  std::int64_t emitted() const noexcept { return generator_ ? generator_->emitted() : 0; }
  bool real_time_generator() const noexcept { return generator_ && generator_->real_time(); }

  // Returns the counters of the family, then sleeps, yields, outputs_grown, real_time_generator.
  Counts counters() const;
  std::int32_t thread_count() const noexcept { return static_cast<std::int32_t>(meters().size()); }

 protected:
  Run() = default;

  // Returns the options that the family stores, after their check. The base calls it once they exist.
  virtual const RunSettings& settings() const noexcept = 0;
  // Sets up the data of the threads, once, after the last stream.
  virtual void prepare() = 0;
  // Does the work of thread `index`, until the end of the run or `threads().failed()`. A std::exception fails the run.
  virtual void work(std::int32_t index) = 0;
  // After a failure, wakes sleepers that are not threads of the run. Any thread may call it.
  virtual void wake_others() noexcept {}
  // Checks the state after the end of the threads. Throws std::runtime_error.
  virtual void check_end() const {}
  virtual std::vector<const OutputBuffer*> outputs() const = 0;  // all share one pool
  // Adds the family's counters to an empty list.
  virtual void count(Counts&) const {}
  // Returns the threads that wait for the generator to publish events of a stream: all, unless a family overrides it.
  virtual std::vector<std::int32_t> readers_of(std::size_t stream) const;

  // Returns the turn of a thread. Threads start on the cores in order of their turns; negative turns count back from
  // the last core.
  virtual std::int32_t turn_of(std::int32_t thread) const noexcept { return thread; }

  // Creates the state of the threads. Call it once, before the first use of `threads()` and at the latest in `prepare`.
  // `thread_name`: name of a thread in errors.
  void make_threads(std::int32_t count, const char* thread_name);
  InstanceThreads& threads() noexcept { return *threads_; }
  const InstanceThreads& threads() const noexcept { return *threads_; }
  std::span<const std::unique_ptr<WorkMeter>> meters() const noexcept {
    return threads_ ? threads_->meters() : std::span<const std::unique_ptr<WorkMeter>>();
  }
  Counters sum_counters() const noexcept;

  // Adds a stream. Its index, which breaks ties in time, is the number of earlier streams. Throws std::logic_error
  // after `start`, and std::invalid_argument if timestamps or heartbeats decrease or reach the end of time. A load
  // needs due times, ascending from 0 to `kLatestDueNs`, for all events and heartbeats; without a load there are none.
  // With arrival times (`LoadOptions::tick_ns`), the view's first column, `ts` and heartbeats are memory of the run.
  StreamView& add_view(StreamView stream);
  // `add_source` creates the source that replays a stream. `add_feed` also creates a feed that reads its blocks without
  // their stamps. `stamped`: see Source.
  Source& add_source(const StreamView& view, bool stamped);
  Feed& add_feed(const StreamView& view);

  // See Generator. With a load, call these functions after `make_threads`. Without a load, they do nothing.
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
  std::vector<std::int64_t> sum(Histogram Recorder::* histogram) const;

  std::vector<std::shared_ptr<const void>> borrowed_;  // first member: destroyed last
  std::deque<std::vector<std::int64_t>> arrivals_;     // arrival times of the rows and heartbeats of each stream
  std::deque<Received> received_;                      // for streams that arrive during the run
  Receipts receipts_;                                  // counts calls of `receive`
  std::deque<StreamView> views_;                       // a deque, since sources and feeds hold references
  std::vector<std::unique_ptr<Source>> sources_;
  std::deque<Feed> feeds_;
  std::optional<InstanceThreads> threads_;
  const char* thread_name_ = "";
  std::unique_ptr<Generator> generator_;  // null without a load
  RunThreads run_threads_;
};

}  // namespace lab
