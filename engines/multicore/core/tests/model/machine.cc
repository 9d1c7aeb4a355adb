#include "model/machine.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <tuple>
#include <ucontext.h>
#include <unordered_set>

#include "model/memory.h"

namespace lab::model {
namespace {

constexpr std::size_t kStack = 64 << 10;

struct Failed {};  // thrown by `finally`, which runs outside a fiber

enum class Status { kReady, kWaits, kDone };

struct Thread {
  ucontext_t context;
  std::vector<char> stack;
  Status status = Status::kReady;
  const void* waits_for = nullptr;
  std::uint64_t history = 0;   // hash of its operations' results, which determine its local state
  std::function<void()> late;  // a mutant's delayed store
};

class Machine {
 public:
  explicit Machine(const Mutant& mutant) : mutant_(mutant) {}

  // Returns whether another run remains to be explored.
  bool next() {
    while (!trail_.empty() && trail_.back().chosen + 1 == trail_.back().choices) trail_.pop_back();
    if (trail_.empty()) return false;
    ++trail_.back().chosen;
    return true;
  }

  void run(const std::function<std::unique_ptr<Program>()>& make);

  std::int64_t states() const { return static_cast<std::int64_t>(seen_.size()); }

  Exploration result;

  // Repeats the run that has just failed, and records its operations.
  void trace(const std::function<std::unique_ptr<Program>()>& make) {
    tracing_ = true;
    run(make);
    tracing_ = false;
  }

