// Implements RunThreads; see run/threads.h.
#include "run/threads.h"

#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "run/clock.h"
#include "run/errors.h"

#if defined(__linux__)
#include <pthread.h>
#include <sched.h>
#endif

namespace lab {
namespace {

// Moves the calling thread to cores[index], and pins it there if `pinned`. Without cores it does nothing. A failure
// only costs speed.
//
// Linux may start several new threads on one core. With more threads than cores, a waking thread was seen to return to
// the core of its sleep while another core was idle. So threads that sleep at each synchronization would share a core
// for the whole run.
void place_thread(std::span<const std::int32_t> cores, std::int32_t index, bool pinned) noexcept {
#if defined(__linux__)
  if (cores.empty()) return;
  cpu_set_t allowed, target;
  const bool has_allowed = pthread_getaffinity_np(pthread_self(), sizeof allowed, &allowed) == 0;
  CPU_ZERO(&target);
  CPU_SET(static_cast<std::size_t>(cores[static_cast<std::size_t>(index)]), &target);
  pthread_setaffinity_np(pthread_self(), sizeof target, &target);  // the call returns on that core
  if (!pinned && has_allowed) pthread_setaffinity_np(pthread_self(), sizeof allowed, &allowed);
#else
  static_cast<void>(cores);
  static_cast<void>(index);
  static_cast<void>(pinned);
#endif
}

// Allocates the memory that this thread needs to throw, while memory is left. Python loads the C++ library late, and
// the C library allocates the thread-local variables of such a library at their first use. If it cannot, it ends the
// process, so a thread without memory could not report that.
void prepare_to_throw() noexcept {
  try {
    throw Stopped();
  } catch (const Stopped&) {
  }
}

}  // namespace

void RunThreads::claim() {
  if (started_) throw std::logic_error("a run can start only once");
  started_ = true;
}

void RunThreads::start(Plan plan) {
  plan_ = std::move(plan);
  errors_.resize(static_cast<std::size_t>(plan_.count));
  threads_.reserve(errors_.size());
  unended_ = plan_.count + (plan_.helper ? 1 : 0);
  ready_.emplace(unended_);
  try {
    for (std::int32_t i = 0; i < plan_.count; ++i) threads_.emplace_back([this, i] { work(i); });
    if (plan_.helper) helper_ = std::thread([this] { work_helper(); });
  } catch (...) {  // too few threads would wait for each other forever
    plan_.fail();
    abandon();
    throw;
  }
  // Wait for all threads, since a late thread would find only the memory that busy threads left.
  ready_->wait();  // acquire; pairs with the count_down of `get_ready`, but no data depends on it
}

void RunThreads::get_ready() {
  prepare_to_throw();
  ready_->count_down();
  go_.wait();
}

void RunThreads::work_helper() {
  get_ready();
  if (!abandoned_) plan_.helper();
  note_end();
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
  note_end();
}

void RunThreads::rethrow(std::int32_t index) const {
  try {
    std::rethrow_exception(errors_[static_cast<std::size_t>(index)]);
  } catch (const NoMemory& error) {
    throw NoMemory("%s %d: %s", plan_.thread_name, index, error.what());
  } catch (const std::bad_alloc&) {
    throw NoMemory("%s %d: out of memory", plan_.thread_name, index);
  } catch (const std::exception& error) {
    throw std::runtime_error(plan_.thread_name + (" " + std::to_string(index)) + ": " + error.what());
  }
}

void RunThreads::note_end() {
  const std::lock_guard lock(unended_mutex_);
  if (--unended_ == 0) all_ended_.notify_one();
}

void RunThreads::wait(const std::function<void()>& poll) {
  std::unique_lock lock(unended_mutex_);
  while (!all_ended_.wait_for(lock, kPollEvery, [this] { return unended_ == 0; })) {
    lock.unlock();
    poll();
    lock.lock();
  }
}

void RunThreads::abandon() {
  if (!waiting()) return;  // all threads have ended, or none exists
  abandoned_ = true;
  go_.count_down();  // release: publishes the above; pairs with the waits
  join();
}

void RunThreads::join() {
  for (std::thread& thread : threads_) thread.join();
  if (helper_.joinable()) helper_.join();
}

std::int64_t RunThreads::run(const std::function<void(std::int64_t)>& begin, const std::function<void()>& poll) {
  if (!waiting()) throw std::logic_error("a run can run only once, and not if its threads could not be created");
  const std::int64_t start_ns = now_ns();
  begin(start_ns);
  go_.count_down();  // release: publishes the above; pairs with the waits
  if (poll) {
    try {
      wait(poll);
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
