// Represents one operator of a run: its input, its instances, and the mapping of key buckets to instances. The threads
// of the run drive it piece by piece (`take_turn`), and reconfigure it in between (Algorithms 3 to 6).
//
// A reconfiguration is an entry of the log. An instance that reads the entry notes the number of the switch and its own
// watermark. It stops before the first tuple that raises the watermark above that value. There the instances wait for
// each other (`reach_barrier`). The last instance to arrive makes the switch alone and releases the others. A switch is
// never applied if the instances read a later entry before they stop. While an instance waits, its thread continues
// with other operators, whose switches are independent.
//
// An instance that leaves by a switch may have outputs for which the log has no room. It is `leaving` until it has
// published them. Then it stops being a source of the output log (oplus/output_log.h).
//
// One thread does the set-up and reads the results. Only thread i calls `take_turn(i)`. During the run, one other
// thread may call `reconfigure`, `await` and `add_to`.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "oplus/causes.h"
#include "oplus/chain_log.h"
#include "oplus/handover.h"
#include "oplus/instance.h"
#include "oplus/options.h"
#include "run/instance_threads.h"
#include "run/sink.h"

namespace lab {

// The properties of a query's input tuples that are known before the run.
struct InputTimes {
  std::span<const OperatorStream> streams;  // of the sources
  std::optional<std::int64_t> end;          // time reached at the end of the run; nullopt without tuples
};

class OperatorStage {
 public:
  // Throws std::invalid_argument on a specification out of range. `options` and `threads` must outlive the stage.
  OperatorStage(const OplusOptions& options, InstanceThreads& threads, const OperatorSpec& spec,
                std::vector<std::int32_t> itemsizes);
  OperatorStage(const OperatorStage&) = delete;
  OperatorStage& operator=(const OperatorStage&) = delete;

  const OperatorSpec& spec() const noexcept { return spec_; }
  const std::vector<std::int32_t>& itemsizes() const noexcept { return itemsizes_; }  // of the output fields

  // Sets the mapping at the start: bucket b belongs to instance owner[b], one of the first `workers`.
  void map(std::vector<std::int32_t> owner);
  bool mapped() const noexcept { return !epochs_.empty(); }

  // Starts a stage that reads the sources of the run.
  void start(std::unique_ptr<Handover> handover, const InputTimes& input);
  // Starts a stage that reads the outputs of `before` through `link`.
  void start(std::unique_ptr<ChainLog> link, OperatorStage& before, const InputTimes& input);
  // Makes the stage publish into `log`, which has started. Its readers are `readers` threads from `first_thread` on, or
  // the next stage.
  void publish_into(OutputLog& log, std::int32_t first_thread, std::int32_t readers);
  // Touches memory for `rows` output rows of all instances, in a stage without readers. Call before the threads run.
  void reserve(std::int64_t rows) { pool_->reserve(rows, spec_.max_outputs); }
  std::int64_t outputs_grown() const noexcept { return pool_->grown(); }  // see OutputPool

  // Does the first piece of work that instance `index` finds. Returns false if it finds none. The thread may then sleep
  // if it announced that before the call.
  bool take_turn(std::int32_t index);
  bool active(std::int32_t index) const noexcept {
    // seq_cst: a notify follows the store in `apply_switch` (run/parker.h). Also acquires the set-up that
    // `apply_switch` made for the instance.
    return at(index).active.load(std::memory_order_seq_cst);
  }
  // Returns whether the instance is active and not at a barrier. Such an instance stays active until its thread, the
  // caller, comes to a barrier.
  bool is_running(std::int32_t index) const noexcept { return at(index).awaited_switch < 0 && active(index); }
  // Returns whether the instance's thread has, or may have, work here.
  bool engaged(std::int32_t index) const noexcept {
    // seq_cst: as `active`, which is stored after it when an instance begins to leave.
    return active(index) || at(index).leaving.load(std::memory_order_seq_cst);
  }
  // Returns n such that all threads ever active are among the first n. seq_cst: stored before a thread becomes active.
  // If a thread makes work for another thread that is not yet counted here, the other thread sees that work.
  std::int32_t reach() const noexcept { return reach_.load(std::memory_order_seq_cst); }

  // See the functions of OplusRun that call these.
  std::int64_t reconfigure(InstanceMapping next);
  std::optional<Switch> await(std::int64_t number);
  void wake_waiter() noexcept;
  void add_to(Snapshot& into) const;
  std::vector<Switch> switches() const;

  const OutputBuffer& outputs(std::int32_t index) const noexcept { return *at(index).out; }
  std::int64_t events() const noexcept;  // tuples that all instances active at the end have read
  std::int64_t compared() const noexcept;
  std::int64_t kernel_calls() const noexcept;
  // Return the number of outputs that found no room in the next log: in total, and the peak of one instance. Call after
  // the run.
  std::int64_t spilled() const noexcept;
  std::int64_t spilled_peak() const noexcept;

