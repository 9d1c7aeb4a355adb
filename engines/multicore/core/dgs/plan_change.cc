// Implements the change of the plan of a running DgsRun; see dgs/dgs_run.h and dgs/phases.h. The snapshot thread calls
// these functions.
#include <algorithm>
#include <stdexcept>

#include "dgs/dgs_run.h"
#include "run/clock.h"

namespace lab {
namespace {

// Returns the number of events of a stream before a cut.
std::int64_t events_before(const StreamView& stream, const Cut& cut) noexcept {
  if (stream.index == cut.key.stream) return cut.position;
  const auto& ts = stream.ts;
  const auto first = stream.index < cut.key.stream ? std::upper_bound(ts.begin(), ts.end(), cut.key.ts)
                                                   : std::lower_bound(ts.begin(), ts.end(), cut.key.ts);
  return first - ts.begin();
}

}  // namespace

bool DgsRun::remove_plan() {
  if (!phases_) throw std::logic_error("this run is not adaptive, so its plan cannot change");
  if (!phases_->hold(threads().failure())) return false;
  const Cut& cut = (*options_.cuts)[static_cast<std::size_t>(checkpoints_->cut())];
  for (const StreamView& stream : views()) begins_[static_cast<std::size_t>(stream.index)] = events_before(stream, cut);
  take_back_counts();
  checkpoints_->stop_from(Checkpoints::kNever);
  checkpoints_->forget_parts();
  for (Worker& worker : workers_) {
    worker.mailboxes.clear();
    worker.sources.clear();
  }
  removed_mailboxes_ += static_cast<std::int32_t>(mailboxes_.size());
  mailboxes_.clear();
  crossings_.clear();
  group_states_.clear();
  forest = Forest();
  return true;
}

// Subtracts the events after the cut from the counts, since the new plan counts them again.
void DgsRun::take_back_counts() {
  for (const Entry& entry : mailboxes_) {
    Worker& worker = workers_[static_cast<std::size_t>(entry.worker)];
    for (const Lane& lane : entry.mailbox->lanes) {
      const std::int64_t excess = lane.counted - begins_[static_cast<std::size_t>(lane.index())];
      if (excess <= 0) continue;
      worker.counters.events -= excess;
      worker.meter->recorder.consumed(-static_cast<double>(excess) * lane.share);
      if (lane.direct != 0) worker.meter->recorder.emitted(-excess);
    }
  }
  for (Worker& worker : workers_) {
    for (const Worker::Owned& owned : worker.sources) {
      const std::int64_t begin = begins_[static_cast<std::size_t>(owned.source->stream().index)];
      worker.meter->recorder.emitted(std::min<std::int64_t>(0, begin - owned.source->published()));
    }
  }
}

void DgsRun::set_stream_owner(std::int32_t stream, std::int32_t owner) {
  Worker& worker = workers_.at(static_cast<std::size_t>(owner));
  Source& source = *sources()[static_cast<std::size_t>(stream)];
  if (options_.load) return;
  owners_.at(static_cast<std::size_t>(stream)) = owner;
  worker.sources.push_back({&source, {}, {}});
}

void DgsRun::resume() {
  add_parts();
  {
    const auto hold = hold_generator();
    for (const auto& source : sources()) {
      source->restart(begins_[static_cast<std::size_t>(source->stream().index)]);
    }
    connect();
    // The generator may sleep, or have ended, so this thread republishes the blocks after the cut. The rings have room:
    // no reader had released these blocks, and their number has not grown.
    while (options_.load && publish_again()) {
    }
  }
  checkpoints_->free();
  phases_->release();
}

// Publishes the next block of each stream if it is due. Returns whether it published any.
bool DgsRun::publish_again() {
  bool has_published = false;
  for (const auto& source : sources()) has_published |= source->publish(now_ns());
  return has_published;
}

}  // namespace lab
