// A run of a hand-written band join: streams, their total order, threads, and what they measured. The comparison
// partners of the operator O+ (oplus/oplus_run.h), with its sources, generator, log, waiting and output, but without
// epochs, mappings and compiled functions.
//
// Law: any thread moves what sources handed over into the order and notifies the others; a thread sleeps only after
// it has found nothing to read, nothing to feed and no end, looked at between Parker::prepare and commit.
#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "run/generator.h"
#include "joins/pair_consumer.h"
#include "run/counters.h"
#include "run/parker.h"
#include "run/run_parts.h"
#include "run/threads.h"
#include "log/total_order.h"

namespace lab {

enum class JoinKind {
  kAdHoc,    // every pair compared, threads over the ordered log
  kSingle,   // every pair compared, one thread that merges the streams itself
  kIndexed,  // a grid, one thread
};

struct JoinsOptions {
  JoinKind kind = JoinKind::kAdHoc;
  std::int32_t threads = 1;          // above 1 with kAdHoc only
  std::int64_t window = 1;           // pairs are at most so far apart
  std::int32_t band = 0;             // between 0 and kWidestBand
  std::int64_t batch = 1;            // events per block
  std::uint64_t ring_blocks = 64;    // blocks that a source may be ahead
  LogOptions log;
  std::vector<std::int32_t> cores;   // thread i is pinned to cores[i mod size]; empty: not pinned
  bool oversubscribed = false;       // more threads than cores: do not spin
  std::optional<LoadOptions> load;
  bool spare_core = false;
  std::int64_t reserved_rows = 0;    // output rows of all threads for which memory is touched before the run
  std::int64_t grid_steps = Recorder::kSteps;
  bool measure = true;
};

class JoinsRun {
 public:
  // Throws std::invalid_argument on options out of range.
  explicit JoinsRun(JoinsOptions options);
  JoinsRun(const JoinsRun&) = delete;
  JoinsRun& operator=(const JoinsRun&) = delete;

  // First L with the columns ts, x, y, then R with ts, a, b, c, d. Throws as DgsRun::add_stream.
  void add_stream(StreamView stream);

  // Creates the threads; they wait for `run`. Once.
  void start();

  // Runs to the end of both streams. Returns the duration in ns. Throws std::runtime_error when a thread failed.
  std::int64_t run();

  std::int64_t rows() const noexcept;
  std::int64_t outputs_grown() const noexcept { return pool_->grown(); }  // see OutputPool
  void collect(std::span<void* const> columns) const;
  std::vector<std::int64_t> latency_counts() const { return sum(&Recorder::steady); }
  std::vector<std::int64_t> warm_up_counts() const { return sum(&Recorder::warm_up); }
  std::vector<std::int64_t> lag_counts() const;
  std::int64_t emitted() const noexcept { return generator_ ? generator_->emitted() : 0; }
  bool real_time_generator() const noexcept { return generator_ && generator_->real_time(); }
  std::vector<Progress> progress() const;
  std::int64_t events() const noexcept;     // tuples that every thread has read
  std::int64_t looked_at() const noexcept;  // comparisons, of kIndexed candidates
  Counters counters() const noexcept;

 private:
  struct alignas(kCacheLine) Worker {
    std::unique_ptr<OutputBuffer> out;
    std::unique_ptr<Recorder> recorder;
    std::unique_ptr<PairConsumer> consumer;
    Counters counters;
    bool done = false;  // has read everything; its own thread only
  };

  void work(std::int32_t index);
  bool turn(std::int32_t index);
  bool stopped() const noexcept;
  void notify_all() noexcept;
  std::vector<std::int64_t> sum(Histogram Recorder::*of) const;

  JoinsOptions options_;
  BandInputs inputs_;
  std::deque<StreamView> views_;
  std::vector<std::unique_ptr<Source>> sources_;
  std::deque<Feed> feeds_;
  std::unique_ptr<TotalOrder> order_;
  std::shared_ptr<OutputPool> pool_;  // of `Worker::out`
  std::vector<Worker> workers_;
  std::vector<Parker> parkers_;
  std::unique_ptr<Generator> generator_;
  std::int64_t start_ns_ = 0;
  std::atomic<bool> failed_{false};  // written by who fails, read by all; each store has a notify behind it
  RunThreads threads_;
};

}  // namespace lab
