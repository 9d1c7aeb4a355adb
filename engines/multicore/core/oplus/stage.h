// One operator of a run: where its tuples come from, its instances, and which buckets of keys are whose, driven piece
// by piece by the threads of the run (`turn`), and reconfigured in between (Algorithms 3 to 6).
//
// A reconfiguration is an entry of the log. Each instance takes note when it reads it, and stops before the first
// tuple that raises the watermark above what it was there: at that place all of them meet (`meet`), the last to
// come makes the switch, alone, and releases the others. An entry that another one overtakes is never applied. While an
// instance stands there its thread goes on with other operators, whose own switches are no concern of this one.
//
// An instance that a switch makes leave may have outputs that found no room: it is `leaving` until they have, and
// then no source of TB_out any more.
//
// Set-up and results are for one thread; `turn(i)` is for thread i; `reconfigure`, `await` and `look` are for one
// other thread during the run.
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

// What is known beforehand of the tuples that a query reads.
struct InputTimes {
  std::span<const OperatorStream> streams;  // of the sources
  std::optional<std::int64_t> end;          // up to where time has passed at the end; none: there are no tuples
};

class OperatorStage {
 public:
  // Throws std::invalid_argument on a specification out of range. `options` and `threads` must outlive the stage.
  OperatorStage(const OplusOptions& options, InstanceThreads& threads, const OperatorSpec& spec,
                std::vector<std::int32_t> itemsizes);
  OperatorStage(const OperatorStage&) = delete;
  OperatorStage& operator=(const OperatorStage&) = delete;

  const OperatorSpec& spec() const noexcept { return spec_; }
  const std::vector<std::int32_t>& itemsizes() const noexcept { return itemsizes_; }  // of its outputs

  // The mapping at the start: bucket b belongs to instance owner[b].
  void map(std::vector<std::int32_t> owner);
  bool mapped() const noexcept { return !epochs_.empty(); }

  // Reads the sources of the run.
  void start(std::unique_ptr<Handover> handover, const InputTimes& input);
  // Reads what `before` emits, by `link`.
  void start(std::unique_ptr<ChainLog> link, OperatorStage& before, const InputTimes& input);
  // Publishes into `log`, which has started and is read by so many threads from `first_thread` on, or by the stage that
  // is behind.
  void publish_into(OutputLog& log, std::int32_t first_thread, std::int32_t readers);
  // Nobody is behind: touches memory for so many output rows of all instances. Before `start`'s threads run.
  void reserve(std::int64_t rows) { pool_->reserve(rows, spec_.max_outputs); }
  std::int64_t outputs_grown() const noexcept { return pool_->grown(); }  // see OutputPool

  // Does the first piece of work that instance `index` finds. False: there is none now, and the thread may sleep when
  // it has announced so before.
  bool turn(std::int32_t index);
  bool active(std::int32_t index) const noexcept {
    // seq_cst: the store in `apply` is followed by a notify (run/parker.h). Also acquire: what `apply` set up for us.
    return at(index).active.load(std::memory_order_seq_cst);
  }
  // Whether it is active and stands at no barrier, so that it stays active until its thread, which asks, comes to one.
  bool goes_on(std::int32_t index) const noexcept { return at(index).met < 0 && active(index); }
  // Whether its thread has something to do here, or may have.
  bool engaged(std::int32_t index) const noexcept {
    // seq_cst: as `active`, which is stored behind it where an instance begins to leave
    return active(index) || at(index).leaving.load(std::memory_order_seq_cst);
  }
  // Threads, from the first on, that were ever active. seq_cst: stored before they are, so that whoever has made work
  // for one and does not find it here is seen by it.
  std::int32_t reach() const noexcept { return reach_.load(std::memory_order_seq_cst); }

  // See OplusRun.
  std::int64_t reconfigure(std::int32_t instances, std::vector<std::int32_t> owner);
  std::optional<Switch> await(std::int64_t number);
  void wake_waiter() noexcept;
  void look(Snapshot& into) const;
  std::vector<Switch> switches() const;

  const OutputBuffer& outputs(std::int32_t index) const noexcept { return *at(index).out; }
  std::int64_t events() const noexcept;  // tuples that every instance active at the end has read
  std::int64_t compared() const noexcept;
  std::int64_t kernel_calls() const noexcept;
  // Outputs that found no room in the log behind: ever, and of one instance at a time. Afterwards.
  std::int64_t spilled() const noexcept;
  std::int64_t spilled_peak() const noexcept;

