#include "run/threads.h"

#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "run/clock.h"
#include "run/no_memory.h"
#include "run/stopped.h"

#if defined(__linux__)
#include <pthread.h>
#include <sched.h>
#endif

namespace lab {
namespace {

// Puts the calling thread on cores[index], where it stays if it is pinned; advice: failure only costs speed. Empty:
// nothing. Linux starts new threads wherever is least to do just then, several on one core, and with more threads
// than cores one that wakes was seen to go back to the core that it slept on, also while another was idle: threads that
// sleep at each synchronization would stay so for the whole run.
void place_thread(std::span<const std::int32_t> cores, std::int32_t index, bool pinned) noexcept {
#if defined(__linux__)
  if (cores.empty()) return;
  cpu_set_t all, one;
  const bool known = pthread_getaffinity_np(pthread_self(), sizeof all, &all) == 0;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(cores[static_cast<std::size_t>(index)]), &one);
  pthread_setaffinity_np(pthread_self(), sizeof one, &one);  // returns on that core
  if (!pinned && known) pthread_setaffinity_np(pthread_self(), sizeof all, &all);
#else
  static_cast<void>(cores);
  static_cast<void>(index);
  static_cast<void>(pinned);
#endif
}

// Takes the memory that this thread needs to throw while there is some. The C library gives a thread the variables of
// a library that was loaded later, as the C++ library is by Python, at their first use, and ends the process where it
// cannot: a thread without memory could not say so.
void be_able_to_throw() noexcept {
  try {
    throw Stopped();
  } catch (const Stopped&) {
  }
}

}  // namespace

void RunThreads::claim() {
  if (started_) throw std::logic_error("a runtime starts once");
  started_ = true;
}

void RunThreads::start(Plan plan) {
  plan_ = std::move(plan);
  errors_.resize(static_cast<std::size_t>(plan_.count));
  threads_.reserve(errors_.size());
  left_ = plan_.count + (plan_.beside ? 1 : 0);
  ready_.emplace(left_);
  try {
    for (std::int32_t i = 0; i < plan_.count; ++i) threads_.emplace_back([this, i] { work(i); });
    if (plan_.beside) beside_ = std::thread([this] { work_beside(); });
  } catch (...) {  // fewer threads than a run needs would wait for each other for ever
    plan_.fail();
    abandon();
    throw;
  }
  // A thread that came late, beside busy others, would find what memory they have left.
  ready_->wait();  // acquire; pairs with the count_down of `get_ready`, though there is nothing to see
}

void RunThreads::get_ready() {
  be_able_to_throw();
  ready_->count_down();
  go_.wait();
}

void RunThreads::work_beside() {
  get_ready();
  if (!abandoned_) plan_.beside();
  ended();
}

void RunThreads::work(std::int32_t index) {
  place_thread(plan_.cores, index, plan_.pinned);
  get_ready();
  if (abandoned_) return;
  try {
    plan_.body(index);
  } catch (const Stopped&) {
  } catch (const std::exception&) {
    errors_[static_cast<std::size_t>(index)] = std::current_exception();
    plan_.fail();
  }
  ended();
}

void RunThreads::rethrow(std::int32_t index) const {
  try {
    std::rethrow_exception(errors_[static_cast<std::size_t>(index)]);
  } catch (const NoMemory& error) {
    throw NoMemory("%s %d: %s", plan_.called, index, error.what());
  } catch (const std::bad_alloc&) {
    throw NoMemory("%s %d: out of memory", plan_.called, index);
  } catch (const std::exception& error) {
    throw std::runtime_error(plan_.called + (" " + std::to_string(index)) + ": " + error.what());
  }
}

void RunThreads::ended() {
  const std::lock_guard lock(left_mutex_);
  if (--left_ == 0) none_left_.notify_one();
}

void RunThreads::wait(const std::function<void()>& look) {
  std::unique_lock lock(left_mutex_);
  while (!none_left_.wait_for(lock, kLookEvery, [this] { return left_ == 0; })) {
    lock.unlock();
    look();
    lock.lock();
  }
}

void RunThreads::abandon() {
  if (!waiting()) return;  // all have ended, or none was made
  abandoned_ = true;
  go_.count_down();  // release: publishes the above; pairs with the waits
  join();
}

void RunThreads::join() {
  for (std::thread& thread : threads_) thread.join();
  if (beside_.joinable()) beside_.join();
}

std::int64_t RunThreads::run(const std::function<void(std::int64_t)>& begin, const std::function<void()>& look) {
  if (!waiting()) throw std::logic_error("a runtime runs once, and not when its threads could not be created");
  const std::int64_t start_ns = now_ns();
  begin(start_ns);
  go_.count_down();  // release: publishes the above; pairs with the waits
  if (look) {
    try {
      wait(look);
    } catch (...) {
      plan_.fail();
      join();
      throw;
    }
  }
  join();
  const std::int64_t end_ns = now_ns();
  for (std::int32_t i = 0; i < plan_.count; ++i) {
    if (errors_[static_cast<std::size_t>(i)]) rethrow(i);
  }
  return end_ns - start_ns;
}

}  // namespace lab
