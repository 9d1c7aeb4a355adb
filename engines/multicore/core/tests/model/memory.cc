#include "model/memory.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace lab::model {
namespace {

bool acquires(Order order) { return order != Order::relaxed && order != Order::release; }
bool releases(Order order) { return order == Order::release || order == Order::acq_rel || order == Order::seq_cst; }

}  // namespace

void die(const char* why) {
  std::fprintf(stderr, "model: %s\n", why);
  std::abort();
}

void Memory::clear() {
  current_ = kSetUp;
  locations_.clear();
  plain_.clear();
  reach_.fill({});
  knowledge.fill({});
  lock_ = {};
}

std::uint32_t Memory::add_location(std::uint64_t value) {
  if (locations_.size() == kLocations) die("too many locations");
  const auto number = static_cast<std::uint32_t>(locations_.size());
  locations_.emplace_back();
  Sent first;
  first.id = kInitial | number;
  first.value = value;
  locations_.back().sent.push_back(first);
  return number;
}

std::uint32_t Memory::add_plain() {
  plain_.emplace_back();
  return static_cast<std::uint32_t>(plain_.size() - 1);
}

void Memory::begin(std::size_t thread) {
  current_ = thread;
  ++knowledge[thread].operations;
  ++knowledge[thread].view.clock[thread];
  known_ = knowledge[thread].view.events;
}

bool Memory::touch(std::size_t thread, std::uint32_t plain, bool writes) {
  const View& view = knowledge[thread].view;
  PlainState& data = plain_[plain];
  const auto knows = [&](std::size_t t, std::uint16_t time) { return t == thread || view.clock[t] >= time; };
  const bool after_write = data.writer == kSetUp || knows(data.writer, data.written);
  bool after_reads = true;
  for (std::size_t t = 0; t < kThreads; ++t) after_reads = after_reads && knows(t, data.read[t]);
  if (!after_write || (writes && !after_reads)) return false;
  // A plain access follows one operation and precedes the next: it gets the number of the next one.
  const auto now = static_cast<std::uint16_t>(view.clock[thread] + 1);
  if (writes) {
    data.writer = thread;
    data.written = now;
    data.read.fill(0);
  } else {
    data.read[thread] = now;
  }
  return true;
}

void Memory::add_view(Hash& hash, const View& view) const {
  for (std::size_t i = 0; i < locations_.size(); ++i) hash.add(view.from[i]);
  for (const std::uint16_t clock : view.clock) hash.add(clock);
  hash.add(view.events);
}

void Memory::add_to(Hash& hash, std::size_t threads) const {
  for (std::size_t t = 0; t < threads; ++t) {
    const Knowledge& thread = knowledge[t];
    hash.add(thread.operations);
    add_view(hash, thread.view);
    for (std::size_t e = 0; e < thread.events; ++e) hash.add(reach_[t * kEventsEach + e]);
  }
  for (const Location& location : locations_) {
    hash.add(location.sent.size());
    for (const Sent& message : location.sent) {
      hash.add(message.id);
      hash.add(message.value);
      hash.add(message.modifies);
      add_view(hash, message.view);
    }
    std::vector<std::pair<std::size_t, int>> events = location.events;
    std::sort(events.begin(), events.end());
    for (const auto& [event, key] : events) hash.add(event * 4096 + static_cast<std::uint64_t>(key));
  }
  for (const PlainState& data : plain_) {
    hash.add(data.writer);
    hash.add(data.written);
    for (const std::uint16_t clock : data.read) hash.add(clock);
  }
  add_view(hash, lock_);
}

std::size_t Memory::place_of(std::size_t location, Message message) const {
  if (message == 0) return 0;
  const std::vector<Sent>& sent = locations_[location].sent;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    if (sent[i].id == message) return i;
  }
  die("a message is lost");
}

void Memory::join(View& into, const View& other) const {
  for (std::size_t i = 0; i < locations_.size(); ++i) {
    if (place_of(i, other.from[i]) > place_of(i, into.from[i])) into.from[i] = other.from[i];
  }
  for (std::size_t t = 0; t < kThreads; ++t) into.clock[t] = std::max(into.clock[t], other.clock[t]);
  into.events.add(other.events);
}

// Returns whether a sequentially consistent event with this key on a location is consistent with the thread's
// knowledge.
bool Memory::fits(const Location& cell, int key) const {
  const Events before = earlier(cell, key);
  // A cycle: an event that must follow this event must also precede it.
  for (const auto& [event, other] : cell.events) {
    if (other > key && (before.has(event) || reach_[event].meets(before))) return false;
  }
  return true;
}

