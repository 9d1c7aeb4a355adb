// LayersRun: runs a pipeline, or an operator O+, as a query graph with one thread per part. The parts are the injectors
// (one per physical stream), the instances of each operator, and the sinks. It follows Gulisano et al., "Viper" (2019);
// see docs/decisions/0011-determinism-layers.md.
//
// Rows from several producers are put in the order (timestamp, producer, row) in one of two places, or not at all:
//   operator        A merge-sorting operator, a separate thread between queues, precedes each consumer.
//   communication   The channel is an ordered log (log/tuple_buffer.h). The producers merge the log in runs while its
//                   reader sleeps or lags behind; otherwise the reader does. In the published form the channel is a
//                   ScaleGate: producers insert their tuples, and watermark tuples control the flow.
//   none            The consumer takes rows as they arrive.
// With one producer, a channel is a queue in all three cases.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "layers/node.h"
#include "layers/operator.h"
#include "layers/use.h"
#include "run/names.h"
#include "run/run.h"
#include "stages/spec.h"

namespace lab {

enum class Determinism { kCommunication, kOperator, kNone };

// The channels of layer communication: OrderLog and ScaleGate.
enum class Channels { kLog, kScaleGate };

// How a merge-sorting operator forwards ready rows: in runs, or one tuple at a time as published.
enum class MergeUnit { kRun, kTuple };

// How records without a key are distributed over consumers (layers/route.h).
enum class Dealing { kTime, kTurn };

// Names of the values above, in their order.
inline constexpr Names<3> kDeterminisms = {"communication", "operator", "none"};
inline constexpr Names<2> kChannels = {"log", "scalegate"};
inline constexpr Names<2> kMergeUnits = {"run", "tuple"};
inline constexpr Names<2> kDealings = {"time", "turn"};

// `workers`: number of instances per operator; a stateful operator has one instance. `ring_blocks`: only with a load.
struct LayersOptions : RunSettings {
  static constexpr std::int64_t kMinChannelRows = 2;
  static constexpr std::int64_t kMaxChannelRows = std::int64_t{1} << 20;

  // Number of watermark tuples per round of a ScaleGate channel; each acknowledges 1/4 of its producer's room.
  static constexpr std::int64_t kWatermarksPerChannel = 4;

  Determinism determinism = Determinism::kCommunication;
  Channels channels = Channels::kLog;
  MergeUnit merge_unit = MergeUnit::kRun;
  Dealing dealing = Dealing::kTime;
  std::int64_t channel_rows = 4096;           // capacity of a channel between two threads; rounded up to a power of two
  std::int64_t spill_rows = Spill::kMaxRows;  // maximum number of a producer's rows that wait for room in one channel
  std::vector<std::int32_t> input_itemsizes;  // item sizes of a pipeline's input; the int64 timestamp is first
};

class LayersRun final : public Run {
 public:
  // Throws std::invalid_argument on options out of range.
  explicit LayersRun(LayersOptions options);

  // Adds the next operator, which reads the input or the outputs of the preceding one. Throws std::invalid_argument.
  void add_stage(StageSpec spec);

  // Sets the query's operator O+, instead of `add_stage`; call before `add_stream`. Throws std::invalid_argument.
  void set_operator(LayersOperator op);

  // Adds a stream whose columns have the input's item sizes; see Run::add_view. Returns its index.
  std::int32_t add_stream(StreamView stream);

  // Adds a stream to input `input` of the operator O+. Both kernels are null for joins.
  std::int32_t add_stream(StreamView stream, std::int32_t input, ProcessKernel process, RouteKernel route);

  // Returns the number of records that the first operator has read; for O+, the number of records sent to instances.
  std::int64_t events() const noexcept override;

 private:
  enum class Part { kInjector, kInstance, kMerger, kSink };
  struct Place {  // one thread
    Part part;
    std::unique_ptr<LayerNode> node;
    ThreadUse use;
  };
  // The consumers of one set of producers: the instances of an operator, or the sinks.
  struct Level {
    const StageSpec* stage;  // null for the sinks and for the operator O+
    bool is_operator;        // whether these are instances of the operator O+
    std::int32_t consumers;
    std::vector<std::int32_t> itemsizes;  // item sizes of the input, without stamps
  };
  std::string error_prefix(const Level& level) const {  // not for the sinks
    return level.is_operator ? operator_->spec.called() : level.stage->called();
  }

  const RunSettings& settings() const noexcept override { return options_; }
  void prepare() override;
  void work(std::int32_t index) override;
  void check_end() const override;
  std::vector<const OutputBuffer*> outputs() const override;
  void count(Counts& into) const override;
  std::vector<std::int32_t> readers_of(std::size_t stream) const override;

  const StreamView& add(StreamView stream);
  std::vector<Level> levels() const;
  std::vector<std::int32_t> add_injectors();
  std::vector<std::int32_t> add_level(const std::vector<Level>& levels, std::size_t index,
                                      const std::vector<std::int32_t>& producers);
  std::int32_t add_consumer(const Level& level, std::size_t index, std::int32_t number);
  std::int32_t add(Part part, std::unique_ptr<LayerNode> node);
  void connect(std::int32_t producer, std::vector<std::unique_ptr<LayerLink>> links, const Level& level,
               std::size_t index);
  std::unique_ptr<LayerRoute> route_of(std::int32_t producer, std::size_t consumers, const Level& level,
                                       std::size_t index) const;
  void attach_input(std::int32_t consumer, std::unique_ptr<LayerIn> in);
  std::uint64_t slice_width() const noexcept;
  std::optional<std::int64_t> last_time() const noexcept;
  Parker& parker(std::int32_t thread) noexcept { return threads().parkers()[static_cast<std::size_t>(thread)]; }

  LayersOptions options_;
  std::size_t stamps_;  // number of stamp columns of a row (layers/node.h)
  std::int64_t unit_;   // maximum number of rows processed at once
  std::uint64_t slice_width_ = 1;
  std::deque<StageSpec> stages_;
  std::optional<LayersOperator> operator_;
  std::vector<OperatorStream> streams_;  // streams of the operator O+
  std::vector<std::unique_ptr<TupleBuffer>> logs_;
  std::int64_t queues_ = 0;
  std::vector<Place> places_;
  std::shared_ptr<OutputPool> pool_;  // shared by all sinks
  std::vector<const LayerSink*> sinks_;
  std::vector<const LayerInstance*> first_instances_;
  std::vector<const LayerInjector*> injectors_;
  std::vector<const LayerOperator*> operators_;  // instances of the operator O+
};

}  // namespace lab
