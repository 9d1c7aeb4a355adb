#include "model/machine.h"

#include <ucontext.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <tuple>
#include <unordered_set>

namespace lab::model {
namespace {

constexpr std::size_t kStack = 64 << 10;
constexpr Message kInitial = 0xffffU << 16;
constexpr std::size_t kSetUp = kThreads;  // the "thread" that makes the program and looks at it afterwards

struct Sent {
  Message id = 0;
  std::uint64_t value = 0;
  bool modifies = false;  // it follows at once on the message that it read
  View view;              // what an acquire that reads it gets
};

struct Location {
  std::vector<Sent> sent;                      // in modification order
  // Sequentially consistent ones: (event, key). A write's key is 4 x its message's place, a read's of the message 2 more,
  // so that keys are in coherence order.
  std::vector<std::pair<std::size_t, int>> events;
};

struct Plainly {
  std::size_t writer = kSetUp;
  std::uint16_t written = 0;
  std::array<std::uint16_t, kThreads> read{};
};

struct Failed {};  // thrown by `finally`, which is no fiber

enum class Status { kReady, kWaits, kDone };

struct Thread {
  ucontext_t context;
  std::vector<char> stack;
  View view;
  Status status = Status::kReady;
  const void* waits_for = nullptr;
  std::uint64_t history = 0;  // of what its operations returned: its local state follows from it
  std::uint16_t operations = 0;
  std::size_t events = 0;
  std::function<void()> late;  // a mutant's store
};

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15ULL + (hash << 6) + (hash >> 2);
  hash *= 0xff51afd7ed558ccdULL;
  return hash ^ (hash >> 32);
}

bool acquires(Order order) { return order != Order::relaxed && order != Order::release; }
bool releases(Order order) { return order == Order::release || order == Order::acq_rel || order == Order::seq_cst; }

class Machine {
 public:
  explicit Machine(const Mutant& mutant) : mutant_(mutant) {}

  // Returns whether there is another run to go through.
  bool next() {
    while (!trail_.empty() && trail_.back().chosen + 1 == trail_.back().of) trail_.pop_back();
    if (trail_.empty()) return false;
    ++trail_.back().chosen;
    return true;
  }

  void run(const std::function<std::unique_ptr<Program>()>& make);

  std::int64_t states() const { return static_cast<std::int64_t>(seen_.size()); }

  Found found;

  // Does the run that has just failed once more, and writes down what it does.
  void trace(const std::function<std::unique_ptr<Program>()>& make) {
    tracing_ = true;
    run(make);
    tracing_ = false;
  }

  // The current thread's: ----------------------------------------------------------------------------------------------
  std::size_t me() const { return current_; }
  [[noreturn]] void stop(const std::string& failure) {
    if (found.failure.empty()) found.failure = failure;
    stopped_ = true;
    if (current_ == kSetUp) throw Failed();
    swap_out();
    std::abort();
  }
  [[noreturn]] void leave() {
    stopped_ = true;
    swap_out();
    std::abort();
  }

  std::uint32_t add_location(std::uint64_t value) {
    if (locations_.size() == kLocations) die("too many locations");
    const auto number = static_cast<std::uint32_t>(locations_.size());
    locations_.emplace_back();
    Sent first;
    first.id = kInitial | number;
    first.value = value;
    locations_.back().sent.push_back(first);
    return number;
  }
  std::uint32_t add_plain() {
    plain_.emplace_back();
    return static_cast<std::uint32_t>(plain_.size() - 1);
  }

  std::uint64_t load(std::uint32_t location, Order order, const Where& where) {
    if (current_ == kSetUp) return locations_[location].sent.back().value;
    order = weakened(order, "load", where);
    begin();
    const std::uint64_t value = read(location, order);
    note("reads", location, value, order, where);
    return returned(value);
  }

  void store(std::uint32_t location, std::uint64_t value, Order order, const Where& where) {
    if (current_ == kSetUp) {
      locations_[location].sent.back().value = value;
      return;
    }
    const Mutant::Kind kind = mutation("store", order, where);
    if (kind == Mutant::Kind::kDropped) return;
    order = weaker(order, kind);
    if (kind == Mutant::Kind::kLate) {
      run_late();
      threads_[current_].late = [=, this] {
        begin();
        write(location, value, order);
        note("writes late", location, value, order, where);
      };
      return;
    }
    begin();
    write(location, value, order);
    note("writes", location, value, order, where);
    run_late();
  }

