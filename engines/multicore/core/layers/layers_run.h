// A run of a pipeline, or of an operator O+, as a query graph with a thread for each part of it: injectors, one for
// each physical stream, instances of each operator, sinks; after Gulisano et al., "Viper" (2019). docs/decisions/0011-determinism-layers.md.
//
// What comes from several producers is put in the order (timestamp, producer, row) in one of two places, or nowhere:
//   operator        a merge-sorting operator, a thread of its own, stands before each consumer, between queues;
//   communication   the channel is an ordered log (log/tuple_buffer.h), merged by the threads that are there: the producers
//                   when its reader sleeps or is behind, else the reader;
//   none            the consumer takes what it finds.
// With one producer a channel is a queue in all of them.
//
// Set-up and results are for one thread.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "run/generator.h"
#include "log/feed.h"
#include "layers/node.h"
#include "layers/operator.h"
#include "layers/use.h"
#include "run/instance_threads.h"
#include "run/run_parts.h"
#include "run/threads.h"
#include "stages/spec.h"

namespace lab {

struct LayersOptions {
  std::string determinism = "communication";
  std::int32_t workers = 1;                   // instances of each operator, but of stateful ones, which have one
  std::int64_t batch = 1;                     // records that are handed over at once, at most
  std::int64_t channel_rows = 4096;           // records between two threads; rounded up to a power of two
  std::uint64_t ring_blocks = 64;             // with a load: blocks that the generator may be ahead of an injector
  std::vector<std::int32_t> input_itemsizes;  // of a pipeline's input, the int64 timestamp first
  std::int32_t core_count = 1;                // that the process may use
  std::vector<std::int32_t> cores;            // thread i is pinned to cores[i mod size]; empty: not pinned
  std::optional<LoadOptions> load;
  std::int64_t reserved_rows = 0;             // output rows of all sinks for which memory is touched before the run
  std::int64_t grid_steps = Recorder::kSteps;
  bool measure = true;
};

struct LayersTotals {
  std::int64_t injectors = 0, instances = 0, mergers = 0, sinks = 0;  // threads
  std::int64_t queues = 0, logs = 0;                                  // channels
  std::int64_t kernel_calls = 0;
  std::int64_t compared = 0;             // pairs, by joins
  std::int64_t room_waits = 0;
  std::int64_t spilled_rows = 0;         // see LayerLink
  std::int64_t merges_by_producers = 0;  // of logs, that found something to merge
  std::int64_t merges_by_readers = 0;
  std::int64_t sleeps = 0, yields = 0;
  ThreadUse use;                         // of all these threads
  ThreadUse use_of_mergers;
};

class LayersRun {
 public:
  // Throws std::invalid_argument on options out of range.
  explicit LayersRun(LayersOptions options);
  LayersRun(const LayersRun&) = delete;
  LayersRun& operator=(const LayersRun&) = delete;

  // Adds the next operator: it reads the input, or what the one before forwards. Throws std::invalid_argument.
  void add_stage(StageSpec spec);

  // Sets the operator O+ that is the query, instead of `add_stage`; before `add_stream`. Throws std::invalid_argument.
  void set_operator(LayersOperator of);

  // Adds a stream; its index, which breaks ties in time, is the number of streams added before. `stream.columns` are
  // those of the input's item sizes. Throws std::invalid_argument.
  std::int32_t add_stream(StreamView stream);

  // Likewise with an operator O+: a stream of its input `input`. Both kernels are null for joins.
  std::int32_t add_stream(StreamView stream, std::int32_t input, ProcessKernel process, RouteKernel route);

  // Creates the threads; they wait for `run`. Once.
  void start();

  // Runs to the end of all streams. Returns the duration in ns. Throws std::runtime_error when an operator failed.
  std::int64_t run();

  std::int64_t rows() const noexcept;
  std::int64_t outputs_grown() const noexcept { return pool_->grown(); }  // see OutputPool
  // All outputs in the order (timestamp, sink); what a sink got late stays late.
  void collect(std::span<void* const> columns) const;
  std::int64_t events() const noexcept;  // records that the first operator has read; of O+, that went to instances
  std::int64_t emitted() const noexcept { return generator_ ? generator_->emitted() : 0; }
  bool real_time_generator() const noexcept { return generator_ && generator_->real_time(); }

  // With a load from the due time of the record that an output comes from; else from when an injector handed it over.
  std::vector<std::int64_t> latency_counts() const { return sum_counts(*threads_, &Recorder::steady); }
  std::vector<std::int64_t> warm_up_counts() const { return sum_counts(*threads_, &Recorder::warm_up); }
  std::vector<std::int64_t> service_counts() const { return sum_counts(*threads_, &Recorder::service); }
  std::vector<std::int64_t> lag_counts() const;
  std::vector<Progress> progress() const;
  LayersTotals totals() const noexcept;
  std::int32_t threads() const noexcept { return static_cast<std::int32_t>(places_.size()); }

 private:
  enum class Part { kInjector, kInstance, kMerger, kSink };
  struct Place {  // of a thread
    Part part;
    std::unique_ptr<LayerNode> node;
    ThreadUse use;
  };
  struct Level {  // what producers send to: an operator's instances, or the sinks
    const StageSpec* stage;  // null: sinks, or the operator O+
    bool is_operator;        // O+
    std::int32_t consumers;
    std::vector<std::int32_t> itemsizes;  // of what it reads, without stamps
  };

  StreamView& keep(StreamView stream);
  std::vector<Level> levels() const;
  void build();
  std::vector<std::int32_t> add_injectors();
  std::vector<std::int32_t> add_level(const std::vector<Level>& levels, std::size_t index,
                                      const std::vector<std::int32_t>& producers);
  std::int32_t add_consumer(const Level& level, std::size_t index, std::int32_t number);
  std::int32_t add(Part part, std::unique_ptr<LayerNode> node);
  void connect(std::int32_t producer, std::vector<std::unique_ptr<LayerLink>> links, const Level& level,
               std::size_t index);
  std::unique_ptr<LayerRoute> route_of(std::int32_t producer, std::size_t consumers, const Level& level,
                                    std::size_t index) const;
  void read(std::int32_t consumer, std::unique_ptr<LayerIn> in);
  std::uint64_t slice_width() const noexcept;
  std::optional<std::int64_t> end_of_time() const noexcept;
  Parker& parker(std::int32_t thread) noexcept { return threads_->parkers()[static_cast<std::size_t>(thread)]; }

  void work(std::int32_t index);

  LayersOptions options_;
  std::size_t stamps_;
  std::int64_t unit_;
  std::uint64_t slice_width_ = 1;
  std::deque<StageSpec> stages_;
  std::optional<LayersOperator> operator_;
  std::deque<StreamView> views_;
  std::vector<OperatorStream> streams_;  // of the operator O+
  std::vector<std::unique_ptr<Source>> sources_;  // with a load
  std::deque<Feed> feeds_;
  std::unique_ptr<InstanceThreads> threads_;
  std::vector<std::unique_ptr<TupleBuffer>> logs_;
  std::int64_t queues_ = 0;
  std::vector<Place> places_;
  std::shared_ptr<OutputPool> pool_;  // of all sinks
  std::vector<const LayerSink*> sinks_;
  std::vector<const LayerInstance*> first_instances_;
  std::vector<const LayerInjector*> injectors_;
  std::vector<const LayerOperator*> operators_;  // instances
  std::unique_ptr<Generator> generator_;
  RunThreads run_threads_;
};

}  // namespace lab