Events Memory::earlier(const Location& cell, int key) const {
  Events before = known_;
  for (const auto& [event, other] : cell.events) {
    if (other < key) before.add(event);
  }
  return before;
}

// Adds the event, and returns its number.
std::int32_t Memory::add_event(Location& cell, int key) {
  const Events before = earlier(cell, key);
  Knowledge& thread = knowledge[current_];
  if (thread.events == kEventsEach) die("too many sequentially consistent operations");
  const std::size_t event = current_ * kEventsEach + thread.events++;
  Events beyond;
  for (const auto& [later, other] : cell.events) {
    if (other <= key) continue;
    beyond.add(later);
    beyond.add(reach_[later]);
  }
  reach_[event] = beyond;
  beyond.add(event);
  for (std::size_t t = 0; t < kThreads; ++t) {
    for (std::size_t e = t * kEventsEach; e < t * kEventsEach + knowledge[t].events; ++e) {
      if (before.has(e) || reach_[e].meets(before)) reach_[e].add(beyond);
    }
  }
  cell.events.emplace_back(event, key);
  return static_cast<std::int32_t>(event);
}

std::uint64_t Memory::read(std::uint32_t location, Order order) {
  Location& cell = locations_[location];
  Knowledge& thread = knowledge[current_];
  const std::size_t from = place_of(location, thread.view.from[location]);
  std::vector<std::size_t> places;
  for (std::size_t i = cell.sent.size(); i-- > from;) {
    if (order != Order::seq_cst || fits(cell, kRead(i))) places.push_back(i);
  }
  if (places.empty()) die("nothing to read");
  const std::size_t place = places[choose_(places.size())];
  const Sent& message = cell.sent[place];
  const std::int32_t event = order == Order::seq_cst ? add_event(cell, kRead(place)) : -1;
  thread.view.from[location] = message.id;
  if (acquires(order)) join(thread.view, message.view);
  if (event >= 0) thread.view.events.add(static_cast<std::size_t>(event));
  return message.value;
}

void Memory::write(std::uint32_t location, std::uint64_t value, Order order) {
  Location& cell = locations_[location];
  const std::size_t from = place_of(location, knowledge[current_].view.from[location]);
  std::vector<std::size_t> places;
  for (std::size_t i = cell.sent.size(); i > from; --i) {
    if (i < cell.sent.size() && cell.sent[i].modifies) continue;
    if (order != Order::seq_cst || fits(cell, kNew(i))) places.push_back(i);
  }
  if (places.empty()) die("nowhere to write");
  put(location, places[choose_(places.size())], value, order, nullptr);
}

std::uint64_t Memory::read_and_write(std::uint32_t location, const std::function<std::uint64_t(std::uint64_t)>& change,
                                     Order order) {
  Location& cell = locations_[location];
  Knowledge& thread = knowledge[current_];
  const std::size_t from = place_of(location, thread.view.from[location]);
  std::vector<std::size_t> places;
  for (std::size_t i = cell.sent.size(); i-- > from;) {
    if (i + 1 < cell.sent.size() && cell.sent[i + 1].modifies) continue;
    if (order != Order::seq_cst || fits(cell, kNew(i + 1))) places.push_back(i);
  }
  if (places.empty()) die("nothing to change");
  const std::size_t place = places[choose_(places.size())];
  const Sent message = cell.sent[place];
  thread.view.from[location] = message.id;
  if (acquires(order)) join(thread.view, message.view);
  put(location, place + 1, change(message.value), order, &message);
  return message.value;
}

// Inserts a message at a place. `after`: the message that it modifies, whose release sequence it continues.
void Memory::put(std::uint32_t location, std::size_t place, std::uint64_t value, Order order, const Sent* after) {
  Location& cell = locations_[location];
  Knowledge& thread = knowledge[current_];
  for (auto& [event, key] : cell.events) {
    if (key >= kWrite(place)) key += kWrite(1);  // later events move up
  }
  Sent message;
  message.id = static_cast<Message>((current_ + 1) << 16 | thread.operations);
  message.value = value;
  message.modifies = after != nullptr;
  cell.sent.insert(cell.sent.begin() + static_cast<std::ptrdiff_t>(place), message);
  thread.view.from[location] = message.id;
  if (after != nullptr) message.view = after->view;
  if (releases(order)) join(message.view, thread.view);
  message.view.from[location] = message.id;
  cell.sent[place].view = message.view;
  if (order == Order::seq_cst) {
    const std::int32_t event = add_event(cell, kWrite(place));
    thread.view.events.add(static_cast<std::size_t>(event));
  }
}

}  // namespace lab::model
