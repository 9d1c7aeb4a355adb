// FlowReader: feeds an instance (dataflow/instance.h) with the rows of streams or links. It takes rows block by block,
// and passes a marker once all its inputs have passed the marker. This is MRG of Data-Trace Types, section 4.
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
  explicit FlowReader(FlowInstance& instance, const Markers& markers) : instance_(instance), markers_(markers) {}
  FlowReader(const FlowReader&) = delete;
  FlowReader& operator=(const FlowReader&) = delete;
  virtual ~FlowReader() = default;

  // Takes a bounded number of available rows, as long as no link that the instance fills is full. Returns false if
  // there were no rows, or no room.
  virtual bool take_turn() = 0;
  bool finished() const noexcept { return finished_; }

 protected:
  static constexpr std::int64_t kMaxMarkers = 256;  // maximum number of markers in one turn

  bool last_block() const noexcept { return instance_.block() == markers_.count; }
  void finish() {
    instance_.end();
    finished_ = true;
  }

  FlowInstance& instance_;
  const Markers& markers_;

 private:
  bool finished_ = false;
};

// Reads several links in turn.
class FlowLinkReader final : public FlowReader {
 public:
  // Without `aligned`, the reader takes rows of any block as they arrive, and passes a marker as soon as the first link
  // brings it, as in a system without types. The results are wrong on purpose.
  FlowLinkReader(FlowInstance& instance, const Markers& markers, bool aligned)
      : FlowReader(instance, markers), aligned_(aligned) {}

  // `has_words`: whether the link carries words of rows, for a SORT.
  void add(FlowLink& link, bool has_words) { links_.push_back({&link, has_words}); }
  bool take_turn() override { return aligned_ ? take_aligned() : take_unaligned(); }

 private:
  static constexpr std::int64_t kMaxRows = 4096;  // number of rows after which a turn ends

  struct Input {
    FlowLink* link;
    bool has_words;
    std::int64_t block = 0;  // the link's current block; used without `aligned`
  };

  bool take_aligned();
  bool take_unaligned();
  bool ended() const noexcept;

  const bool aligned_;
  std::vector<Input> links_;
};

// Reads streams.
class FlowStreamReader final : public FlowReader {
 public:
  // `has_due`: whether rows carry due times.
  FlowStreamReader(FlowInstance& instance, const Markers& markers, WorkMeter& meter, bool has_due)
      : FlowReader(instance, markers), meter_(meter), has_due_(has_due) {}

  // `feed`: the generator's feed; null at full speed, at which the stream is read in blocks of `batch` rows.
  void add(const StreamView& view, std::int64_t batch, Feed* feed);
  bool take_turn() override;
  std::int64_t rows() const noexcept { return rows_; }

 private:
  // Number of rows after which a turn ends, so that other workers see the outputs.
  static constexpr std::int64_t kMaxRows = 512;

  struct Lane {
    const StreamView* view;
    Replay replay;
    Block block{};           // rows of the stream that are being taken
    bool has_block = false;  // whether `block` is valid
    bool passed = false;     // whether later rows are beyond the instance's current block
    bool ended = false;
  };

  bool read(Lane& lane, std::int64_t end_ts);
  void take(Lane& lane, std::int64_t rows);

  WorkMeter& meter_;
  const bool has_due_;
  std::vector<Lane> lanes_;
  std::vector<std::int64_t> dues_;  // due times of the rows being taken
  std::int64_t rows_ = 0;
};

}  // namespace lab
