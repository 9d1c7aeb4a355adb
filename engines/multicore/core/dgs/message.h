// Message, Inbox, Post, Credits: the messages between actors in the published form of synchronization plans
// (dgs/message_run.h), and their transport.
//
// Source: DGS paper, section 3.4. Producers send events and heartbeats. Parents send join requests, heartbeats and
// states down; children send states up. A message refers to an event by its place in the total order; the event's
// columns do not move. Messages from one actor to another arrive in the order in which they are sent.
#pragma once
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "run/cacheline.h"
#include "run/event_key.h"
#include "run/parker.h"

namespace lab {

// The place of an event in the total order.
struct Place {
  EventKey key;
  std::int64_t row;

  // Returns a lower bound of the places of later events of the same stream.
  constexpr Place next() const noexcept { return {key, row + 1}; }
  friend constexpr auto operator<=>(const Place&, const Place&) = default;
};

inline constexpr Place kBeginning{{std::numeric_limits<std::int64_t>::min(), -1}, -1};
inline constexpr Place kEnd{kEndOfStream, std::numeric_limits<std::int64_t>::max()};

struct Message {
  enum class Kind : std::uint8_t { kEvent, kHeartbeat, kJoinRequest, kStateUp, kStateDown };
  Kind kind;
  std::int32_t to;           // the receiving actor
  std::int32_t index = -1;   // event or join request: its tag at the receiver; heartbeat: the flow (NodeActor::Flow)
  Place place = kBeginning;  // event or join request: the event's place; heartbeat: no later event is before it
  // Event: its due time, or at full speed the time of publication. State up: the latest stamp of its events.
  std::int64_t stamp_ns = 0;
};

// A queue for one thread. It grows and never shrinks.
template <typename T>
class Fifo {
 public:
  bool empty() const noexcept { return head_ == tail_; }
  const T& front() const noexcept { return slots_[head_ & (slots_.size() - 1)]; }
  void push(const T& item) {
    if (tail_ - head_ == slots_.size()) grow();
    slots_[tail_++ & (slots_.size() - 1)] = item;
  }
  T pop() noexcept { return slots_[head_++ & (slots_.size() - 1)]; }

 private:
  void grow() {
    std::vector<T> larger(slots_.empty() ? 4 : 2 * slots_.size());
    for (std::uint64_t i = head_; i != tail_; ++i) larger[i & (larger.size() - 1)] = slots_[i & (slots_.size() - 1)];
    slots_ = std::move(larger);
  }

  std::vector<T> slots_;  // the size is 0 or a power of two
  std::uint64_t head_ = 0;
  std::uint64_t tail_ = 0;
};

// The messages from other workers to the actors of one worker. As in Erlang, a lock guards the queue, and the receiver
// takes all messages that have arrived.
class alignas(kCacheLine) Inbox {
 public:
  // Adds a message; the caller must then notify the receiver. Any thread may call it.
  void put(const Message& message) {
    {
      const std::lock_guard guard(lock_);
      messages_.push_back(message);
    }
    // seq_cst: a receiver about to sleep sees the flag, or the notify sees the receiver. Pairs with the load in `take`.
    filled_.store(true, std::memory_order_seq_cst);
  }

  // Swaps the arrived messages into `into`, which must be empty. Returns whether there were any. Only for the receiver.
  bool take(std::vector<Message>& into) {
    if (!filled_.load(std::memory_order_seq_cst)) return false;  // pairs with the store in `put`
    // relaxed: the lock orders this store before the swap; a message that arrives after the swap sets the flag again.
    filled_.store(false, std::memory_order_relaxed);
    const std::lock_guard guard(lock_);
    messages_.swap(into);
    return !into.empty();
  }

