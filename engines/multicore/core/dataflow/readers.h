// FlowReader: feeds an instance with the rows of streams or links. It takes them block by block, and passes a marker
// once all its inputs have passed it. That is MRG of Data-Trace Types, section 4.
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

  // Takes available rows, up to some bound, while none of the links that it fills is full. False: no rows now, or no
  // room.
  virtual bool take_turn() = 0;
  bool finished() const noexcept { return finished_; }

 protected:
  static constexpr std::int64_t kMostMarkers = 256;  // in one turn

  bool last_block() const noexcept { return into_.block() == markers_.count; }
  void finish() {
    into_.end();
    finished_ = true;
  }

  FlowInstance& into_;
  const Markers& markers_;

 private:
  bool finished_ = false;
};

// Reads links, in turn.
class FlowLinkReader final : public FlowReader {
 public:
  // `aligned` false: rows are taken as they arrive, whatever their block, and a marker with the first link that brings
  // it, as in a system without types. That is wrong on purpose.
  FlowLinkReader(FlowInstance& into, const Markers& markers, bool aligned)
      : FlowReader(into, markers), aligned_(aligned) {}

  // `words`: its rows are words of rows, for SORT.
  void add(FlowLink& link, bool words) { links_.push_back({&link, words}); }
  bool take_turn() override { return aligned_ ? take_aligned() : take_as_found(); }

 private:
  static constexpr std::int64_t kMostRows = 4096;  // in one turn

  struct Way {
    FlowLink* link;
    bool words;
    std::int64_t block = 0;  // unaligned: the link's current block
  };

  bool take_aligned();
  bool take_as_found();
  bool ended() const noexcept;

  const bool aligned_;
  std::vector<Way> links_;
};

// Reads streams.
class FlowStreamReader final : public FlowReader {
 public:
  FlowStreamReader(FlowInstance& into, const Markers& markers, WorkMeter& meter, bool due)
      : FlowReader(into, markers), meter_(meter), due_(due) {}

  // `feed`: of a generator; null: at full speed, in blocks of `batch`.
  void add(const StreamView& view, std::int64_t batch, Feed* feed);
  bool take_turn() override;
  std::int64_t rows() const noexcept { return rows_; }

 private:
  static constexpr std::int64_t kMostRows = 512;  // rows after which a turn ends, so that other workers see the outputs

  struct Lane {
    const StreamView* view;
    Replay replay;
    Block block{};        // the current block
    bool has = false;     // whether there is one
    bool passed = false;  // whether later rows are beyond the current block
    bool ended = false;
  };

  bool read(Lane& lane, std::int64_t end_ts);
  void take(Lane& lane, std::int64_t rows);

  WorkMeter& meter_;
  const bool due_;
  std::vector<Lane> lanes_;
  std::vector<std::int64_t> dues_;  // of the current rows
  std::int64_t rows_ = 0;
};

}  // namespace lab
