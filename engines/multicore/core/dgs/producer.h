// Producer: the producer of a stream in the published form of synchronization plans (dgs/message_run.h). It sends each
// event as a message to the actor that owns the event's tag, and each heartbeat to all actors that own tags of the
// stream.
//
// Source: DGS paper, section 3.4. A producer reads blocks from the stream's ring. At full speed the producer itself
// fills the ring; under a load the generator does. At most `window` of its events are unprocessed at any time. If the
// window is full and the worker has no other work, the producer sends a heartbeat with the place of its next event.
// docs/decisions/0029-messages.md explains why.
//
// Each actor gets its own heartbeat message, although the actors of a worker could share one. In the paper every actor
// has its own mailbox, and this form measures the cost of these messages with many keys.
#pragma once
#include <cstdint>
#include <vector>

#include "dgs/node_actor.h"
#include "run/source.h"

namespace lab {

class Producer {
 public:
  // An actor, and the number that a tag or flow has at this actor.
  struct Receiver {
    std::int32_t actor;
    std::int32_t index;
  };

  // `window`: maximum number of unprocessed events. `fills`: whether the producer itself publishes the stream.
  Producer(Source& source, std::int64_t window, bool fills) : source_(source), window_(window), fills_(fills) {}

  // Sets the receivers of events by tag of the stream (one entry without a tag column). `actors`: the actor that owns
  // the tag, or -1. `tags`: the tag's number at this actor. Both arrays must outlive the run. Call it before the run.
  void route(const std::int32_t* actors, const std::int32_t* tags) noexcept {
    actors_ = actors;
    tags_ = tags;
  }
  void add_listener(Receiver receiver) { listeners_.push_back(receiver); }
  // Makes the producer a reader of the ring. Call it after the last `add_listener`.
  void connect() { reader_ = source_.ring.add_reader(); }

  // Sends the next event or heartbeats. Returns whether it did any work.
  bool step(ActorContext& context);

  // Sends heartbeats if the window is full, at most once per event. Returns whether it sent any.
  bool send_own_heartbeat(ActorContext& context);

  bool ended() const noexcept { return ended_; }                            // whether all messages are sent
  std::int64_t ownerless() const noexcept { return ownerless_; }            // number of events that no actor owns
  std::int64_t sent_to_others() const noexcept { return sent_to_others_; }  // number of events sent to other workers
  const StreamView& stream() const noexcept { return source_.stream(); }

 private:
  bool open_block(ActorContext& context);
  void send_event(ActorContext& context);
  void close_block(ActorContext& context);
  // Passes the load's heartbeats before `bound_ts`. Returns whether there were any.
  bool pass_heartbeats(std::int64_t bound_ts) noexcept;
  void send_heartbeats(const Place& place, ActorContext& context);
  bool has_room(const ActorContext& context) noexcept;
  Place place_of(std::int64_t row) const noexcept {
    return {{stream().ts[static_cast<std::size_t>(row)], stream().index}, row};
  }

  Source& source_;
  const std::int64_t window_;
  const bool fills_;
  std::size_t reader_ = 0;
  const std::int32_t* actors_ = nullptr;
  const std::int32_t* tags_ = nullptr;
  std::vector<Receiver> listeners_;

  bool open_ = false;                                                 // whether the producer is within a block
  std::uint64_t block_ = 0;                                           // ring index of the open block, or of the next
  std::int64_t next_ = 0;                                             // first event not sent
  std::int64_t end_ = 0;                                              // end of the block
  std::int64_t bound_ts_ = std::numeric_limits<std::int64_t>::min();  // time of the latest event or heartbeat
  std::size_t heartbeat_ = 0;                                         // first heartbeat of the load not passed
  std::int64_t sent_ = 0;                                             // number of events sent to actors
  std::int64_t processed_ = 0;                                        // number of processed events, as last loaded
  std::int64_t heartbeat_row_ = -1;  // row of the next event when the producer last sent its own heartbeat
  std::int64_t ownerless_ = 0;
  std::int64_t sent_to_others_ = 0;
  bool ended_ = false;
};

}  // namespace lab
