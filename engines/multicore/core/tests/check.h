// CHECK: the checks of the core's tests. They are also active in release builds, and print the actual values.
#pragma once
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <sstream>
#include <string>

namespace lab::test {

[[noreturn]] inline void fail(const char* file, int line, const std::string& message) {
  std::fprintf(stderr, "%s:%d: %s\n", file, line, message.c_str());
  std::exit(1);
}

template <typename A, typename B>
void check_equal(const A& a, const B& b, const char* text, const char* file, int line) {
  if (a == b) return;
  std::ostringstream message;
  message << text << ": " << a << " != " << b;
  fail(file, line, message.str());
}

// Returns the text of the error that `run` throws, "" without one.
template <typename Run>
std::string failure_of(Run run) {
  try {
    run();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

// Returns whether to run the whole of a long test: with LAB_STRESS set (`make test-all`), and where threads lose their
// core at random (`make perturbed`), as that finds errors by the number of its tries.
inline bool does_all() {
#ifdef LAB_PERTURBED
  return true;
#else
  return std::getenv("LAB_STRESS") != nullptr;
#endif
}

// Returns the part of a long test to run: all of it, or half; under a sanitizer, which is ten times as slow, a third.
inline int share_of(int whole) { return does_all() ? whole : std::max(1, whole / (kSanitized ? 3 : 2)); }

// Returns the number of rounds of a stress test: share_of(quick) unless the environment sets it.
inline int stress_rounds(int quick) {
  const char* rounds = std::getenv("LAB_STRESS_ROUNDS");
  return rounds != nullptr ? std::atoi(rounds) : share_of(quick);
}

// Runs rounds 0, 1, ... of a stress test: `least` rounds, then more until `seen()` returns true. `seen` reports whether
// an event that the scheduler decides (a switch, a wait, a refusal) happened often enough. If it never does, this
// hangs, as a lost wake-up does. Returns the number of rounds.
template <typename Round, typename Seen>
int rounds_until(int least, Round round, Seen seen) {
  int done = 0;
  for (; done < least || !seen(); ++done) round(static_cast<unsigned>(done));
  return done;
}

// Selects combinations of a product, one call for each in turn: all of them, or two of five, or one of five under a
// sanitizer. Five divides no product of twos and threes, the sizes of the inner parameters. So each value of a
// parameter meets each value of another, given enough combinations.
class Turns {
 public:
  bool next() {
    const int place = turn_++ % 5;
    return all_ || place == 0 || (place == 2 && !kSanitized);
  }

 private:
  const bool all_ = does_all();
  int turn_ = 0;
};

}  // namespace lab::test

#define CHECK(condition)                                                              \
  do {                                                                                \
    if (!(condition)) ::lab::test::fail(__FILE__, __LINE__, "not true: " #condition); \
  } while (false)

#define CHECK_EQ(a, b) ::lab::test::check_equal((a), (b), #a " == " #b, __FILE__, __LINE__)

#define CHECK_THROWS(expression, type)                                                    \
  do {                                                                                    \
    bool thrown = false;                                                                  \
    try {                                                                                 \
      static_cast<void>(expression);                                                      \
    } catch (const type&) {                                                               \
      thrown = true;                                                                      \
    }                                                                                     \
    if (!thrown) ::lab::test::fail(__FILE__, __LINE__, "no " #type " from " #expression); \
  } while (false)
