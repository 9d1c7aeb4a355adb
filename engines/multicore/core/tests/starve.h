// starve: makes runs of one test program fail to allocate; replaces the allocation functions.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <new>
#include <string>
#include <vector>

#include "check.h"

namespace lab::test {

constexpr std::int64_t kPlenty = std::numeric_limits<std::int64_t>::max();

// Number of allocations that still succeed, of all threads. relaxed: a count.
inline std::atomic<std::int64_t> calls_left{kPlenty};

inline bool none() noexcept {
  if (calls_left.load(std::memory_order_relaxed) == kPlenty) return false;
  return calls_left.fetch_sub(1, std::memory_order_relaxed) <= 0;
}

inline void* aligned(std::size_t alignment, std::size_t bytes) noexcept {
  void* memory = nullptr;
  if (none() || posix_memalign(&memory, alignment, bytes) != 0) return nullptr;
  return memory;
}

}  // namespace lab::test

// Not inlined: the compiler would match malloc with a visible delete, and warn.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  void* const memory = lab::test::none() ? nullptr : std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
// std::stable_sort calls this one, and works without the memory.
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return lab::test::none() ? nullptr : std::malloc(bytes == 0 ? 1 : bytes);
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  void* const memory = lab::test::aligned(static_cast<std::size_t>(alignment), bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

extern "C" void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  return lab::test::aligned(alignment, bytes);
}

namespace lab::test {

// Runs the started run behind the pointer that `make` returns. Then runs another with memory for one allocation more
// (under a sanitizer, after the first 64, more each time), until one needs no more. Returns the errors' texts.
template <typename Make>
std::vector<std::string> starve(Make make) {
  std::vector<std::string> errors;
  for (std::int64_t memory = 0;; memory += kSanitized ? 1 + memory / 64 : 1) {
    auto run = make();
    bool done = false;
    calls_left.store(memory, std::memory_order_relaxed);
    try {
      run->run();
      done = true;
    } catch (const std::bad_alloc& error) {
      calls_left.store(kPlenty, std::memory_order_relaxed);
      errors.emplace_back(error.what());
    }
    calls_left.store(kPlenty, std::memory_order_relaxed);
    if (done) break;
    CHECK(contains(errors.back(), "out of memory"));
  }
  return errors;
}

inline bool any_has(const std::vector<std::string>& errors, const std::string& part) {
  return std::any_of(errors.begin(), errors.end(), [&](const auto& error) { return contains(error, part); });
}

// Returns when one of the errors contains `part`. The scheduler decides which thread runs out of memory, so the whole
// series is repeated until one does. Under a sanitizer, which skips counts, it runs once and accepts any errors.
template <typename Make>
void starves_saying(Make make, const std::string& part) {
  while (!any_has(starve(make), part) && !kSanitized) continue;
}

}  // namespace lab::test