  std::uint64_t modify(std::uint32_t location, const std::function<std::uint64_t(std::uint64_t)>& change, Order order,
                       const Where& where) {
    if (current_ == kSetUp) {
      Sent& last = locations_[location].sent.back();
      const std::uint64_t old = last.value;
      last.value = change(old);
      return old;
    }
    order = weakened(order, "exchange", where);
    begin();
    const std::uint64_t old = read_and_write(location, change, order);
    note("reads, and writes another,", location, old, order, where);
    return returned(old);
  }

  void futex_wait(std::uint32_t location, const void* word, std::uint64_t expected) {
    begin();
    Thread& thread = threads_[current_];
    join(thread.view, futex_);  // the kernel's lock
    const std::uint64_t seen = read(location, Order::relaxed);
    if (seen == expected) {
      thread.status = Status::kWaits;
      thread.waits_for = word;
      waiting_.push_back(current_);
    }
    futex_ = thread.view;
    thread.history = mixed(thread.history, seen == expected);
    run_late();
    note(seen == expected ? "sleeps" : "does not sleep:", location, seen, Order::relaxed, Where::current());
    if (seen == expected) swap_out();  // until it is woken
  }

  void futex_wake(const void* word, int count) {
    begin();
    Thread& thread = threads_[current_];
    join(thread.view, futex_);
    for (auto one = waiting_.begin(); one != waiting_.end() && count > 0;) {
      if (threads_[*one].waits_for == word) {
        threads_[*one].status = Status::kReady;
        join(threads_[*one].view, thread.view);
        one = waiting_.erase(one);
        --count;
      } else {
        ++one;
      }
    }
    futex_ = thread.view;
    note("wakes those asleep", 0, 0, Order::relaxed, Where::current());
    run_late();
  }

  void plain(std::uint32_t number, bool writes) {
    if (current_ == kSetUp) return;
    const View& view = threads_[current_].view;
    Plainly& data = plain_[number];
    const auto knows = [&](std::size_t t, std::uint16_t time) { return t == current_ || view.clock[t] >= time; };
    const bool after_write = data.writer == kSetUp || knows(data.writer, data.written);
    bool after_reads = true;
    for (std::size_t t = 0; t < kThreads; ++t) after_reads = after_reads && knows(t, data.read[t]);
    if (!after_write || (writes && !after_reads)) stop("race on plain data");
    // What follows an operation happens after it and before the next: it counts for the next one's number.
    const auto now = static_cast<std::uint16_t>(view.clock[current_] + 1);
    if (writes) {
      data.writer = current_;
      data.written = now;
      data.read.fill(0);
    } else {
      data.read[current_] = now;
    }
  }

 private:
  struct Choice {
    std::size_t chosen;
    std::size_t of;
  };

  [[noreturn]] static void die(const char* why) {
    std::fprintf(stderr, "model: %s\n", why);
    std::abort();
  }

  std::size_t choose(std::size_t of) {
    if (of == 1) return 0;
    if (depth_ < trail_.size()) return trail_[depth_++].chosen;
    trail_.push_back({0, of});
    ++depth_;
    return 0;
  }

  void swap_out() { swapcontext(&threads_[current_].context, &scheduler_); }

  // Before each operation: another thread may go on first.
  void begin() {
    swap_out();
    Thread& thread = threads_[current_];
    ++thread.operations;
    ++thread.view.clock[current_];
    known_ = thread.view.events;
  }

  std::uint64_t returned(std::uint64_t value) {
    Thread& thread = threads_[current_];
    thread.history = mixed(thread.history, value);
    run_late();
    return value;
  }

  void note(const char* what, std::uint32_t location, std::uint64_t value, Order order, const Where& where) {
    if (!tracing_) return;
    static const char* const kOrders[] = {"relaxed", "consume", "acquire", "release", "acq_rel", "seq_cst"};
    found.trace += "  thread " + std::to_string(current_) + " " + what + " " + std::to_string(value) + " (location " +
                   std::to_string(location) + ", " + kOrders[static_cast<int>(order)] + ", line " +
                   std::to_string(where.line()) + ")\n";
  }

  void run_late() {
    std::function<void()> late = std::move(threads_[current_].late);
    threads_[current_].late = nullptr;
    if (late) late();
  }

