// A run: streams, trees, mailboxes and workers, put together and driven from start to end.
//
// Set-up and results are for one thread; only `run` has several. All storage lives as long as the Runtime.
#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <latch>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "cacheline.h"
#include "forest.h"
#include "histogram.h"
#include "mailbox.h"
#include "parker.h"
#include "sink.h"
#include "source.h"

namespace lab {

struct RuntimeOptions {
  std::int32_t workers = 1;
  std::int64_t batch = 1;             // events per block
  std::uint64_t ring_blocks = 64;     // blocks a source may be ahead of its slowest reader
  std::int64_t max_outputs_per_event = 1;
  std::vector<std::int32_t> output_itemsizes;
  std::vector<std::int32_t> cores;    // worker w is pinned to cores[w mod size]; empty: not pinned
  bool oversubscribed = false;        // more workers than cores: do not spin
};

class Runtime {
 public:
  // Throws std::invalid_argument on options out of range.
  explicit Runtime(RuntimeOptions options);
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  Forest forest;

  // Adds a stream that `owner` replays; its index is the number of streams added before.
  // Throws std::invalid_argument when timestamps decrease or reach the end of time.
  std::int32_t add_stream(StreamView stream, std::int32_t owner);

  // Adds an empty mailbox to a worker; returns its index. All trees must have been added.
  std::int32_t add_mailbox(std::int32_t worker);
  Mailbox& mailbox(std::int32_t index) { return *mailboxes_.at(static_cast<std::size_t>(index)).mailbox; }

  // Adds a lane to a mailbox; `lane.source`, `lane.reader` and `lane.owner_worker` are filled in.
  void add_lane(std::int32_t mailbox, std::int32_t stream, Lane lane);

  // Creates the threads; they wait for `run`.
  void start();

  // Runs to the end of all streams and joins the threads. Returns the duration in nanoseconds, from the
  // release of the threads to the end of the last. Throws std::runtime_error when a worker failed.
  std::int64_t run();

  std::int64_t rows() const noexcept;                          // output records of all workers
  void collect(std::span<void* const> columns) const;          // merges them; see sink.h
  std::vector<std::int64_t> latency_counts() const;            // by histogram bucket, all workers
  std::vector<std::int64_t> sync_counts() const;
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
    Histogram latency;
    Histogram sync;
    Counters counters;
    std::string error;
    std::thread thread;
  };
  struct Entry {
    std::unique_ptr<Mailbox> mailbox;
    std::int32_t worker;
  };

  void work(std::int32_t index);
  bool turn(Worker& worker);
  bool pump(Worker::Owned& owned);
  static bool done(const Worker& worker) noexcept;
  void pin(std::int32_t index) const noexcept;

  RuntimeOptions options_;
  std::deque<StreamView> streams_;            // deque: sources hold references
  std::vector<std::unique_ptr<Source>> sources_;
  std::vector<std::int32_t> owners_;          // by stream
  std::vector<Entry> mailboxes_;
  std::vector<Worker> workers_;
  std::vector<Parker> parkers_;               // by worker
  std::unique_ptr<std::latch> go_;
  std::atomic<bool> failed_{false};           // written by a failing worker, read by all: stop
};

}  // namespace lab
