// Memory: the memory of Machine: messages of each location in modification order, each thread's knowledge of them, and
// the graph of sequentially consistent operations. See machine.h.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "model/machine.h"

namespace lab::model {

inline constexpr Message kInitial = 0xffffU << 16;
inline constexpr std::size_t kSetUp = kThreads;  // the "thread" that makes the program and checks it afterwards

struct Sent {
  Message id = 0;
  std::uint64_t value = 0;
  bool modifies = false;  // it directly follows the message that it read
  View view;              // knowledge that an acquire of it gets
};

struct Location {
  std::vector<Sent> sent;  // in modification order
  // Sequentially consistent ones: (event, key). A write's key is 4 x its message's place; a read's is 2 more than that
  // of its message. Keys are thus in coherence order.
  std::vector<std::pair<std::size_t, int>> events;
};

struct PlainState {
  std::size_t writer = kSetUp;
  std::uint16_t written = 0;
  std::array<std::uint16_t, kThreads> read{};
};

// A thread's knowledge and progress.
struct Knowledge {
  View view;
  std::uint16_t operations = 0;
  std::size_t events = 0;
};

// Two hashes at once: together too long for an accidental collision of two states.
class Hash {
 public:
  void add(std::uint64_t value) {
    one_ = mixed(one_, value);
    two_ = mixed(two_, value * 0x9ddfea08eb382d69ULL + 7);
  }
  void add(const Events& events) {
    for (const std::uint64_t word : events.words) add(word);
  }
  std::pair<std::uint64_t, std::uint64_t> value() const { return {one_, two_}; }

  static std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
    hash ^= value + 0x9e3779b97f4a7c15ULL + (hash << 6) + (hash >> 2);
    hash *= 0xff51afd7ed558ccdULL;
    return hash ^ (hash >> 32);
  }

 private:
  std::uint64_t one_ = 1;
  std::uint64_t two_ = 2;
};

class Memory {
 public:
  // `choose`: returns one of n choices.
  explicit Memory(std::function<std::size_t(std::size_t)> choose) : choose_(std::move(choose)) {}

  void clear();
  std::uint32_t add_location(std::uint64_t value);
  std::uint32_t add_plain();

  // The last value in modification order: only one thread exists during set-up.
  std::uint64_t& last(std::uint32_t location) { return locations_[location].sent.back().value; }

  // `begin` starts an operation of a thread; the functions below perform it. They return its value, or the old one.
  void begin(std::size_t thread);
  std::uint64_t read(std::uint32_t location, Order order);
  void write(std::uint32_t location, std::uint64_t value, Order order);
  std::uint64_t read_and_write(std::uint32_t location, const std::function<std::uint64_t(std::uint64_t)>& change,
                               Order order);

  // Returns false for a race.
  bool touch(std::size_t thread, std::uint32_t plain, bool writes);

  // A lock that is not a location: the thread gets its last holder's knowledge, and passes its own on.
  void lock(std::size_t thread) { join(knowledge[thread].view, lock_); }
  void unlock(std::size_t thread) { lock_ = knowledge[thread].view; }
  void follow(std::size_t thread, std::size_t other) { join(knowledge[thread].view, knowledge[other].view); }

  void add_to(Hash& hash, std::size_t threads) const;

  std::array<Knowledge, kThreads> knowledge;

 private:
  static constexpr int kWrite(std::size_t place) { return 4 * static_cast<int>(place); }
  static constexpr int kRead(std::size_t place) { return kWrite(place) + 2; }
  static constexpr int kNew(std::size_t place) { return kWrite(place) - 1; }  // a write inserted there

  std::size_t place_of(std::size_t location, Message message) const;
  void join(View& into, const View& other) const;
  Events earlier(const Location& cell, int key) const;
  bool fits(const Location& cell, int key) const;
  std::int32_t add_event(Location& cell, int key);
  void put(std::uint32_t location, std::size_t place, std::uint64_t value, Order order, const Sent* after);
  void add_view(Hash& hash, const View& view) const;

  const std::function<std::size_t(std::size_t)> choose_;
  std::size_t current_ = kSetUp;
  std::vector<Location> locations_;
  std::vector<PlainState> plain_;
  std::array<Events, Events::kMost> reach_{};  // by event: all events that must follow it
  View lock_;
  Events known_;  // events that strongly happened before the current operation, without its own acquisitions
};

[[noreturn]] void die(const char* why);  // the checker cannot continue

}  // namespace lab::model
