// Implements the producers that dgs/producer.h explains.
#include "dgs/producer.h"

#include <algorithm>

namespace lab {

bool Producer::step(ActorContext& context) {
  if (!open_ && !open_block(context)) return false;
  if (next_ < end_) {
    if (!has_room(context)) return false;
    send_event(context);
  }
  if (next_ == end_) close_block(context);
  return true;
}

bool Producer::open_block(ActorContext& context) {
  if (ended_) return false;
  if (block_ == source_.ring.published()) {
    if (!fills_) return false;
    const std::int64_t before = source_.published();
    if (!source_.pump()) return false;
    context.recorder.emitted(source_.published() - before);
  }
  open_ = true;
  end_ = source_.ring.at(block_).end;
  return true;
}

void Producer::send_event(ActorContext& context) {
  const std::int64_t row = next_++;
  const std::int32_t tag = stream().tag == nullptr ? 0 : stream().tag[row];
  const std::int32_t actor = actors_ == nullptr ? -1 : actors_[tag];
  const Place place = place_of(row);
  bound_ts_ = place.key.ts;
  if (actor < 0) {
    if (listeners_.empty()) return;  // no actor reads the stream
    ++ownerless_;
    context.recorder.consumed(1);
    return;
  }
  ++sent_;
  sent_to_others_ += context.post.is_away(actor) ? 1 : 0;
  const std::int64_t stamp_ns = stream().due.empty()
                                    ? source_.ring.at(block_).stamp_ns
                                    : context.recorder.start() + stream().due[static_cast<std::size_t>(row)];
  context.post.send(
      {.kind = Message::Kind::kEvent, .to = actor, .index = tags_[tag], .place = place, .stamp_ns = stamp_ns});
}

void Producer::close_block(ActorContext& context) {
  const std::int64_t bound_ts = source_.ring.at(block_).bound_ts;
  open_ = false;
  source_.ring.advance(reader_, ++block_);
  ended_ = bound_ts == kEndOfTime;
  // An event's message advances only the timer of the actor that owns the event. So the heartbeat is sent even if an
  // event of its block has the same time.
  if (!pass_heartbeats(bound_ts) && bound_ts <= bound_ts_) return;
  bound_ts_ = bound_ts;
  send_heartbeats(ended_ ? kEnd : Place{{bound_ts, stream().index}, next_}, context);
}

bool Producer::pass_heartbeats(std::int64_t bound_ts) noexcept {
  const std::size_t before = heartbeat_;
  const std::span<const std::int64_t> heartbeats = stream().heartbeats;
  while (heartbeat_ < heartbeats.size() && heartbeats[heartbeat_] < bound_ts) ++heartbeat_;
  return heartbeat_ != before;
}

bool Producer::send_own_heartbeat(ActorContext& context) {
  if (!open_ || next_ == end_ || heartbeat_row_ == next_ || has_room(context)) return false;
  heartbeat_row_ = next_;
  send_heartbeats(place_of(next_), context);
  return true;
}

void Producer::send_heartbeats(const Place& place, ActorContext& context) {
  for (const Receiver& listener : listeners_) {
    context.post.send(
        {.kind = Message::Kind::kHeartbeat, .to = listener.actor, .index = listener.index, .place = place});
  }
}

bool Producer::has_room(const ActorContext& context) noexcept {
  if (sent_ - processed_ < window_) return true;
  processed_ = context.credits.total(stream().index);
  return sent_ - processed_ < window_;
}

}  // namespace lab