  // Mutants: -------------------------------------------------------------------------------------------------------------
  Mutant::Kind mutation(const char* operation, Order order, const Where& where) {
    // Strings are made once for each place: names and files of one place are at one address.
    const Place place{where.file_name(), where.function_name(), where.line(), where.column()};
    for (const auto& [known, kind] : places_) {
      if (known == place) return kind;
    }
    const Site site{where.function_name(), operation, order, where.file_name(), where.line(), where.column()};
    found.sites.push_back(site);
    places_.emplace_back(place, site == mutant_.site ? mutant_.kind : Mutant::Kind::kNone);
    return places_.back().second;
  }
  static Order weaker(Order order, Mutant::Kind kind) {
    if (kind == Mutant::Kind::kRelaxed) return Order::relaxed;
    if (kind == Mutant::Kind::kNotSequential && order == Order::seq_cst) return Order::acq_rel;
    return order;
  }
  Order weakened(Order order, const char* operation, const Where& where) {
    return weaker(order, mutation(operation, order, where));
  }

  // Memory: --------------------------------------------------------------------------------------------------------------
  std::size_t place_of(std::size_t location, Message message) const {
    if (message == 0) return 0;
    const std::vector<Sent>& sent = locations_[location].sent;
    for (std::size_t i = 0; i < sent.size(); ++i) {
      if (sent[i].id == message) return i;
    }
    die("a message is lost");
  }

  void join(View& into, const View& other) const {
    for (std::size_t i = 0; i < locations_.size(); ++i) {
      if (place_of(i, other.from[i]) > place_of(i, into.from[i])) into.from[i] = other.from[i];
    }
    for (std::size_t t = 0; t < kThreads; ++t) into.clock[t] = std::max(into.clock[t], other.clock[t]);
    into.events.add(other.events);
  }

  // Keys of events: of a write of the message at a place, of a read of it, of a write that comes to be there.
  static constexpr int kWrite(std::size_t place) { return 4 * static_cast<int>(place); }
  static constexpr int kRead(std::size_t place) { return kWrite(place) + 2; }
  static constexpr int kNew(std::size_t place) { return kWrite(place) - 1; }

  // Whether a sequentially consistent event with this key on a location fits behind what the thread knows.
  bool fits(const Location& at, int key) const {
    const Events before = earlier(at, key);
    // A circle: something that must follow the event must also come before it.
    for (const auto& [event, other] : at.events) {
      if (other > key && (before.has(event) || reach_[event].meets(before))) return false;
    }
    return true;
  }
  Events earlier(const Location& at, int key) const {
    Events before = known_;
    for (const auto& [event, other] : at.events) {
      if (other < key) before.add(event);
    }
    return before;
  }
  // Adds the event, and returns its number.
  std::int32_t add_event(Location& at, int key) {
    const Events before = earlier(at, key);
    Thread& thread = threads_[current_];
    if (thread.events == kEventsEach) die("too many sequentially consistent operations");
    const std::size_t event = current_ * kEventsEach + thread.events++;
    Events beyond;
    for (const auto& [later, other] : at.events) {
      if (other <= key) continue;
      beyond.add(later);
      beyond.add(reach_[later]);
    }
    reach_[event] = beyond;
    beyond.add(event);
    for (std::size_t t = 0; t < kThreads; ++t) {
      for (std::size_t e = t * kEventsEach; e < t * kEventsEach + threads_[t].events; ++e) {
        if (before.has(e) || reach_[e].meets(before)) reach_[e].add(beyond);
      }
    }
    at.events.emplace_back(event, key);
    return static_cast<std::int32_t>(event);
  }
  // A message has been put at this place: what lies behind moves on.
  static void shift(Location& at, std::size_t place) {
    for (auto& [event, key] : at.events) {
      if (key >= kWrite(place)) key += kWrite(1);
    }
  }

  Message own_message() const {
    return static_cast<Message>((current_ + 1) << 16 | threads_[current_].operations);
  }

  std::uint64_t read(std::uint32_t location, Order order) {
    Location& at = locations_[location];
    Thread& thread = threads_[current_];
    const std::size_t from = place_of(location, thread.view.from[location]);
    std::vector<std::size_t> places;
    for (std::size_t i = at.sent.size(); i-- > from;) {
      if (order != Order::seq_cst || fits(at, kRead(i))) places.push_back(i);
    }
    if (places.empty()) die("nothing to read");
    const std::size_t place = places[choose(places.size())];
    const Sent& message = at.sent[place];
    const std::int32_t event = order == Order::seq_cst ? add_event(at, kRead(place)) : -1;
    thread.view.from[location] = message.id;
    if (acquires(order)) join(thread.view, message.view);
    if (event >= 0) thread.view.events.add(static_cast<std::size_t>(event));
    return message.value;
  }

