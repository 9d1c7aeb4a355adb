// Where a worker's rows come from: streams, and links. A reader takes them block by block, and passes a marker when
// everything that it reads has passed it: that is MRG of Data-Trace Types, section 4.
#pragma once
#include <cstdint>
#include <vector>

#include "dataflow/instance.h"
#include "dataflow/link.h"
#include "dataflow/markers.h"
#include "run/replay.h"

namespace lab {

class FlowReader {
 public:
  explicit FlowReader(FlowInstance& into, const Markers& markers) : into_(into), markers_(markers) {}
  FlowReader(const FlowReader&) = delete;
  FlowReader& operator=(const FlowReader&) = delete;
  virtual ~FlowReader() = default;

  // Takes what there is, up to some bound. False: there is nothing now.
  virtual bool turn() = 0;
  bool over() const noexcept { return over_; }

 protected:
  static constexpr std::int64_t kMostMarkers = 256;  // in one turn

  bool last_block() const noexcept { return into_.block() == markers_.count; }
  void finish() {
    into_.end();
    over_ = true;
  }

  FlowInstance& into_;
  const Markers& markers_;

 private:
  bool over_ = false;
};

// Reads links, in turn.
class FlowLinkReader final : public FlowReader {
 public:
  FlowLinkReader(FlowInstance& into, const Markers& markers) : FlowReader(into, markers) {}

  void add(FlowLink& link) { links_.push_back(&link); }
  bool turn() override;

 private:
  static constexpr std::int64_t kMostRows = 4096;  // in one turn

  std::vector<FlowLink*> links_;
};

// Reads streams.
class FlowStreamReader final : public FlowReader {
 public:
  FlowStreamReader(FlowInstance& into, const Markers& markers, WorkMeter& meter, bool due)
      : FlowReader(into, markers), meter_(meter), due_(due) {}

  // `feed`: of a generator; null: at full speed, in blocks of `batch`.
  void add(const StreamView& view, std::int64_t batch, Feed* feed);
  bool turn() override;
  std::int64_t rows() const noexcept { return rows_; }

 private:
  struct Lane {
    const StreamView* view;
    Replay replay;
    Block block{};        // at hand
    bool has = false;     // whether there is one
    bool passed = false;  // whether later rows are beyond the block that is read
    bool ended = false;
  };

  bool read(Lane& lane, std::int64_t end_ts);
  void take(Lane& lane, std::int64_t rows);

  WorkMeter& meter_;
  const bool due_;
  std::vector<Lane> lanes_;
  std::vector<std::int64_t> dues_;  // of the rows at hand
  std::int64_t rows_ = 0;
};

}  // namespace lab
