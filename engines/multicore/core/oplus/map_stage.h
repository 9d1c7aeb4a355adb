// Shared-nothing with a map stage (STRETCH, Corollary 1, Algorithms 7, 11 and 13, Operators 8 and 12): m map instances make
// of each tuple one for each of its keys, which is routed by that key to the aggregate instance whose it is; each aggregate
// instance merge-sorts what comes from the map instances, and keeps a state of its own.
//
// Of several streams every map instance has a part for each, with queues of its own: as though M were behind each u_i,j
// (proof of Theorem 2). The threads are those of the aggregate instances: whoever finds nothing to read maps, a map instance
// at a time, under a flag that nobody waits for; so no more map instances are at work at once than there are threads.
//
// The number of instances stays: a change would have to pass the map instances, each of which is elsewhere in its stream.
#pragma once
#include <atomic>
#include <deque>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "oplus/handover.h"
#include "oplus/map_part.h"
#include "run/cacheline.h"
#include "run/merge_flag.h"

namespace lab {

class MapStage final : public Handover {
 public:
  static constexpr std::int64_t kQueueRows = 1 << 12;  // from one map instance and stream to one aggregate instance
  static constexpr std::int64_t kAhead = 1 << 12;  // rows of a stream handed over that the slowest part has not done

  // Streams and map instances: `streams.size() * maps` at most kMaxLogSources. `mapped`: of each stream.
  MapStage(const OperatorSpec& spec, std::int32_t maps, std::string tuple_buffer, LogOptions options,
           std::span<const OperatorStream> streams, std::span<const MappedStream> mapped, std::deque<Feed>& feeds);

  void start(std::int32_t most, std::int32_t active) override;
  TupleBuffer& log(std::int32_t instance) override { return *logs_[static_cast<std::size_t>(instance)]; }
  int reader(std::int32_t) override { return 0; }
  std::span<const OperatorStream> streams(std::int32_t instance) override {
    return receivers_[static_cast<std::size_t>(instance)].streams;
  }
  WindowState* state(std::int32_t instance) override {
    return receivers_[static_cast<std::size_t>(instance)].state.get();
  }
  bool feed(Recorder& recorder, const std::int32_t* owner, std::int32_t active) override;
  bool call(std::int64_t) override { return false; }  // refused before: see above
  // What instances have read are no tuples of the streams: these are counted here.
  bool by_decree() const noexcept override { return true; }
  bool decreed(std::int64_t*) const noexcept override { return false; }
  std::int64_t delivered() const noexcept override;
  std::int64_t delivered_of(std::size_t stream) const noexcept override;
  std::int64_t change(const Change&, std::span<OperatorInstance* const>) override { return 0; }

  std::int64_t emitted() const noexcept;  // tuples, by all map instances

 private:
  struct Receiver {
    std::unique_ptr<TupleBuffer> log;
    std::vector<OperatorStream> streams;  // by part: see `source_of`
    std::unique_ptr<WindowState> state;
  };
  // How far a stream has been handed over. Written under its feed's flag, `handed` first; read under a map instance's,
  // `bound` first: rows from `handed` on are then not below the bound that was seen.
  struct alignas(kCacheLine) Handed {
    std::atomic<std::int64_t> rows{0};
    std::atomic<std::int64_t> bound{std::numeric_limits<std::int64_t>::min()};  // of later rows; kEndOfTime: none
  };
  struct alignas(kCacheLine) MapInstance {
    MergeFlag flag;             // who holds it runs the parts
    std::deque<MapPart> parts;  // by stream
  };

  // Index of a part in the logs. Ties go by it, so streams come in their order.
  int source_of(std::size_t stream, std::size_t map) const noexcept {
    return static_cast<int>(stream * maps_.size() + map);
  }
  bool take_in(std::size_t stream, Recorder& recorder);
  bool map(MapInstance& one, std::size_t index, const std::int32_t* owner, Recorder& recorder);

  const OperatorSpec& spec_;
  std::string tuple_buffer_;
  LogOptions options_;
  std::span<const OperatorStream> streams_;
  std::span<const MappedStream> mapped_;
  std::deque<Feed>& feeds_;
  std::deque<MapInstance> maps_;
  std::deque<Receiver> receivers_;
  std::vector<TupleBuffer*> logs_;  // of the receivers
  std::deque<Handed> handed_;       // by stream
};

}  // namespace lab