  void write(std::uint32_t location, std::uint64_t value, Order order) {
    Location& at = locations_[location];
    const std::size_t from = place_of(location, threads_[current_].view.from[location]);
    std::vector<std::size_t> places;
    for (std::size_t i = at.sent.size(); i > from; --i) {
      if (i < at.sent.size() && at.sent[i].modifies) continue;
      if (order != Order::seq_cst || fits(at, kNew(i))) places.push_back(i);
    }
    if (places.empty()) die("nowhere to write");
    put(location, places[choose(places.size())], value, order, nullptr);
  }

  std::uint64_t read_and_write(std::uint32_t location, const std::function<std::uint64_t(std::uint64_t)>& change,
                               Order order) {
    Location& at = locations_[location];
    Thread& thread = threads_[current_];
    const std::size_t from = place_of(location, thread.view.from[location]);
    std::vector<std::size_t> places;
    for (std::size_t i = at.sent.size(); i-- > from;) {
      if (i + 1 < at.sent.size() && at.sent[i + 1].modifies) continue;
      if (order != Order::seq_cst || fits(at, kNew(i + 1))) places.push_back(i);
    }
    if (places.empty()) die("nothing to change");
    const std::size_t place = places[choose(places.size())];
    const Sent message = at.sent[place];
    thread.view.from[location] = message.id;
    if (acquires(order)) join(thread.view, message.view);
    put(location, place + 1, change(message.value), order, &message);
    return message.value;
  }

  // Puts a message at a place; `after`: the one that it modifies, whose releases it carries on.
  void put(std::uint32_t location, std::size_t place, std::uint64_t value, Order order, const Sent* after) {
    Location& at = locations_[location];
    Thread& thread = threads_[current_];
    shift(at, place);
    Sent message;
    message.id = own_message();
    message.value = value;
    message.modifies = after != nullptr;
    at.sent.insert(at.sent.begin() + static_cast<std::ptrdiff_t>(place), message);
    thread.view.from[location] = message.id;
    if (after != nullptr) message.view = after->view;
    if (releases(order)) join(message.view, thread.view);
    message.view.from[location] = message.id;
    at.sent[place].view = message.view;
    if (order == Order::seq_cst) {
      const std::int32_t event = add_event(at, kWrite(place));
      thread.view.events.add(static_cast<std::size_t>(event));
    }
  }

  std::pair<std::uint64_t, std::uint64_t> state() const;
  void schedule();
  static void enter();

  using Place = std::tuple<const char*, const char*, std::uint32_t, std::uint32_t>;

  const Mutant mutant_;
  std::vector<std::pair<Place, Mutant::Kind>> places_;  // of operations that were met, and what is done to them
  std::vector<Choice> trail_;
  struct PairHash {
    std::size_t operator()(const std::pair<std::uint64_t, std::uint64_t>& key) const { return key.first; }
  };
  std::unordered_set<std::pair<std::uint64_t, std::uint64_t>, PairHash> seen_;

