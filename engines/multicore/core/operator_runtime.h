// A run of one operator O+, with virtual shared-nothing or shared-nothing instances (handover.h): streams, log, instances and their mapping, driven
// from start to end, and reconfigured in between (Algorithms 3 to 6).
//
// Who does what. Tuples are handed over by sources (source.h): at full speed by whichever instance runs out of work,
// with a load by the generator's thread. Any instance moves what they handed over into the log (`feed`, one at a
// time, under a flag that nobody waits for), any merges the log, each reads all of it.
//
// A reconfiguration is an entry of the log. Each instance takes note when it reads it, and stops before the first
// tuple that raises the watermark above what it was there: at that place all of them meet (`meet`), the last to
// come makes the switch, alone, and releases the others. An entry that another one overtakes is never applied.
//
// Set-up and results are for one thread; `reconfigure` and `snapshot` are for one other thread during `run`.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <latch>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "generator.h"
#include "handover.h"
#include "operator_instance.h"
#include "parker.h"
#include "queues.h"
#include "runtime.h"

namespace lab {

struct OperatorOptions {
  std::int32_t instances = 1;        // active at the start
  std::int32_t most_instances = 1;   // threads; those that are not active wait in a pool
  std::int64_t batch = 1;            // events per block
  std::uint64_t ring_blocks = 64;    // blocks that a source may be ahead of the log
  std::string tuple_buffer = "order";
  bool shared_nothing = false;       // queues instead of one log, a state for each instance
  LogOptions log;
  std::vector<std::int32_t> output_itemsizes;
  std::vector<std::int32_t> cores;   // instance i is pinned to cores[i mod size]; empty: not pinned
  bool oversubscribed = false;       // more threads than cores: do not spin
  std::optional<LoadOptions> load;
  bool spare_core = false;
  std::int64_t reserved_rows = 0;    // output rows per instance for which memory is touched before the run
  std::int64_t grid_steps = Recorder::kSteps;
  bool measure = true;
  std::optional<std::int64_t> end_watermark;  // up to which time has passed at the end; none: the last tuple's
  std::int64_t batch_rows = 4096;    // tuples that an instance processes before it gives log space back
};

// One change of the mapping. Times in ns after the start of the run.
struct Switch {
  std::int64_t called_ns = 0;
  std::int64_t done_ns = -1;         // -1: never applied
  std::int32_t before = 0;
  std::int32_t after = 0;
  std::int64_t event_ts = 0;         // of the watermark before the switch
  std::int64_t moved_bytes = 0;
};

// What instances did in one step of the recorder's grid.
struct LoadStep {
  std::int64_t busy_ns;
  std::int64_t compared;
};

// What the operator has done so far, as another thread may see it: counters read one after another.
struct Snapshot {
  std::int64_t time_ns = 0;               // after the start
  std::int32_t instances = 0;             // active
  std::vector<std::int64_t> busy_ns;      // by instance
  std::vector<std::int64_t> processed;    // by input, tuples that every active instance is done with
  std::vector<std::int64_t> windows;      // by input, tuples in the window; joins only
  std::int64_t compared = 0;
};

class OperatorRuntime {
 public:
  // Throws std::invalid_argument on options out of range.
  OperatorRuntime(OperatorOptions options, OperatorSpec spec);
  ~OperatorRuntime();
  OperatorRuntime(const OperatorRuntime&) = delete;
  OperatorRuntime& operator=(const OperatorRuntime&) = delete;

  // Adds a stream; its index is the number of streams added before. Throws as Runtime::add_stream.
  // `process` and `route` are null for joins; `route` and `shapes`, those of the columns behind the timestamp, are
  // for shared-nothing instances only.
  std::int32_t add_stream(StreamView stream, std::int32_t input, ProcessKernel process, RouteKernel route = nullptr,
                          std::vector<ColumnShape> shapes = {});

  // The mapping at the start: bucket b belongs to instance owner[b], below `instances`.
  void map(std::vector<std::int32_t> owner);

  // Creates the threads; they wait for `run`. Once.
  void start();

  // Runs to the end of all streams. Returns the duration in ns. Throws std::runtime_error when an instance failed.
  std::int64_t run();

  // Calls for another mapping; `instances` are active then, and every bucket is mapped to one of them. Returns the
  // number of the switch, from 1, or -1 when the run is over. Does not wait for it.
  std::int64_t reconfigure(std::int32_t instances, std::vector<std::int32_t> owner);
  // Waits until a switch has been applied, and returns it; nothing when the run is over before.
  std::optional<Switch> await(std::int64_t number);
  // Nothing when the run is over.
  std::optional<Snapshot> snapshot() const;

