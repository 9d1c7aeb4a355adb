// Machine: executes a small program of a few threads in every way that C++20 permits; the model tests use it.
//
// Threads are fibers. Before each atomic operation the machine chooses the next thread. For a load it also chooses one
// of the values that the thread may still see; for a store, its place in the modification order. It explores all
// choices depth first, and restarts the program for each. It abandons a run at a state seen before.
//
// The memory is that of views. Each location has a list of messages in modification order. Each thread has a view: for
// each location, the message below which it can no longer read. A release passes its view on with its message, and an
// acquire takes it. (Kang et al., A promising semantics for relaxed-memory concurrency, POPL 2017, without promises.)
// Sequentially consistent operations form a graph of required orderings (C++20, [atomics.order]: strongly happens
// before, and coherence-ordered before on one location). A choice that closes a cycle in this graph is not permitted.
// So these operations are as weak as in the standard, not as on one processor. Not modelled: load buffering (a read of
// a value written later in program order), fences, consume, waits on atomics. Plain data are checked for races.
#pragma once
#include <array>
#include <atomic>
#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

namespace lab::model {

inline constexpr std::size_t kThreads = 4;
inline constexpr std::size_t kLocations = 24;
inline constexpr std::size_t kEventsEach = 64;  // most sequentially consistent operations of a thread

// A set of sequentially consistent operations.
struct Events {
  static constexpr std::size_t kMost = kThreads * kEventsEach;
  std::array<std::uint64_t, kMost / 64> words{};

  bool has(std::size_t event) const { return (words[event / 64] >> (event % 64) & 1) != 0; }
  void add(std::size_t event) { words[event / 64] |= std::uint64_t{1} << (event % 64); }
  void add(const Events& others) {
    for (std::size_t i = 0; i < words.size(); ++i) words[i] |= others.words[i];
  }
  bool meets(const Events& others) const {
    std::uint64_t both = 0;
    for (std::size_t i = 0; i < words.size(); ++i) both |= words[i] & others.words[i];
    return both != 0;
  }
};

using Message = std::uint32_t;  // thread << 16 | number of its operation; kInitial | location: first of each

// A thread's knowledge, or the knowledge passed on with a message.
struct View {
  std::array<Message, kLocations> from{};       // the earliest message that may be read; 0: the first of the location
  std::array<std::uint16_t, kThreads> clock{};  // operations of each thread that happened before
  Events events;                                // sequentially consistent operations that strongly happened before
};

// An operation in the program text: a mutant changes it, and a test must find the change.
struct Site {
  std::string function;
  std::string operation;  // "load", "store" or "exchange" (all read-modify-writes)
  std::memory_order order{};
  std::string file;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  auto operator<=>(const Site&) const = default;
};

struct Mutant {
  enum class Kind {
    kNone,
    kRelaxed,        // the operation is relaxed
    kNotSequential,  // acquire and release instead of sequentially consistent
    kDropped,        // a store is left out
    kLate,           // a store comes after the thread's next operation
  };
  Kind kind = Kind::kNone;
  Site site;
};

// The threads of one run, and the condition after all have ended. Each run makes a new one.
class Program {
 public:
  virtual ~Program() = default;
  virtual std::size_t threads() const = 0;
  virtual void run(std::size_t thread) = 0;
  virtual void finally() {}
};

struct Exploration {
  std::string failure;  // empty: none
  std::string trace;    // operations of the failed run in their order
  std::int64_t runs = 0;
  std::int64_t states = 0;
  std::vector<Site> sites;  // all atomic operations found
};

// Explores all runs of the program that `make` makes, which must be the same at each call, until one fails.
Exploration explore(const std::function<std::unique_ptr<Program>()>& make, const Mutant& mutant = {});

// For programs: ------------------------------------------------------------------------------------------------------

// Ends the run as a failure.
[[noreturn]] void fail(const std::string& why);
inline void check(bool holds, const std::string& what) {
  if (!holds) fail(what);
}
// Ends the run without a verdict, for a loop that could wait forever for a change.
[[noreturn]] void leave();

// The kernel's futex on an atomic word.
void futex_wait(const void* word, std::uint64_t expected);
void futex_wake(const void* word, int count);

// For the atomics: ---------------------------------------------------------------------------------------------------

using Order = std::memory_order;
using Where = std::source_location;
std::uint32_t add_location(std::uint64_t value);
std::uint64_t load(std::uint32_t location, Order order, const Where& where);
void store(std::uint32_t location, std::uint64_t value, Order order, const Where& where);
// Replaces the value by `change(value)`, and returns the old value.
std::uint64_t modify(std::uint32_t location, const std::function<std::uint64_t(std::uint64_t)>& change, Order order,
                     const Where& where);

// Data without atomics: an access that is not ordered with another thread's access is a race.
class PlainBase {
 protected:
  PlainBase();
  void read() const;
  void write() const;

 private:
  std::uint32_t number_;
};

template <typename T>
class Plain : PlainBase {
 public:
  Plain() = default;
  explicit Plain(T value) : value_(value) {}
  const T& get() const {
    read();
    return value_;
  }
  void set(T value) {
    write();
    value_ = value;
  }

 private:
  T value_{};
};

}  // namespace lab::model
