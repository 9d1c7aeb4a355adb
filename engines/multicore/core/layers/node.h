// The threads of a query graph: what an injector, an instance of an operator, a merge-sorting operator and a sink do.
//
// Rows between them have the fields of their operator, and behind these, where something is measured, columns of
// *stamps*, which each output takes over from the record that it comes from: with a load, when that was due and when
// an injector handed it over; else the latter alone, to within 64 rows. Operators O+: layers/operator.h.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "layers/in.h"
#include "layers/out.h"
#include "layers/route.h"
#include "layers/row_number.h"
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
  // `stamps`: columns behind the fields. `unit`: rows that are processed at once.
  LayerNode(WorkMeter& meter, std::size_t stamps, std::int64_t unit, bool every_time)
      : meter_(meter), stamps_(stamps), unit_(unit), every_time_(every_time) {}
  LayerNode(const LayerNode&) = delete;
  LayerNode& operator=(const LayerNode&) = delete;
  virtual ~LayerNode() = default;

  // Does something. False: there is nothing to do now, and all has been said and given back.
  virtual bool turn() = 0;
  // After a turn that was false: whether nothing will follow.
  virtual bool over() noexcept = 0;

  virtual std::int64_t spilled() noexcept { return 0; }             // rows, ever
  virtual std::int64_t spilled_peak() noexcept { return 0; }        // at a time, on one link
  virtual std::int64_t merges_as_producer() noexcept { return 0; }  // of logs
  virtual std::int64_t merges_as_reader() noexcept { return 0; }

 protected:
  static constexpr std::int64_t kRowsPerTick = 64;

  // Reads the clock for `rows` more.
  void tick(std::int64_t rows) noexcept {
    unseen_ += rows;
    if (!every_time_ && unseen_ < kRowsPerTick) return;
    meter_.recorder.tick();
    unseen_ = 0;
  }
  // What comes next may come much later.
  void slept() noexcept { unseen_ = kRowsPerTick; }

  Recorder& recorder() noexcept { return meter_.recorder; }

  WorkMeter& meter_;
  const std::size_t stamps_;
  const std::int64_t unit_;
  const bool every_time_;

 private:
  std::int64_t unseen_ = kRowsPerTick;
};

// Has links to others.
class LayerProducer : public LayerNode {
 public:
  LayerProducer(WorkMeter& meter, std::size_t stamps, std::int64_t unit, bool every_time)
      : LayerNode(meter, stamps, unit, every_time) {}

  void connect(std::unique_ptr<LayerOut> out, std::unique_ptr<LayerRoute> route) {
    out_ = std::move(out);
    route_ = std::move(route);
  }
  std::int64_t spilled() noexcept override;
  std::int64_t spilled_peak() noexcept override;
  std::int64_t merges_as_producer() noexcept override;

 protected:
  std::unique_ptr<LayerOut> out_;
  std::unique_ptr<LayerRoute> route_;
};

// Reads others' links, and has links itself.
class LayerRelay : public LayerProducer {
 public:
  LayerRelay(WorkMeter& meter, std::size_t stamps, std::int64_t unit, bool every_time)
      : LayerProducer(meter, stamps, unit, every_time) {}

  void read(std::unique_ptr<LayerIn> in) { in_ = std::move(in); }
  bool turn() final;
  bool over() noexcept final { return in_->ended() && out_->closed(); }
  std::int64_t merges_as_reader() noexcept override;

 protected:
  virtual void process(const LayerPiece& piece) = 0;

  // Later rows have ts >= `frontier`; kEndOfTime: there are none. Returns whether something was sent.
  virtual bool pass_time(std::int64_t) { return false; }

  // What this node may promise when later rows that it reads have ts >= `frontier`, which is not the end.
  virtual std::int64_t promised(std::int64_t frontier) const noexcept { return frontier; }

 private:
  std::unique_ptr<LayerIn> in_;
};

// Replays a stream, at full speed or as the generator hands it over.
class LayerInjector final : public LayerProducer {
 public:
  // `feed`: of a generator; null: at full speed. `itemsizes`: of the input, without stamps; none: rows go by number.
  LayerInjector(WorkMeter& meter, std::size_t stamps, std::int64_t unit, const StreamView& view, std::int64_t batch,
                Feed* feed, std::vector<std::int32_t> itemsizes);

  bool turn() override;
  bool over() noexcept override { return ended_ && out_->closed(); }
  std::int64_t rows() const noexcept { return rows_; }  // sent by number

 private:
  void inject(std::int64_t begin, std::int64_t rows);
  std::size_t show(std::int64_t begin, std::int64_t rows);

  const StreamView& view_;
  Replay replay_;
  const std::vector<std::int32_t> itemsizes_;
  bool ended_ = false;
  std::vector<const void*> columns_;
  std::vector<std::int64_t> due_, taken_;  // stamps of a unit
  std::vector<std::int64_t> numbers_;      // rows of a unit
  std::int64_t rows_ = 0;
};

// An instance of an operator.
class LayerInstance final : public LayerRelay {
 public:
  // `fields`: of what it reads, without stamps. `first`: of the first operator, which counts what is consumed.
  LayerInstance(WorkMeter& meter, std::size_t stamps, std::int64_t unit, bool every_time, const StageSpec& spec,
                std::size_t fields, bool first);

  std::int64_t rows() const noexcept { return rows_; }  // read

 private:
  void process(const LayerPiece& piece) override;

  const StageSpec& spec_;
  const std::size_t read_;
  const bool first_;
  std::vector<std::uint64_t> state_;
  KeyStates keys_;
  std::vector<std::int32_t> order_;      // 0, 1, 2, ...: partitioned operators read records by a list
  std::vector<std::int32_t> itemsizes_;  // of outputs, stamps included
  RecordBuffer made_;
  std::int64_t rows_ = 0;
};

// A merge-sorting operator: passes on what its input puts in order.
class LayerMerger final : public LayerRelay {
 public:
  using LayerRelay::LayerRelay;

 private:
  void process(const LayerPiece& piece) override { out_->send(0, piece.columns, piece.base, piece.rows); }
};

// Collects.
class LayerSink final : public LayerNode {
 public:
  // `pool`: of all sinks, for the outputs without stamps.
  LayerSink(WorkMeter& meter, std::size_t stamps, std::int64_t unit, bool every_time, std::int32_t number,
            std::shared_ptr<OutputPool> pool)
      : LayerNode(meter, stamps, unit, every_time),
        number_(number),
        mover_(pool->itemsizes()),
        outputs_(std::move(pool)) {}

  void read(std::unique_ptr<LayerIn> in) { in_ = std::move(in); }
  bool turn() override;
  bool over() noexcept override { return in_->ended(); }
  std::int64_t merges_as_reader() noexcept override;
  const OutputBuffer& outputs() const noexcept { return outputs_; }

 private:
  void note_latency(const LayerPiece& piece) noexcept;

  const std::int32_t number_;
  const RowMover mover_;
  OutputBuffer outputs_;
  std::unique_ptr<LayerIn> in_;
};

}  // namespace lab
