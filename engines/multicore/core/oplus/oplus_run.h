// Runs a chain of operators O+ (oplus/stage.h) from start to end, with its streams, sources and threads. The instances
// are virtual shared-nothing or shared-nothing (oplus/handover.h).
//
// Division of work. Sources hand over tuples (run/source.h): at full speed, any thread that runs out of work pumps the
// sources; with a load, the generator's thread does. Any thread moves these tuples into the first log (`feed`, one
// thread at a time, under a flag for which no thread waits). Any thread may merge a log. Each thread reads all entries
// of the logs of its instances.
//
// Several operators. Thread i runs instance i of each; logs connect them (oplus/chain_log.h). In each turn, a thread
// scans the operators from the last to the first and does the first piece of work that it finds. This is the flow
// control: ready work of later operators comes first. So outputs pile up between two operators only where another
// thread lags in the earlier log, and that log bounds the lag. Per instance, no more outputs wait than those of one
// window and of the rows in flight in the earlier log. No thread blocks on room.
//
// Downstream readers (oplus/downstream.h) may follow the last operator. Their threads come after those of the
// instances. Instances do no work for readers: an instance whose outputs wait for a reader stops reading earlier logs.
//
// During `run`, one other thread may call `reconfigure`, `await` and `snapshot`.
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
  // `spec`: the first operator. Throws std::invalid_argument if options are out of range.
  OplusRun(OplusOptions options, const OperatorSpec& spec);

  // Adds an operator behind the last. Its tuples are the output records of the last operator, with the same columns.
  // Call before `start`. Throws std::invalid_argument for shared-nothing runs, joins and several inputs.
  void add_operator(const OperatorSpec& spec, ProcessKernel process, std::vector<std::int32_t> output_itemsizes);

  // Adds a stream of the first operator; see Run::add_view. Returns its index. `process` and `route` are null for
  // joins. `route`, and `shapes` of the columns behind the timestamp, serve queues and marks (oplus/queues.h,
  // oplus/marks.h).
  std::int32_t add_stream(StreamView stream, std::int32_t input, ProcessKernel process, RouteKernel route = nullptr,
                          std::vector<ColumnShape> shapes = {});

  // Like `add_stream`, for a run with a map stage. `process` reads the tuples that map instances emit.
  std::int32_t add_mapped_stream(StreamView stream, std::int32_t input, ProcessKernel process, MappedStream mapped);

  // Sets the mapping of an operator at the start: bucket b belongs to instance owner[b], one of the first `workers`.
  void map(std::vector<std::int32_t> owner, std::size_t op = 0);

  // Requests new active `instances` of an operator, ascending and below `max_instances`, and the owner of each bucket.
  // Returns the number of the switch, from 1 for each operator, or -1 when the run is over. Does not wait for the
  // switch. Each operator switches on its own, at a place in its own log. Throws std::invalid_argument.
  std::int64_t reconfigure(std::vector<std::int32_t> instances, std::vector<std::int32_t> owner, std::size_t op = 0);
  // Waits until a switch has been applied and returns it; std::nullopt if the run ends before.
  std::optional<Switch> await(std::int64_t number, std::size_t op = 0) { return stage(op).await(number); }
  // Returns std::nullopt when the run is over.
  std::optional<Snapshot> snapshot() const;

  std::vector<std::vector<LoadStep>> load_steps() const;  // by thread of the instances
  std::vector<Switch> switches(std::size_t op = 0) const { return stages_.at(op)->switches(); }
  // Returns the number of the first operator's tuples that all instances active at the end have read.
  std::int64_t events() const noexcept override { return stages_.front()->events(); }
  std::int64_t compared() const noexcept { return stages_.front()->compared(); }

 private:
  const RunSettings& settings() const noexcept override { return options_; }
  void prepare() override;
  void work(std::int32_t index) override;
  // Instances take the first cores, since the first instances are active at the start. Downstream readers take the last
  // cores, backwards.
  std::int32_t turn_of(std::int32_t thread) const noexcept override {
    return thread < options_.max_instances ? thread : options_.max_instances - 1 - thread;
  }
  void wake_others() noexcept override;
  // A generator's rows do not concern downstream readers.
  std::vector<std::int32_t> readers_of(std::size_t stream) const override;
  void check_end() const override;
  std::vector<const OutputBuffer*> outputs() const override;
  void count(Counts& into) const override;
  bool take_turn(std::int32_t index);
  bool turn_downstream(std::int32_t index);
  bool engaged(std::int32_t index) const noexcept;
  OperatorStage& stage(std::size_t op);

  OplusOptions options_;
  std::vector<std::unique_ptr<OperatorStage>> stages_;
  std::unique_ptr<OutputLog> output_log_;  // log of the last operator's outputs, with downstream readers
  std::unique_ptr<Downstream> downstream_;
  std::vector<ProcessKernel> links_;  // kernels of all stages but the first
  std::vector<OperatorStream> streams_;
  std::vector<std::vector<ColumnShape>> shapes_;  // by stream
  std::vector<MappedStream> mapped_;              // by stream, with a map stage
  const MapStage* map_stage_ = nullptr;           // the first operator's hand-over, if it is a map stage
  std::int64_t last_ts_ = std::numeric_limits<std::int64_t>::min();  // over all streams
  bool has_tuples_ = false;
};

}  // namespace lab