  // Calls of the current thread: ------------------------------------------------------------------------------------
  std::size_t me() const { return current_; }
  [[noreturn]] void stop(const std::string& failure) {
    if (result.failure.empty()) result.failure = failure;
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

  std::uint32_t add_location(std::uint64_t value) { return memory_.add_location(value); }
  std::uint32_t add_plain() { return memory_.add_plain(); }

  std::uint64_t load(std::uint32_t location, Order order, const Where& where) {
    if (current_ == kSetUp) return memory_.last(location);
    order = weakened(order, "load", where);
    begin();
    const std::uint64_t value = memory_.read(location, order);
    note("reads", location, value, order, where);
    return returned(value);
  }

  void store(std::uint32_t location, std::uint64_t value, Order order, const Where& where) {
    if (current_ == kSetUp) {
      memory_.last(location) = value;
      return;
    }
    const Mutant::Kind kind = mutation("store", order, where);
    if (kind == Mutant::Kind::kDropped) return;
    order = weaker(order, kind);
    if (kind == Mutant::Kind::kLate) {
      run_late();
      threads_[current_].late = [=, this] {
        begin();
        memory_.write(location, value, order);
        note("writes late", location, value, order, where);
      };
      return;
    }
    begin();
    memory_.write(location, value, order);
    note("writes", location, value, order, where);
    run_late();
  }

  std::uint64_t modify(std::uint32_t location, const std::function<std::uint64_t(std::uint64_t)>& change, Order order,
                       const Where& where) {
    if (current_ == kSetUp) {
      std::uint64_t& last = memory_.last(location);
      const std::uint64_t old_value = last;
      last = change(old_value);
      return old_value;
    }
    order = weakened(order, "exchange", where);
    begin();
    const std::uint64_t old_value = memory_.read_and_write(location, change, order);
    note("reads, and writes another,", location, old_value, order, where);
    return returned(old_value);
  }

  void futex_wait(std::uint32_t location, const void* word, std::uint64_t expected) {
    begin();
    Thread& thread = threads_[current_];
    memory_.lock(current_);  // the kernel's lock
    const std::uint64_t seen = memory_.read(location, Order::relaxed);
    if (seen == expected) {
      thread.status = Status::kWaits;
      thread.waits_for = word;
      waiting_.push_back(current_);
    }
    memory_.unlock(current_);
    thread.history = Hash::mixed(thread.history, seen == expected);
    run_late();
    note(seen == expected ? "sleeps" : "does not sleep:", location, seen, Order::relaxed, Where::current());
    if (seen == expected) swap_out();  // until another thread wakes it
  }

  void futex_wake(const void* word, int count) {
    begin();
    memory_.lock(current_);
    for (auto thread = waiting_.begin(); thread != waiting_.end() && count > 0;) {
      if (threads_[*thread].waits_for == word) {
        threads_[*thread].status = Status::kReady;
        memory_.follow(*thread, current_);
        thread = waiting_.erase(thread);
        --count;
      } else {
        ++thread;
      }
    }
    memory_.unlock(current_);
    note("wakes sleeping threads", 0, 0, Order::relaxed, Where::current());
    run_late();
  }

  void plain(std::uint32_t number, bool writes) {
    if (current_ == kSetUp) return;
    if (!memory_.touch(current_, number, writes)) stop("race on plain data");
  }

 private:
  struct Choice {
    std::size_t chosen;
    std::size_t choices;
  };

  std::size_t choose(std::size_t choices) {
    if (choices == 1) return 0;
    if (depth_ < trail_.size()) return trail_[depth_++].chosen;
    trail_.push_back({0, choices});
    ++depth_;
    return 0;
  }

  void swap_out() { swapcontext(&threads_[current_].context, &scheduler_); }

  // Called before each operation: another thread may run first.
  void begin() {
    swap_out();
    memory_.begin(current_);
  }

  std::uint64_t returned(std::uint64_t value) {
    Thread& thread = threads_[current_];
    thread.history = Hash::mixed(thread.history, value);
    run_late();
    return value;
  }

  void note(const char* what, std::uint32_t location, std::uint64_t value, Order order, const Where& where) {
    if (!tracing_) return;
    static const char* const kOrders[] = {"relaxed", "consume", "acquire", "release", "acq_rel", "seq_cst"};
    result.trace += "  thread " + std::to_string(current_) + " " + what + " " + std::to_string(value) + " (location " +
                    std::to_string(location) + ", " + kOrders[static_cast<int>(order)] + ", line " +
                    std::to_string(where.line()) + ")\n";
  }

  void run_late() {
    std::function<void()> late = std::move(threads_[current_].late);
    threads_[current_].late = nullptr;
    if (late) late();
  }

  // Mutants: ---------------------------------------------------------------------------------------------------------
  Mutant::Kind mutation(const char* operation, Order order, const Where& where) {
    // The compiler makes the strings of a place once, so each name and each file has one address.
    const Place place{where.file_name(), where.function_name(), where.line(), where.column()};
    for (const auto& [known, kind] : places_) {
      if (known == place) return kind;
    }
    const Site site{where.function_name(), operation, order, where.file_name(), where.line(), where.column()};
    result.sites.push_back(site);
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

  std::pair<std::uint64_t, std::uint64_t> state() const;
  void schedule();
  static void enter();

  using Place = std::tuple<const char*, const char*, std::uint32_t, std::uint32_t>;

  const Mutant mutant_;
  std::vector<std::pair<Place, Mutant::Kind>> places_;  // operations found, and the mutation of each
  std::vector<Choice> trail_;
  struct PairHash {
    std::size_t operator()(const std::pair<std::uint64_t, std::uint64_t>& key) const { return key.first; }
  };
  std::unordered_set<std::pair<std::uint64_t, std::uint64_t>, PairHash> seen_;

  // Of the current run:
  std::size_t depth_ = 0;
  bool stopped_ = false;
  bool tracing_ = false;
  std::size_t current_ = kSetUp;
  std::unique_ptr<Program> program_;
  std::array<Thread, kThreads> threads_;
  Memory memory_{[this](std::size_t choices) { return choose(choices); }};
  std::vector<std::size_t> waiting_;
  ucontext_t scheduler_;
};

Machine* machine = nullptr;  // the exploring machine

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
  memory_.clear();
  waiting_.clear();
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
    // The thread runs to its first operation, which operations of other threads may precede.
    current_ = t;
    swapcontext(&scheduler_, &thread.context);
  }
  schedule();
  current_ = kSetUp;
  ++result.runs;
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
      if (result.failure.empty()) result.failure = "no thread can continue: a wake-up is lost";
      return;
    }
    // All repeated choices have been made. A state seen before has already been explored completely.
    if (depth_ == trail_.size() && !seen_.insert(state()).second) return;
    current_ = ready[choose(ready.size())];
    swapcontext(&scheduler_, &threads_[current_].context);
  }
}

std::pair<std::uint64_t, std::uint64_t> Machine::state() const {
  Hash hash;
  for (std::size_t t = 0; t < program_->threads(); ++t) {
    const Thread& thread = threads_[t];
    hash.add(static_cast<std::uint64_t>(thread.status));
    hash.add(thread.history);
    hash.add(thread.late != nullptr);
  }
  hash.add(waiting_.size());
  for (const std::size_t thread : waiting_) hash.add(thread);
  memory_.add_to(hash, program_->threads());
  return hash.value();
}

}  // namespace

Exploration explore(const std::function<std::unique_ptr<Program>()>& make, const Mutant& mutant) {
  Machine explored(mutant);
  machine = &explored;
  do {
    explored.run(make);
  } while (explored.result.failure.empty() && explored.next());
  explored.result.states = explored.states();
  if (!explored.result.failure.empty()) explored.trace(make);
  return explored.result;
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
