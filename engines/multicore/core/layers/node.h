// LayerNode: one thread of a query graph: an injector, an instance of an operator, a merge-sorting operator or a sink.
//
// Rows between threads have the fields of their operator. With measurement, columns of *stamps* follow the fields. Each
// output inherits the stamps of its source record. With a load, the stamps are the due time and the time at which an
// injector delivered the record. Without a load, the only stamp is the delivery time, accurate to 64 rows. For
// operators O+, see layers/operator.h.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "layers/in.h"
#include "layers/out.h"
#include "layers/route.h"
#include "run/column_ring.h"
#include "run/feed.h"
#include "run/replay.h"
#include "run/sink.h"
#include "run/source.h"
#include "stages/records.h"
#include "stages/spec.h"

namespace lab {

class LayerNode {
 public:
  // `stamps`: number of stamp columns after the fields: 0, 1 or 2. `unit`: maximum number of rows processed at once.
  // `every_time`: whether every `tick` reads the clock.
  LayerNode(WorkMeter& meter, std::size_t stamps, std::int64_t unit, bool every_time)
      : meter_(meter), stamps_(stamps), unit_(unit), every_time_(every_time) {}
  LayerNode(const LayerNode&) = delete;
  LayerNode& operator=(const LayerNode&) = delete;
  virtual ~LayerNode() = default;

  // Does some work. Returns false if no work is ready; all promises and releases are then published.
  virtual bool take_turn() = 0;
  // After a turn that returned false, returns whether no work will follow.
  virtual bool finished() noexcept = 0;

  // Return the input and the output, or null if the thread has no input or no output.
  virtual LayerIn* in() noexcept { return nullptr; }
  virtual LayerOut* out() noexcept { return nullptr; }

 protected:
  static constexpr std::int64_t kRowsPerTick = 64;

  // Counts `rows` rows. Reads the clock every `kRowsPerTick` rows or, with `every_time`, at each call.
  void tick(std::int64_t rows) noexcept {
    rows_since_tick_ += rows;
    if (!every_time_ && rows_since_tick_ < kRowsPerTick) return;
    meter_.recorder.tick();
    rows_since_tick_ = 0;
  }
  // Makes the next `tick` read the clock, since the next rows may come much later.
  void expect_pause() noexcept { rows_since_tick_ = kRowsPerTick; }

  Recorder& recorder() noexcept { return meter_.recorder; }

  WorkMeter& meter_;
  const std::size_t stamps_;
  const std::int64_t unit_;
  const bool every_time_;

 private:
  std::int64_t rows_since_tick_ = kRowsPerTick;
};

// A thread with output links.
class LayerProducer : public LayerNode {
 public:
  using LayerNode::LayerNode;

  void connect(std::unique_ptr<LayerOut> out, std::unique_ptr<LayerRoute> route) {
    out_ = std::move(out);
    route_ = std::move(route);
  }
  LayerOut* out() noexcept final { return out_.get(); }

 protected:
  std::unique_ptr<LayerOut> out_;
  std::unique_ptr<LayerRoute> route_;
};

// A thread with input and output links.
class LayerRelay : public LayerProducer {
 public:
  using LayerProducer::LayerProducer;

  void attach_input(std::unique_ptr<LayerIn> in) { in_ = std::move(in); }
  bool take_turn() final;
  bool finished() noexcept final { return in_->ended() && out_->closed(); }
  LayerIn* in() noexcept final { return in_.get(); }

 protected:
  virtual void process(const LayerPiece& piece) = 0;

  // Advances time: later rows have ts >= `frontier`; kEndOfTime means that no rows follow. Returns whether it sent
  // rows.
  virtual bool pass_time(std::int64_t) { return false; }

  // Returns what this node can promise once its later input rows have ts >= `frontier`, which is not kEndOfTime.
  virtual std::int64_t promised(std::int64_t frontier) const noexcept { return frontier; }

 private:
  std::unique_ptr<LayerIn> in_;
};

// Replays a stream, at full speed or at the generator's pace.
class LayerInjector final : public LayerProducer {
 public:
  // `feed`: the generator's feed; null at full speed. `itemsizes`: item sizes of the input, without stamps; empty if
  // rows are sent by number.
  LayerInjector(WorkMeter& meter, std::size_t stamps, std::int64_t unit, const StreamView& view, std::int64_t batch,
                Feed* feed, std::vector<std::int32_t> itemsizes);

  bool take_turn() override;
  bool finished() noexcept override { return ended_ && out_->closed(); }
  std::int64_t rows() const noexcept { return rows_; }  // number of rows sent by number (RowNumber)

 private:
  void inject(std::int64_t begin, std::int64_t rows);
  std::size_t point_columns(std::int64_t begin, std::int64_t rows);

  const StreamView& view_;
  Replay replay_;
  const std::vector<std::int32_t> itemsizes_;
  bool ended_ = false;
  std::vector<const void*> columns_;
  std::vector<std::int64_t> due_, taken_;  // stamps of the unit that is being sent
  std::vector<std::int64_t> numbers_;      // row numbers of this unit
  std::int64_t rows_ = 0;
};

// An instance of an operator.
class LayerInstance final : public LayerRelay {
 public:
  // `fields`: number of input fields, without stamps. `first`: whether the instance belongs to the first operator,
  // which counts consumed records.
  LayerInstance(WorkMeter& meter, std::size_t stamps, std::int64_t unit, bool every_time, const StageSpec& spec,
                std::size_t fields, bool first);

  std::int64_t rows() const noexcept { return rows_; }  // number of rows read

 private:
  void process(const LayerPiece& piece) override;

  const StageSpec& spec_;
  const std::size_t input_fields_;
  const bool is_first_;
  std::vector<std::uint64_t> state_;
  KeyStates keys_;
  std::vector<std::int32_t> order_;      // 0, 1, 2, ...: partitioned operators read records by a list
  std::vector<std::int32_t> itemsizes_;  // item sizes of outputs, including stamps
  RecordBuffer buffer_;                  // outputs of a kernel call
  std::int64_t rows_ = 0;
};

// A merge-sorting operator: forwards the rows of its input, which puts them in order.
class LayerMerger final : public LayerRelay {
 public:
  using LayerRelay::LayerRelay;

 private:
  void process(const LayerPiece& piece) override { out_->send(0, piece.columns, piece.base, piece.rows); }
};

// A sink: collects the outputs.
class LayerSink final : public LayerNode {
 public:
  // `pool`: memory for the outputs without stamps, shared by all sinks.
  LayerSink(WorkMeter& meter, std::size_t stamps, std::int64_t unit, bool every_time, std::int32_t number,
            std::shared_ptr<OutputPool> pool)
      : LayerNode(meter, stamps, unit, every_time),
        number_(number),
        mover_(pool->itemsizes()),
        outputs_(std::move(pool)) {}

  void attach_input(std::unique_ptr<LayerIn> in) { in_ = std::move(in); }
  bool take_turn() override;
  bool finished() noexcept override { return in_->ended(); }
  LayerIn* in() noexcept final { return in_.get(); }
  const OutputBuffer& outputs() const noexcept { return outputs_; }

 private:
  void note_latency(const LayerPiece& piece) noexcept;

  const std::int32_t number_;
  const RowMover mover_;
  OutputBuffer outputs_;
  std::unique_ptr<LayerIn> in_;
};

}  // namespace lab