 private:
  std::mutex lock_;                  // guards `messages_`
  std::vector<Message> messages_;    // written by senders, taken by the receiver
  std::atomic<bool> filled_{false};  // whether there may be messages; set by senders, cleared by the receiver
};

// Sends the messages of one worker. Only this worker uses it.
class Post {
 public:
  // `worker_of`: the worker of each actor.
  Post(std::int32_t worker, const std::vector<std::int32_t>& worker_of, std::span<Inbox> inboxes,
       std::span<Parker> parkers)
      : worker_(worker), worker_of_(worker_of), inboxes_(inboxes), parkers_(parkers) {}

  void send(const Message& message) {
    ++sent_;
    heartbeats_ += message.kind == Message::Kind::kHeartbeat ? 1 : 0;
    const std::int32_t to = worker_of_[static_cast<std::size_t>(message.to)];
    if (to == worker_) {
      local_messages_.push(message);
      return;
    }
    ++sent_to_others_;
    inboxes_[static_cast<std::size_t>(to)].put(message);
    parkers_[static_cast<std::size_t>(to)].notify();
  }

  bool is_away(std::int32_t actor) const noexcept { return worker_of_[static_cast<std::size_t>(actor)] != worker_; }
  Fifo<Message>& local_messages() noexcept { return local_messages_; }  // messages to actors of this worker
  std::int64_t sent() const noexcept { return sent_; }
  std::int64_t sent_to_others() const noexcept { return sent_to_others_; }  // number of messages to other workers
  std::int64_t heartbeats() const noexcept { return heartbeats_; }

 private:
  std::int32_t worker_;
  const std::vector<std::int32_t>& worker_of_;
  std::span<Inbox> inboxes_;
  std::span<Parker> parkers_;
  Fifo<Message> local_messages_;
  std::int64_t sent_ = 0;
  std::int64_t sent_to_others_ = 0;
  std::int64_t heartbeats_ = 0;
};

// Counts the processed events of each stream, because a producer may be ahead only by a limited number of events.
//
// Law: a count is written only by the worker of its index, and never decreases.
class Credits {
 public:
  // `producers`: the worker of each stream's producer.
  Credits(std::vector<std::int32_t> producers, std::span<Parker> parkers)
      : producers_(std::move(producers)),
        parkers_(parkers),
        counts_(std::make_unique<Count[]>(producers_.size() * parkers.size())) {}

  // Notes that `worker` has processed an event of a stream.
  void count_processed(std::int32_t stream, std::int32_t worker) noexcept {
    std::atomic<std::int64_t>& count = count_of(stream, worker).processed;
    const std::int64_t now = count.load(std::memory_order_relaxed) + 1;  // relaxed: own store
    const std::int32_t producer = producers_[static_cast<std::size_t>(stream)];
    if (producer == worker) {
      count.store(now, std::memory_order_relaxed);  // relaxed: only this thread reads it during the run
      return;
    }
    // seq_cst: a producer about to sleep sees the count, or the notify sees the producer. Pairs with the load in
    // `total`.
    count.store(now, std::memory_order_seq_cst);
    parkers_[static_cast<std::size_t>(producer)].notify();
  }

  // Returns the number of processed events of a stream. Only for the stream's producer, or after the run.
  std::int64_t total(std::int32_t stream) const noexcept {
    std::int64_t sum = 0;
    for (std::size_t w = 0; w < parkers_.size(); ++w) {
      // seq_cst: a producer's last look before it sleeps. Pairs with the store in `count_processed`.
      sum += count_of(stream, static_cast<std::int32_t>(w)).processed.load(std::memory_order_seq_cst);
    }
    return sum;
  }

 private:
  struct alignas(kCacheLine) Count {
    std::atomic<std::int64_t> processed{0};  // written by one worker, read by the producer
  };
  Count& count_of(std::int32_t stream, std::int32_t worker) const noexcept {
    return counts_[static_cast<std::size_t>(stream) * parkers_.size() + static_cast<std::size_t>(worker)];
  }

  std::vector<std::int32_t> producers_;
  std::span<Parker> parkers_;
  std::unique_ptr<Count[]> counts_;
};

}  // namespace lab
