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
// Behind the last operator may be downstream readers (oplus/downstream.h), which have threads of their own, behind those
// of the instances. They are no instances' business: one whose outputs wait for them reads no more in front.
//
// `reconfigure`, `await` and `snapshot` are for one other thread during `run`.
#pragma once
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "oplus/downstream.h"
#include "oplus/map_stage.h"
#include "oplus/options.h"
#include "oplus/queues.h"
#include "oplus/stage.h"
#include "run/run.h"

namespace lab {

class OplusRun final : public Run {
 public:
  // Throws std::invalid_argument on options out of range. `spec`: of the first operator.
  OplusRun(OplusOptions options, const OperatorSpec& spec);

  // Adds an operator that reads what the last one emits: its tuples are those records, columns in their order.
  // Before `start`. Throws std::invalid_argument: shared-nothing, joins, several inputs.
  void add_operator(const OperatorSpec& spec, ProcessKernel process, std::vector<std::int32_t> output_itemsizes);

  // Adds a stream of the first operator; see Run::add_view. Returns its index. `process` and `route` are null for joins; `route` and `shapes`, those of the columns behind
  // the timestamp, are for shared-nothing instances only.
  std::int32_t add_stream(StreamView stream, std::int32_t input, ProcessKernel process, RouteKernel route = nullptr,
                          std::vector<ColumnShape> shapes = {});

  // Likewise, with a map stage: `process` is for tuples as map instances emit them.
  std::int32_t add_mapped_stream(StreamView stream, std::int32_t input, ProcessKernel process, MappedStream mapped);

  // The mapping of an operator at the start: bucket b belongs to instance owner[b], below `instances`.
  void map(std::vector<std::int32_t> owner, std::size_t op = 0);

  // Calls for another mapping of an operator; `instances` of it are active then, and every bucket is mapped to one of
  // them. Returns the number of the switch, from 1 for each operator, or -1 when the run is over. Does not wait for it.
  // Operators change one by one, each at a place of its own log. Throws std::invalid_argument.
  std::int64_t reconfigure(std::int32_t instances, std::vector<std::int32_t> owner, std::size_t op = 0);
  // Waits until a switch has been applied, and returns it; nothing when the run is over before.
  std::optional<Switch> await(std::int64_t number, std::size_t op = 0) { return stage(op).await(number); }
  // Nothing when the run is over.
  std::optional<Snapshot> snapshot() const;

  std::vector<std::vector<LoadStep>> load_steps() const;  // by thread of the instances
  std::vector<Switch> switches(std::size_t op = 0) const { return stages_.at(op)->switches(); }
  // Tuples that every instance of the first operator that was active at the end has read.
  std::int64_t events() const noexcept override { return stages_.front()->events(); }
  std::int64_t compared() const noexcept { return stages_.front()->compared(); }

 private:
  const RunSettings& settings() const noexcept override { return options_; }
  void prepare() override;
  void work(std::int32_t index) override;
  // Readers from the last core back: of instances, the first are active.
  std::int32_t turn_of(std::int32_t thread) const noexcept override {
    return thread < options_.most_instances ? thread : options_.most_instances - 1 - thread;
  }
  void wake_others() noexcept override;
  // What a generator hands over is no concern of downstream readers.
  std::vector<std::int32_t> readers_of(std::size_t stream) const override;
  void check_end() const override;
  std::vector<const OutputBuffer*> outputs() const override;
  void count(Counts& into) const override;
  bool turn(std::int32_t index);
  bool turn_downstream(std::int32_t index);
  bool engaged(std::int32_t index) const noexcept;
  OperatorStage& stage(std::size_t op);

  OplusOptions options_;
  std::vector<std::unique_ptr<OperatorStage>> stages_;
  std::unique_ptr<OutputLog> published_;  // by the last operator, where somebody is downstream
  std::unique_ptr<Downstream> downstream_;
  std::vector<ProcessKernel> links_;  // how stages but the first process their tuples
  std::vector<OperatorStream> streams_;
  std::vector<std::vector<ColumnShape>> shapes_;                     // by stream
  std::vector<MappedStream> mapped_;                                 // likewise, with a map stage
  const MapStage* map_stage_ = nullptr;                              // the first operator's hand-over, if it is one
  std::int64_t last_ts_ = std::numeric_limits<std::int64_t>::min();  // of all streams
  bool any_ = false;                                                 // whether there is a tuple
};

}  // namespace lab
