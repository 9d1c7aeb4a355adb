// A run of operators O+ in a row (oplus/stage.h), with virtual shared-nothing or shared-nothing instances
// (oplus/handover.h): streams, sources, threads, driven from start to end.
//
// Who does what. Tuples are handed over by sources (run/source.h): at full speed by whichever thread runs out of work,
// with a load by the generator's thread. Any thread moves what they handed over into the first log (`feed`, one at a
// time, under a flag that nobody waits for), any merges a log, each reads all of every log.
//
// Several operators. Thread i runs instance i of each; between them are logs (oplus/chain_log.h). In each turn a thread goes
// over the operators from the last to the first, and does the first piece of work that it finds. That is the flow
// control: what is ready behind is done before more is read in front, so outputs pile up between two operators only
// where another thread lags behind in the log in front, which that log bounds. At most there wait, for each instance,
// the outputs of the rows that the log in front has in flight, and of one window. Nothing blocks on room.
//
// Set-up and results are for one thread; `reconfigure`, `await` and `snapshot` are for one other thread during `run`.
#pragma once
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "run/generator.h"
#include "oplus/options.h"
#include "oplus/stage.h"
#include "run/instance_threads.h"
#include "oplus/queues.h"
#include "run/run_parts.h"
#include "run/threads.h"

namespace lab {

class OplusRun {
 public:
  // Throws std::invalid_argument on options out of range. `spec`: of the first operator.
  OplusRun(OplusOptions options, const OperatorSpec& spec);
  OplusRun(const OplusRun&) = delete;
  OplusRun& operator=(const OplusRun&) = delete;

  // Adds an operator that reads what the last one emits: its tuples are those records, columns in their order.
  // Before `start`. Throws std::invalid_argument: shared-nothing, joins, several inputs, instances that may change.
  void add_operator(const OperatorSpec& spec, ProcessKernel process, std::vector<std::int32_t> output_itemsizes);

  // Adds a stream of the first operator; its index is the number of streams added before. Throws as
  // DgsRun::add_stream. `process` and `route` are null for joins; `route` and `shapes`, those of the columns behind
  // the timestamp, are for shared-nothing instances only.
  std::int32_t add_stream(StreamView stream, std::int32_t input, ProcessKernel process, RouteKernel route = nullptr,
                          std::vector<ColumnShape> shapes = {});

  // The mapping of an operator at the start: bucket b belongs to instance owner[b], below `instances`.
  void map(std::vector<std::int32_t> owner, std::size_t op = 0);

  // Creates the threads; they wait for `run`. Once.
  void start();

  // Runs to the end of all streams. Returns the duration in ns. Throws std::runtime_error when an instance failed.
  std::int64_t run();

  // Calls for another mapping; `instances` are active then, and every bucket is mapped to one of them. Returns the
  // number of the switch, from 1, or -1 when the run is over. Does not wait for it. Throws std::invalid_argument, also
  // where there are several operators.
  std::int64_t reconfigure(std::int32_t instances, std::vector<std::int32_t> owner);
  // Waits until a switch has been applied, and returns it; nothing when the run is over before.
  std::optional<Switch> await(std::int64_t number) { return stages_.front()->await(number); }
  // Nothing when the run is over.
  std::optional<Snapshot> snapshot() const;

  std::int64_t rows() const noexcept;  // that the last operator emitted
  std::int64_t outputs_grown() const noexcept { return stages_.back()->outputs_grown(); }  // see OutputPool
  void collect(std::span<void* const> columns) const;
  std::vector<std::int64_t> latency_counts() const;
  std::vector<std::int64_t> warm_up_counts() const;
  std::vector<std::int64_t> service_counts() const;  // from when the last operator took its tuple
  std::vector<std::int64_t> lag_counts() const;
  std::int64_t emitted() const noexcept { return generator_ ? generator_->emitted() : 0; }
  bool real_time_generator() const noexcept { return generator_ && generator_->real_time(); }
  std::vector<Progress> progress() const;
  std::vector<std::vector<LoadStep>> load_steps() const;  // by thread
  std::vector<Switch> switches() const { return stages_.front()->switches(); }
  // Tuples that every instance of the first operator that was active at the end has read.
  std::int64_t events() const noexcept { return stages_.front()->events(); }
  std::int64_t compared() const noexcept { return stages_.front()->compared(); }
  Counters counters() const noexcept;  // of all operators

 private:
  void start_stages();
  void work(std::int32_t index);
  bool turn(std::int32_t index);

  OplusOptions options_;
  InstanceThreads threads_;
  std::vector<std::unique_ptr<OperatorStage>> stages_;
  std::vector<ProcessKernel> links_;              // how stages but the first process their tuples
  std::deque<StreamView> views_;
  std::vector<OperatorStream> streams_;
  std::vector<std::unique_ptr<Source>> sources_;
  std::deque<Feed> feeds_;
  std::vector<std::vector<ColumnShape>> shapes_;  // by stream
  std::int64_t last_ts_ = std::numeric_limits<std::int64_t>::min();  // of all streams
  bool any_ = false;                              // whether there is a tuple
  std::unique_ptr<Generator> generator_;
  RunThreads run_threads_;
};

}  // namespace lab
