// A run: streams, trees, mailboxes and workers, put together and driven from start to end.
//
// Set-up and results are for one thread; only `run` has several. All storage lives as long as the DgsRun.
#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "run/cacheline.h"
#include "dgs/forest.h"
#include "run/generator.h"
#include "run/histogram.h"
#include "dgs/mailbox.h"
#include "run/parker.h"
#include "run/recorder.h"
#include "run/run_parts.h"
#include "run/threads.h"
#include "run/sink.h"
#include "run/source.h"

namespace lab {

struct DgsOptions {
  std::int32_t workers = 1;
  std::int64_t batch = 1;             // events per block
  std::uint64_t ring_blocks = 64;     // blocks a source may be ahead of its slowest reader
  std::int64_t max_outputs_per_event = 1;
  std::vector<std::int32_t> output_itemsizes;
  std::vector<std::int32_t> cores;    // worker w is pinned to cores[w mod size]; empty: not pinned
  bool oversubscribed = false;        // more workers than cores: do not spin
  std::optional<LoadOptions> load;    // hand events over when they are due; none: at full speed
  bool spare_core = false;            // with a load: a core is left for the generator to spin on
  std::int64_t reserved_rows = 0;     // output rows of all workers for which memory is touched before the run
  std::int64_t grid_steps = Recorder::kSteps;  // of 100 ms; what comes later counts for the last
  bool measure = true;                // false: no latency, no counts over time; for measuring what these cost
};

class DgsRun {
 public:
  // Throws std::invalid_argument on options out of range.
  explicit DgsRun(DgsOptions options);
  DgsRun(const DgsRun&) = delete;
  DgsRun& operator=(const DgsRun&) = delete;

  Forest forest;

  // Adds a stream that `owner` replays; its index is the number of streams added before.
  // Throws std::invalid_argument when timestamps or heartbeats decrease or reach the end of time, or when due
  // times are not as a load wants them: ascending from 0 to `kLatestDueNs`, one for each; with a load
  // the generator replays the stream, and `owner` says nothing.
  std::int32_t add_stream(StreamView stream, std::int32_t owner);

  // Adds an empty mailbox to a worker; returns its index. All trees must have been added.
  std::int32_t add_mailbox(std::int32_t worker);
  Mailbox& mailbox(std::int32_t index) { return *mailboxes_.at(static_cast<std::size_t>(index)).mailbox; }

  // Adds a lane to a mailbox; `lane.source`, `lane.reader` and `lane.owner_worker` are filled in.
  void add_lane(std::int32_t mailbox, std::int32_t stream, Lane lane);

  // Creates the threads; they wait for `run`. Once. Throws std::system_error when one cannot be had; the others
  // have ended then, and the runtime cannot run.
  void start();

  // Runs to the end of all streams and joins the threads. Returns the duration in nanoseconds, from the
  // release of the threads to the end of the last. Throws std::runtime_error when a worker failed.
  std::int64_t run();

  std::int64_t rows() const noexcept;                          // output records of all workers
  std::int64_t outputs_grown() const noexcept { return pool_->grown(); }  // see OutputPool
  void collect(std::span<void* const> columns) const;          // merges them; see run/sink.h
  // Histograms by bucket, over all workers; they end with the last bucket that is used.
  std::vector<std::int64_t> latency_counts() const;            // with a load: after the warm-up
  std::vector<std::int64_t> warm_up_counts() const;
  std::vector<std::int64_t> service_counts() const;
  std::vector<std::int64_t> sync_counts() const;
  std::vector<std::int64_t> lag_counts() const;                // the generator's; empty without one
  std::int64_t emitted() const noexcept { return generator_ ? generator_->emitted() : 0; }
  bool real_time_generator() const noexcept { return generator_ && generator_->real_time(); }
  std::vector<Progress> progress() const;                      // by step of `Recorder::kStepNs`
  Counters counters() const noexcept;
  std::int64_t events() const noexcept;                        // events that every reader has processed

 private:
  struct alignas(kCacheLine) Worker {
    std::vector<Mailbox*> mailboxes;
    struct Owned {
      Source* source = nullptr;
      std::vector<const Lane*> local;      // this worker's lanes on it
      std::vector<std::int32_t> remote;    // other workers that read it
    };
    std::vector<Owned> sources;
    std::unique_ptr<OutputBuffer> out;
    std::unique_ptr<Recorder> recorder;
    Histogram sync;
    Counters counters;
  };
  struct Entry {
    std::unique_ptr<Mailbox> mailbox;
    std::int32_t worker;
  };

  void reserve();
  void work(std::int32_t index);
  void feed();
  void fail() noexcept;
  bool turn(Worker& worker);
  bool pump(Worker::Owned& owned);
  std::vector<std::int64_t> sum(const Histogram& (*of)(const Worker&)) const;
  static bool done(const Worker& worker) noexcept;

  DgsOptions options_;
  std::deque<StreamView> streams_;            // deque: sources hold references
  std::vector<std::unique_ptr<Source>> sources_;
  std::vector<std::int32_t> owners_;          // by stream
  std::vector<Entry> mailboxes_;
  std::shared_ptr<OutputPool> pool_;
  std::vector<Worker> workers_;
  std::vector<Parker> parkers_;               // by worker
  std::unique_ptr<Generator> generator_;      // with a load
  std::int64_t start_ns_ = 0;                 // written before the threads are let go, read after
  std::atomic<bool> failed_{false};           // written by a failing worker, read by all: stop
  RunThreads threads_;
};

}  // namespace lab
