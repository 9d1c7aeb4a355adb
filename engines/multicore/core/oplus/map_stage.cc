// Implements MapStage; see oplus/map_stage.h.
#include "oplus/map_stage.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "run/event_key.h"

namespace lab {

MapStage::MapStage(const OperatorSpec& spec, std::int32_t maps, std::string tuple_buffer, LogOptions options,
                   std::span<const OperatorStream> streams, std::span<const MappedStream> mapped,
                   std::deque<Feed>& feeds)
    : spec_(spec),
      tuple_buffer_(std::move(tuple_buffer)),
      options_(std::move(options)),
      streams_(streams),
      mapped_(mapped),
      feeds_(feeds) {
  if (maps < 1 || std::ssize(streams) * maps > kMaxLogSources) {
    throw std::invalid_argument(std::to_string(maps) + " map instances of " + std::to_string(streams.size()) +
                                " streams: there must be at least one, and at most " + std::to_string(kMaxLogSources) +
                                " for all streams together");
  }
  for (std::int32_t i = 0; i < maps; ++i) maps_.emplace_back();
}

void MapStage::start(std::int32_t max_instances, const InstanceMapping&) {
  options_.rows_in_flight = std::max(options_.rows_in_flight, kQueueRows);
  options_.readers = 1;
  const auto receivers = static_cast<std::size_t>(max_instances);
  for (std::size_t s = 0; s < streams_.size(); ++s) {
    feed_progress_.emplace_back();
    for (std::size_t m = 0; m < maps_.size(); ++m) {
      maps_[m].parts.emplace_back(spec_, streams_[s], mapped_[s], static_cast<std::int64_t>(m), std::ssize(maps_),
                                  receivers, kQueueRows);
    }
  }
  for (std::size_t i = 0; i < receivers; ++i) {
    Receiver& receiver = receivers_.emplace_back();
    receiver.log = make_tuple_buffer(tuple_buffer_, options_);
    receiver.state = std::make_unique<WindowState>(spec_);
    for (std::size_t s = 0; s < streams_.size(); ++s) {
      for (const MapInstance& instance : maps_) {
        const OperatorStream& stream = receiver.streams.emplace_back(instance.parts[s].queue(i).stream());
        receiver.log->add_source(stream.view->ts.data(), stream.mask, std::numeric_limits<std::int64_t>::min());
      }
    }
    receiver.log->add_reader();
    logs_.push_back(receiver.log.get());
  }
}

bool MapStage::feed(Recorder& recorder, const InstanceMapping& now) {
  bool progress = false;
  for (std::size_t s = 0; s < feeds_.size(); ++s) {
    progress |= move_blocks(feeds_[s], [&] { return !feeds_[s].closed && feed_stream(s, recorder); });
  }
  for (std::size_t m = 0; m < maps_.size(); ++m) {
    progress |= move_under(maps_[m].flag, [&] { return run_map_instance(maps_[m], m, now.owner.data(), recorder); });
  }
  for (TupleBuffer* const log : logs_) progress |= log->advance();
  return progress;
}

// Takes blocks of a stream while the slowest part does not lag too far. Returns whether it took any block.
bool MapStage::feed_stream(std::size_t stream, Recorder& recorder) {
  Feed& feed = feeds_[stream];
  std::int64_t slowest = std::numeric_limits<std::int64_t>::max() - kAhead;
  for (const MapInstance& instance : maps_) slowest = std::min(slowest, instance.parts[stream].position());
  const std::int64_t before = feed.row;
  std::int64_t bound = 0;
  bool took_any = false;
  while (!feed.closed && feed.row < slowest + kAhead) {
    const Block* const block = feed.block();
    if (block == nullptr) break;
    feed.row = block->end;
    bound = block->bound_ts;
    feed.closed = bound == kEndOfTime;
    feed.pass();
    took_any = true;
  }
  if (!took_any) return false;
  if (feed.pumped) recorder.emitted(feed.row - before);
  FeedProgress& progress = feed_progress_[stream];
  progress.rows.store(feed.row,
                      std::memory_order_seq_cst);  // both pair with `run_map_instance`, in a pass (run/merge_flag.h)
  progress.bound.store(bound, std::memory_order_seq_cst);
  return true;
}

// Runs the parts of a map instance on the rows that the feeds have handed over. Returns whether any part made progress.
bool MapStage::run_map_instance(MapInstance& instance, std::size_t index, const std::int32_t* owner,
                                Recorder& recorder) {
  bool progress = false;
  for (std::size_t s = 0; s < streams_.size(); ++s) {
    MapPart& part = instance.parts[s];
    const std::int64_t bound = feed_progress_[s].bound.load(std::memory_order_seq_cst);  // both pair with `feed_stream`
    const std::int64_t rows = feed_progress_[s].rows.load(std::memory_order_seq_cst);
    const std::int64_t done = part.done();
    progress |= part.run(rows, bound, owner, logs_, source_of(s, index));
    if (part.done() != done) recorder.consumed(static_cast<double>(part.done() - done));
  }
  return progress;
}

std::int64_t MapStage::delivered() const noexcept {
  std::int64_t total = 0;
  for (std::size_t s = 0; s < streams_.size(); ++s) total += delivered_of(s);
  return total;
}

std::int64_t MapStage::delivered_of(std::size_t stream) const noexcept {
  std::int64_t total = 0;
  for (const MapInstance& instance : maps_) total += instance.parts[stream].done();
  return total;
}

std::int64_t MapStage::emitted() const noexcept {
  std::int64_t total = 0;
  for (const MapInstance& instance : maps_) {
    for (const MapPart& part : instance.parts) total += part.emitted();
  }
  return total;
}

}  // namespace lab
