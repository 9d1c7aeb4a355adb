// The producer of a stream in the published form of synchronization plans (dgs/message_run.h). It sends each event as
// a message to the actor that owns its tag, and each heartbeat to all actors that own tags of the stream.
//
// Source: DGS paper, section 3.4. It reads blocks from the stream's ring, which it fills itself at full speed, and the
// generator under a load. At most a window of its events are not yet processed. With a full window and no other work it
// sends a heartbeat of its own: the place where it stands. docs/decisions/0029-messages.md says why.
//
// A heartbeat is a message to each actor, although those of a worker could share one: in the paper every actor has a
// mailbox of its own, and the messages that this costs with many keys are what the form measures.
#pragma once
#include <cstdint>
#include <vector>

#include "dgs/node_actor.h"
#include "run/source.h"

namespace lab {

class Producer {
 public:
  // An actor with its own number of a tag or flow.
  struct Receiver {
    std::int32_t actor;
    std::int32_t index;
  };

  // `fills`: it publishes the stream itself.
  Producer(Source& source, std::int64_t window, bool fills) : source_(source), window_(window), fills_(fills) {}

  // Before the run. `actors`, `tags`: by tag of the stream (one entry without a tag column), the actor that owns it, -1:
  // none, and its number there. They must outlive the run.
  void route(const std::int32_t* actors, const std::int32_t* tags) noexcept {
    actors_ = actors;
    tags_ = tags;
  }
  void add_listener(Receiver receiver) { listeners_.push_back(receiver); }
  // Reads the ring. After the last listener.
  void connect() { reader_ = source_.ring.add_reader(); }

  // Sends the next event or heartbeats. Returns whether it did any work.
  bool step(ActorContext& at);

  // Sends heartbeats if the window is full, once an event. Returns whether it did.
  bool send_own_heartbeat(ActorContext& at);

  bool ended() const noexcept { return ended_; }                  // has sent all
  std::int64_t ownerless() const noexcept { return ownerless_; }  // events that no actor owns
  std::int64_t sent_away() const noexcept { return sent_away_; }  // events sent to other workers
  const StreamView& stream() const noexcept { return source_.stream(); }

 private:
  bool open_block(ActorContext& at);
  void send_event(ActorContext& at);
  void close_block(ActorContext& at);
  bool pass_heartbeats(std::int64_t bound_ts) noexcept;  // whether the load has a heartbeat up to this bound
  void send_heartbeats(const Place& place, ActorContext& at);
  bool has_room(const ActorContext& at) noexcept;
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

  bool open_ = false;                                                 // within a block
  std::uint64_t block_ = 0;                                           // ring index of this block, or the next
  std::int64_t next_ = 0;                                             // first event not sent
  std::int64_t end_ = 0;                                              // of the block
  std::int64_t bound_ts_ = std::numeric_limits<std::int64_t>::min();  // of the latest event or heartbeat
  std::size_t heartbeat_ = 0;                                         // of the load: the first not passed
  std::int64_t sent_ = 0;                                             // events to actors
  std::int64_t processed_ = 0;                                        // of them, as far as known
  std::int64_t heartbeat_row_ = -1;                                   // the event of the latest own heartbeat
  std::int64_t ownerless_ = 0;
  std::int64_t sent_away_ = 0;
  bool ended_ = false;
};

}  // namespace lab
