// An abstract machine that runs a small program of a few threads in every way that C++20 lets it go.
//
// Threads are fibers. Before each atomic operation the machine chooses who goes on; for a load it also chooses which of
// the values that the thread may still see, for a store where in the order of modifications it comes. It goes through
// all choices, depth first, and runs the program from its beginning for each; states that were seen before are left.
//
// The memory is that of views: of each location a list of messages in modification order; each thread has a view, the
// message of each location below which it cannot read any more; a release hands its view over with its message, an
// acquire takes it. (Kang et al., A promising semantics for relaxed-memory concurrency, POPL 2017, without promises.)
// Sequentially consistent operations are kept in a graph of what must come before what (C++20, [atomics.order]:
// strongly happens before, and coherence-ordered before on one location); a choice that closes a circle in it is none.
// So they are as weak as the standard has them, not as on one processor. What is not there: load buffering (a read of what is
// written later in the order of the program), fences, consume, waits on atomics. Plain data are checked for races.
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
inline constexpr std::size_t kEventsEach = 64;  // sequentially consistent operations of a thread

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

using Message = std::uint32_t;  // thread << 16 | number of its operation; kInitial | location: the first of each

// What a thread knows, or a message passes on.
struct View {
  std::array<Message, kLocations> from{};       // the earliest message that may be read; 0: the first of the location
  std::array<std::uint16_t, kThreads> clock{};  // operations of each thread that happened before
  Events events;                                // sequentially consistent ones that strongly happened before
};

// An operation in the text of the program: what can be changed there, to see that the change is found.
struct Site {
  std::string function;
  std::string operation;  // "load", "store" or "exchange", for all that read and write
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

// One run's threads and what must hold when all have ended. Made anew for each.
class Program {
 public:
  virtual ~Program() = default;
  virtual std::size_t threads() const = 0;
  virtual void run(std::size_t thread) = 0;
  virtual void finally() {}
};

struct Found {
  std::string failure;  // empty: none
  std::string trace;    // of the run that failed: its operations in the order in which they were done
  std::int64_t runs = 0;
  std::int64_t states = 0;
  std::vector<Site> sites;  // of all atomic operations that were met
};

// Goes through all runs of the programs that `make` makes, which are the same each time, until one fails.
Found explore(const std::function<std::unique_ptr<Program>()>& make, const Mutant& mutant = {});

// For programs: ------------------------------------------------------------------------------------------------------

// The run has failed.
[[noreturn]] void fail(const std::string& why);
inline void check(bool holds, const std::string& what) {
  if (!holds) fail(what);
}
// The run is not looked at any further: a loop that could go on for ever, for want of news.
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
// Replaces the value by what `change` makes of it, and returns what was there.
std::uint64_t modify(std::uint32_t location, const std::function<std::uint64_t(std::uint64_t)>& change, Order order,
                     const Where& where);

// Data without atomics: an access that another thread's is not ordered with is a race.
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
