// Implements the shared-nothing hand-over with a map stage (STRETCH, Corollary 1, Algorithms 7, 11 and 13, Operators 8
// and 12). m map instances turn a tuple into one tuple per key, and route it to the aggregate instance that owns the
// key. Each aggregate instance merge-sorts the tuples from the map instances, and has its own state.
//
// With several streams, every map instance has one part per stream, with its own queues, as if M followed each u_i,j
// (proof of Theorem 2). Map instances have no threads. Instead, the thread of an aggregate instance that has no tuples
// to read runs one map instance at a time, under a flag for which no thread waits.
//
// The number of instances is fixed: a change would have to pass the map instances, each at another place in its stream.
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

class MapStage final : public PrivateLogs {
 public:
  static constexpr std::int64_t kQueueRows = 1 << 12;  // from one map instance and stream to one aggregate instance
  static constexpr std::int64_t kAhead = 1 << 12;      // rows by which the slowest part of a stream may lag

  // `streams.size() * maps` is at most kMaxLogSources. `mapped`: by stream.
  MapStage(const OperatorSpec& spec, std::int32_t maps, std::string tuple_buffer, LogOptions options,
           std::span<const OperatorStream> streams, std::span<const MappedStream> mapped, std::deque<Feed>& feeds);

  void start(std::int32_t max_instances, const InstanceMapping& initial) override;
  bool feed(Recorder& recorder, const InstanceMapping& now) override;
  bool append_switch(std::int64_t) override { return false; }  // the run refuses changes: see above
  bool switch_time(std::int64_t*) const noexcept override { return false; }
  // Aggregate instances read mapped tuples, so the stage counts the tuples of the streams.
  std::int64_t delivered() const noexcept override;
  std::int64_t delivered_of(std::size_t stream) const noexcept override;
  std::int64_t change(const Change&, std::span<OperatorInstance* const>) override { return 0; }

  std::int64_t emitted() const noexcept;  // tuples of all map instances

 private:
  // How far a stream's feed has handed over its rows. Written under its feed's flag, `rows` first; read under a map
  // instance's flag, `bound` first. So the rows after the `rows` that a reader loads are not below the `bound` that it
  // loads.
  struct alignas(kCacheLine) FeedProgress {
    std::atomic<std::int64_t> rows{0};
    std::atomic<std::int64_t> bound{std::numeric_limits<std::int64_t>::min()};  // of later rows; kEndOfTime: none
  };
  struct alignas(kCacheLine) MapInstance {
    MergeFlag flag;             // its holder runs the parts
    std::deque<MapPart> parts;  // by stream
  };

  // Returns the index of a part in the logs and in a receiver's streams. The index breaks ties in the streams' order.
  int source_of(std::size_t stream, std::size_t map) const noexcept {
    return static_cast<int>(stream * maps_.size() + map);
  }
  bool feed_stream(std::size_t stream, Recorder& recorder);
  bool run_map_instance(MapInstance& instance, std::size_t index, const std::int32_t* owner, Recorder& recorder);

  const OperatorSpec& spec_;
  std::string tuple_buffer_;
  LogOptions options_;
  std::span<const OperatorStream> streams_;
  std::span<const MappedStream> mapped_;
  std::deque<Feed>& feeds_;
  std::deque<MapInstance> maps_;
  std::vector<TupleBuffer*> logs_;          // of the receivers
  std::deque<FeedProgress> feed_progress_;  // by stream
};

}  // namespace lab