 private:
  struct Epoch {
    InstanceMapping assignment;
    Switch report;
  };
  struct alignas(kCacheLine) Worker {
    std::unique_ptr<OutputBuffer> out;
    std::unique_ptr<OperatorInstance> instance;
    Causes causes;                      // of the outputs that wait for the next operator, under a load
    std::vector<LogRun> batch;          // runs to process next
    std::int64_t skipped_rows = 0;      // processed rows of the first unreleased run
    std::int64_t counted_outputs = 0;   // outputs reported to the recorder; at full speed
    std::int64_t pending_switch = -1;   // the last switch read and not yet applied; -1: none
    std::int64_t switch_watermark = 0;  // watermark at the entry of the pending switch
    bool had_tuple = false;             // whether a tuple was read before that entry
    std::int64_t awaited_switch = -1;   // switch for which the instance waits at the barrier; -1: none
    bool input_ended = false;           // has read all input; outputs may still wait
    bool finished = false;              // has read all input, and no output waits
    // Written by the owner, read by `add_to`: statistics, which order nothing.
    std::atomic<std::int64_t> compared{0};
    std::unique_ptr<std::atomic<std::int64_t>[]> processed, windows;  // by input
    // Written by the instance that makes a switch, or at the start; read by the owner and all others.
    std::atomic<bool> active{false};
    // Whether the instance is inactive and still has waiting outputs. Written under `epochs_mutex_`; read by the owner.
    std::atomic<bool> leaving{false};
  };

  Worker& at(std::int32_t index) noexcept { return workers_[static_cast<std::size_t>(index)]; }
  const Worker& at(std::int32_t index) const noexcept { return workers_[static_cast<std::size_t>(index)]; }
  void start_instances(const InputTimes& input);
  bool process_ready_runs(std::int32_t index);
  void release_runs(std::int32_t index, std::size_t runs);
  void process_runs(std::int32_t index, std::span<const LogRun> runs);
  void advance_watermark(std::int32_t index, std::int64_t watermark);
  bool tidy(std::int32_t index);
  std::int64_t due_of_time(std::int32_t index, std::int64_t watermark) const noexcept;
  std::int64_t rows_until(std::int32_t index, const LogRun& part, bool had_tuple, std::int64_t until);
  bool publish_outputs(std::int32_t index);
  void end_input(std::int32_t index);
  void finish_instance(std::int32_t index);
  void notify_readers() noexcept;
  void publish_counts(Worker& worker) noexcept;
  void count_outputs(std::int32_t index) noexcept;
  // Returns the assignment in force, for active instances. relaxed: written at a barrier, which orders it;
  // `apply_switch` notifies the instances that join or leave.
  const InstanceMapping& assignment() const noexcept { return *assignment_.load(std::memory_order_relaxed); }
  std::int32_t active_count() const noexcept { return assignment().count(); }
  // oplus/reconfigure.cc
  void reach_barrier(std::int32_t index);
  void apply_switch(std::int32_t index, std::int64_t number);
  bool publish_and_leave(std::int32_t index);

  const OplusOptions& options_;
  InstanceThreads& threads_;
  OperatorSpec spec_;
  const std::vector<std::int32_t> itemsizes_;
  std::unique_ptr<Handover> handover_;
  InputTimes input_;
  OperatorStage* previous_stage_ = nullptr;  // the stage that this one reads
  OperatorStage* first_stage_ = nullptr;     // of the query
  OperatorStage* next_stage_ = nullptr;      // the stage that reads this one
  OutputLog* input_log_ = nullptr;           // the log into which `previous_stage_` publishes
  OutputLog* output_log_ = nullptr;          // the log into which this stage publishes; null: outputs stay in place
  std::int32_t first_reader_ = 0;            // threads that read `output_log_`, if no stage does
  std::int32_t end_reader_ = 0;
  std::shared_ptr<OutputPool> pool_;  // of `Worker::out`
  std::vector<Worker> workers_;

  std::int64_t last_request_ = 0;       // number of the last switch requested; only the caller of `reconfigure` uses it
  mutable std::mutex epochs_mutex_;     // guards `leaving`, and the growth of `epochs_` against its readers
  std::condition_variable switched_;    // with `epochs_mutex_`: a switch was applied, or no more will be
  std::deque<Epoch> epochs_;            // by number of the switch; the first is the mapping at the start
  std::atomic<std::int32_t> reach_{0};  // see `reach`; written at a barrier only
  alignas(kCacheLine) std::atomic<std::int32_t> arrived_{0};  // at the barrier
  alignas(kCacheLine) std::atomic<std::int64_t> applied_{0};  // epoch in force; pairs with the load in `take_turn`
  // The mapping in force, which an epoch owns. Written at a barrier, which orders it for the instances, so they load it
  // relaxed. The store is release for the acquire in `add_to`.
  alignas(kCacheLine) std::atomic<const InstanceMapping*> assignment_{nullptr};
  alignas(kCacheLine) std::atomic<std::int32_t> ended_{0};  // active instances that have finished
};

}  // namespace lab
