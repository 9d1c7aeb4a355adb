// Checks for the core's tests: they hold in release builds, and say what was seen.
#pragma once
#include <cstdio>
#include <cstdlib>
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

// How many rounds a stress test makes: `quick` unless the environment says otherwise.
inline int stress_rounds(int quick) {
  const char* given = std::getenv("LAB_STRESS_ROUNDS");
  return given != nullptr ? std::atoi(given) : quick;
}

}  // namespace lab::test

#define CHECK(condition) \
  do {                   \
    if (!(condition)) ::lab::test::fail(__FILE__, __LINE__, "not true: " #condition); \
  } while (false)

#define CHECK_EQ(a, b) ::lab::test::check_equal((a), (b), #a " == " #b, __FILE__, __LINE__)

#define CHECK_THROWS(expression, type)                                             \
  do {                                                                             \
    bool thrown = false;                                                           \
    try {                                                                          \
      static_cast<void>(expression);                                               \
    } catch (const type&) {                                                        \
      thrown = true;                                                               \
    }                                                                              \
    if (!thrown) ::lab::test::fail(__FILE__, __LINE__, "no " #type " from " #expression); \
  } while (false)