  // Of this run:
  std::size_t depth_ = 0;
  bool stopped_ = false;
  bool tracing_ = false;
  std::size_t current_ = kSetUp;
  std::unique_ptr<Program> program_;
  std::array<Thread, kThreads> threads_;
  std::vector<Location> locations_;
  std::vector<Plainly> plain_;
  std::array<Events, Events::kMost> reach_{};
  std::vector<std::size_t> waiting_;
  View futex_;     // what the lock of the kernel's futexes passes on
  Events known_;   // what strongly happened before the current operation: not what it acquires itself
  ucontext_t scheduler_;
};

Machine* machine = nullptr;  // the one that explores

void Machine::enter() {
  Machine& self = *machine;
  self.program_->run(self.current_);
  self.run_late();
  self.threads_[self.current_].status = Status::kDone;
  self.swap_out();
}

void Machine::run(const std::function<std::unique_ptr<Program>()>& make) {
  depth_ = 0;
  stopped_ = false;
  current_ = kSetUp;
  program_.reset();
  locations_.clear();
  plain_.clear();
  waiting_.clear();
  reach_.fill({});
  futex_ = {};
  program_ = make();
  for (std::size_t t = 0; t < program_->threads(); ++t) {
    Thread& thread = threads_[t];
    std::vector<char> stack = std::move(thread.stack);
    thread = {};
    thread.stack = std::move(stack);
    thread.stack.resize(kStack);
    getcontext(&thread.context);
    thread.context.uc_stack.ss_sp = thread.stack.data();
    thread.context.uc_stack.ss_size = thread.stack.size();
    thread.context.uc_link = nullptr;
    makecontext(&thread.context, &Machine::enter, 0);
    // To its first operation, which others may come before.
    current_ = t;
    swapcontext(&scheduler_, &thread.context);
  }
  schedule();
  current_ = kSetUp;
  ++found.runs;
}

void Machine::schedule() {
  const std::size_t count = program_->threads();
  while (!stopped_) {
    std::vector<std::size_t> ready;
    bool done = true;
    for (std::size_t t = 0; t < count; ++t) {
      if (threads_[t].status == Status::kReady) ready.push_back(t);
      done = done && threads_[t].status == Status::kDone;
    }
    if (done) {
      current_ = kSetUp;
      try {
        program_->finally();
      } catch (const Failed&) {
      }
      return;
    }
    if (ready.empty()) {
      if (found.failure.empty()) found.failure = "nobody can go on: a wake-up is lost";
      return;
    }
    // Beyond what is gone through again: a state that was seen has been followed to its ends.
    if (depth_ == trail_.size() && !seen_.insert(state()).second) return;
    current_ = ready[choose(ready.size())];
    swapcontext(&scheduler_, &threads_[current_].context);
  }
}

std::pair<std::uint64_t, std::uint64_t> Machine::state() const {
  std::uint64_t one = 1, two = 2;
  const auto add = [&](std::uint64_t value) {
    one = mixed(one, value);
    two = mixed(two, value * 0x9ddfea08eb382d69ULL + 7);
  };
  const auto add_events = [&](const Events& events) {
    for (const std::uint64_t word : events.words) add(word);
  };
  const auto add_view = [&](const View& view) {
    for (std::size_t i = 0; i < locations_.size(); ++i) add(view.from[i]);
    for (const std::uint16_t clock : view.clock) add(clock);
    add_events(view.events);
  };
  for (std::size_t t = 0; t < program_->threads(); ++t) {
    const Thread& thread = threads_[t];
    add(static_cast<std::uint64_t>(thread.status));
    add(thread.operations);
    add(thread.history);
    add(thread.late != nullptr);
    add_view(thread.view);
    for (std::size_t e = 0; e < thread.events; ++e) add_events(reach_[t * kEventsEach + e]);
  }
  for (const Location& location : locations_) {
    add(location.sent.size());
    for (const Sent& message : location.sent) {
      add(message.id);
      add(message.value);
      add(message.modifies);
      add_view(message.view);
    }
    std::vector<std::pair<std::size_t, int>> events = location.events;
    std::sort(events.begin(), events.end());
    for (const auto& [event, key] : events) add(event * 4096 + static_cast<std::uint64_t>(key));
  }
  for (const Plainly& data : plain_) {
    add(data.writer);
    add(data.written);
    for (const std::uint16_t clock : data.read) add(clock);
  }
  for (const std::size_t thread : waiting_) add(thread);
  add_view(futex_);
  return {one, two};
}

}  // namespace

Found explore(const std::function<std::unique_ptr<Program>()>& make, const Mutant& mutant) {
  Machine own(mutant);
  machine = &own;
  do {
    own.run(make);
  } while (own.found.failure.empty() && own.next());
  own.found.states = own.states();
  if (!own.found.failure.empty()) own.trace(make);
  return own.found;
}

void fail(const std::string& why) { machine->stop(why); }
void leave() { machine->leave(); }

std::uint32_t add_location(std::uint64_t value) { return machine->add_location(value); }
std::uint64_t load(std::uint32_t location, Order order, const Where& where) {
  return machine->load(location, order, where);
}
void store(std::uint32_t location, std::uint64_t value, Order order, const Where& where) {
  machine->store(location, value, order, where);
}
std::uint64_t modify(std::uint32_t location, const std::function<std::uint64_t(std::uint64_t)>& change, Order order,
                     const Where& where) {
  return machine->modify(location, change, order, where);
}
void futex_wait(const void* word, std::uint64_t expected) {
  machine->futex_wait(*static_cast<const std::uint32_t*>(word), word, expected);
}
void futex_wake(const void* word, int count) { machine->futex_wake(word, count); }

PlainBase::PlainBase() : number_(machine->add_plain()) {}
void PlainBase::read() const { machine->plain(number_, false); }
void PlainBase::write() const { machine->plain(number_, true); }

}  // namespace lab::model