  std::int64_t rows() const noexcept;
  void collect(std::span<void* const> columns) const;
  std::vector<std::int64_t> latency_counts() const;
  std::vector<std::int64_t> warm_up_counts() const;
  std::vector<std::int64_t> service_counts() const;
  std::vector<std::int64_t> lag_counts() const;
  std::int64_t emitted() const noexcept { return generator_ ? generator_->emitted() : 0; }
  bool real_time_generator() const noexcept { return generator_ && generator_->real_time(); }
  std::vector<Progress> progress() const;
  std::vector<std::vector<LoadStep>> load_steps() const;  // by instance
  std::vector<Switch> switches() const;
  std::int64_t events() const noexcept;    // tuples that every instance active at the end has read
  std::int64_t compared() const noexcept;
  Counters counters() const noexcept;

 private:
  struct Epoch {
    std::int32_t instances;
    std::vector<std::int32_t> owner;
    Switch done;
  };
  struct alignas(kCacheLine) Worker {
    std::unique_ptr<OutputBuffer> out;
    std::unique_ptr<Recorder> recorder;
    std::unique_ptr<OperatorInstance> instance;
    std::vector<LogRun> batch;               // runs at hand
    std::int64_t skip = 0;                   // rows of the first unreleased run that are done
    std::int64_t pending = -1;               // switch that was read last and not yet applied
    std::int64_t gamma = 0;                  // watermark where it was read
    bool any = false;                        // whether a tuple had been read there
    std::unique_ptr<LoadStep[], void (*)(void*)> steps{nullptr, nullptr};
    std::int64_t used_steps = 0;
    Counters counters;
    std::string error;
    std::thread thread;
    // Written by the owner, read by `snapshot`: statistics, nothing is ordered by them.
    std::atomic<std::int64_t> busy_ns{0}, compared{0};
    std::unique_ptr<std::atomic<std::int64_t>[]> processed, windows;  // by input
    // Written by the instance that makes a switch, or at the start; read by the owner and by all.
    std::atomic<bool> active{false};
    std::atomic<bool> done{false};  // has read everything; written by the owner
  };
  void work(std::int32_t index);
  bool turn(std::int32_t index);
  bool read(std::int32_t index);
  void process(Worker& worker, std::span<const LogRun> runs);
  std::int64_t rows_until(std::int32_t index, LogRun part, bool any, std::int64_t until);
  void meet(std::int32_t index);
  void apply(std::int32_t index, std::int64_t number);
  void end(std::int32_t index);
  bool over() const noexcept { return over_.load(std::memory_order_seq_cst); }
  // relaxed: threads of the run wait for what comes after the store; others only take differences to it.
  std::int64_t start_ns() const noexcept { return start_ns_.load(std::memory_order_relaxed); }
  std::int64_t since_start() const noexcept;  // 0 before
  void notify_all() noexcept;
  void notify_active() noexcept;
  void wake_waiter() noexcept;
  void advance(Worker& worker, std::int64_t watermark);
  void publish_counts(Worker& worker) noexcept;
  void fail(std::int32_t index, const std::string& what) noexcept;
  void abandon();
  void join();
  std::vector<std::int64_t> sum(Histogram Recorder::*of) const;

  OperatorOptions options_;
  OperatorSpec spec_;
  std::deque<StreamView> views_;
  std::vector<OperatorStream> streams_;
  std::vector<std::unique_ptr<Source>> sources_;
  std::deque<Feed> feeds_;
  std::vector<std::vector<ColumnShape>> shapes_;  // by stream
  std::unique_ptr<Handover> handover_;
  std::vector<Worker> workers_;
  std::vector<Parker> parkers_;  // of active instances: hand-over
  std::vector<Parker> pool_;     // of the others: a switch, the end, a failure
  std::unique_ptr<Generator> generator_;
  std::thread generator_thread_;
  std::atomic<std::int64_t> start_ns_{0};  // 0: not yet. Written by `run`; a controller may look before it
  std::int64_t last_ts_ = std::numeric_limits<std::int64_t>::min();  // of all streams
  std::unique_ptr<std::latch> go_;
  std::int64_t called_ = 0;              // number of the last switch called for; the caller's

  mutable std::mutex epochs_mutex_;      // guards `epochs_`: its growth against its readers
  std::condition_variable switched_;     // with `epochs_mutex_`: a switch was applied, or none will be any more
  std::deque<Epoch> epochs_;             // by number of the switch; the first is the mapping at the start
  std::atomic<std::int32_t> active_{0};  // written at a barrier only; relaxed, the barrier orders it
  alignas(kCacheLine) std::atomic<std::int32_t> arrived_{0};     // at the barrier
  alignas(kCacheLine) std::atomic<std::int64_t> applied_{0};     // epoch in force; pairs in `meet`
  // Mapping in force. Written at a barrier; relaxed, the barrier orders it.
  alignas(kCacheLine) std::atomic<const std::vector<std::int32_t>*> owner_{nullptr};
  alignas(kCacheLine) std::atomic<std::int32_t> ended_{0};       // active instances that have read everything
  std::atomic<bool> over_{false};
  std::atomic<bool> failed_{false};
};

}  // namespace lab