 private:
  struct Epoch {
    std::int32_t instances;
    std::vector<std::int32_t> owner;
    Switch done;
  };
  struct alignas(kCacheLine) Worker {
    std::unique_ptr<OutputBuffer> out;
    std::unique_ptr<OperatorInstance> instance;
    Causes causes;              // of the outputs that wait for the next operator, under a load
    std::vector<LogRun> batch;  // runs at hand
    std::int64_t skip = 0;      // rows of the first unreleased run that are done
    std::int64_t counted = 0;   // outputs that the recorder has been told of; at full speed
    std::int64_t pending = -1;  // switch that was read last and not yet applied
    std::int64_t gamma = 0;     // watermark where it was read
    bool any = false;           // whether a tuple had been read there
    std::int64_t met = -1;      // switch that it waits for, with the others
    bool through = false;       // has read everything; outputs may still wait
    bool done = false;          // and nothing waits any more
    // Written by the owner, read by `look`: statistics, nothing is ordered by them.
    std::atomic<std::int64_t> compared{0};
    std::unique_ptr<std::atomic<std::int64_t>[]> processed, windows;  // by input
    // Written by the instance that makes a switch, or at the start; read by the owner and by all.
    std::atomic<bool> active{false};
    // Is not active, and has outputs that wait. Under `epochs_mutex_`; read by the owner.
    std::atomic<bool> leaving{false};
  };

  Worker& at(std::int32_t index) noexcept { return workers_[static_cast<std::size_t>(index)]; }
  const Worker& at(std::int32_t index) const noexcept { return workers_[static_cast<std::size_t>(index)]; }
  void begin(const InputTimes& input);
  bool read(std::int32_t index);
  void release(std::int32_t index, std::size_t runs);
  void process(std::int32_t index, std::span<const LogRun> runs);
  void advance(std::int32_t index, std::int64_t watermark);
  std::int64_t due_of_time(std::int32_t index, std::int64_t watermark) const noexcept;
  std::int64_t rows_until(std::int32_t index, const LogRun& part, bool any, std::int64_t until);
  bool pass_on(std::int32_t index);
  void end(std::int32_t index);
  void finish(std::int32_t index);
  void notify_behind() noexcept;
  void publish_counts(Worker& worker) noexcept;
  void count_outputs(std::int32_t index) noexcept;
  // Of active instances. relaxed: written at a barrier, which orders it; who joins or leaves is told by `apply`.
  std::int32_t active_count() const noexcept { return active_.load(std::memory_order_relaxed); }
  // oplus/reconfigure.cc
  void meet(std::int32_t index);
  void apply(std::int32_t index, std::int64_t number);
  bool leave(std::int32_t index);

  const OplusOptions& options_;
  InstanceThreads& threads_;
  OperatorSpec spec_;
  const std::vector<std::int32_t> itemsizes_;
  std::unique_ptr<Handover> handover_;
  InputTimes input_;
  OperatorStage* before_ = nullptr;  // the stage that this one reads
  OperatorStage* first_ = nullptr;   // of the query
  OperatorStage* behind_ = nullptr;  // the one that reads this one
  OutputLog* from_ = nullptr;        // what `before_` publishes into
  OutputLog* to_ = nullptr;          // what this one does; none: its outputs are collected where they are
  std::int32_t first_reader_ = 0;    // threads that read `to_`, where no stage does
  std::int32_t end_reader_ = 0;
  std::shared_ptr<OutputPool> pool_;  // of `Worker::out`
  std::vector<Worker> workers_;

  std::int64_t called_ = 0;              // number of the last switch called for; the caller's
  mutable std::mutex epochs_mutex_;      // guards `epochs_`: its growth against its readers; and who leaves
  std::condition_variable switched_;     // with `epochs_mutex_`: a switch was applied, or none will be any more
  std::deque<Epoch> epochs_;             // by number of the switch; the first is the mapping at the start
  std::atomic<std::int32_t> active_{0};  // written at a barrier only; relaxed, the barrier orders it
  std::atomic<std::int32_t> reach_{0};   // see `reach`; written at a barrier only
  alignas(kCacheLine) std::atomic<std::int32_t> arrived_{0};  // at the barrier
  alignas(kCacheLine) std::atomic<std::int64_t> applied_{0};  // epoch in force; pairs in `meet`
  // Mapping in force. Written at a barrier; relaxed, the barrier orders it.
  alignas(kCacheLine) std::atomic<const std::vector<std::int32_t>*> owner_{nullptr};
  alignas(kCacheLine) std::atomic<std::int32_t> ended_{0};  // active instances that are done
};

}  // namespace lab
