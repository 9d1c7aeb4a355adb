// RunThreads: the threads of a run, created before it, released together and joined at its end. take_turns: the loop of
// a thread.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <latch>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "run/parker.h"

namespace lab {

// A `Run` owns one RunThreads. One thread calls set-up, `run` and the destructor.
//
// Law: only `start` and `run` call the functions of a plan, and all threads have ended when `run` returns. If `run` is
// never called, the threads end with this object and call no function of the plan.
class RunThreads {
 public:
  struct Plan {
    std::int32_t count = 0;
    std::vector<std::int32_t> cores;         // thread i starts on cores[i]; empty for any core
    bool pinned = false;                     // whether it stays there
    const char* thread_name = "thread";      // name in errors, as in "thread 3: ..."
    std::function<void(std::int32_t)> body;  // the work of thread i
    std::function<void()> fail;              // makes all bodies and `helper` return; any thread may call it
    std::function<void()> helper;            // the work of one more thread, such as the generator; may be empty
  };

  RunThreads() = default;
  ~RunThreads() { abandon(); }
  RunThreads(const RunThreads&) = delete;
  RunThreads& operator=(const RunThreads&) = delete;

  // Marks the run as started, even if its start fails later. Throws std::logic_error at the second call.
  void claim();
  bool started() const noexcept { return started_; }

  // Creates the threads, which wait for `run`. Call it once, after `claim`. Throws std::system_error if the system
  // cannot create one; all threads have then ended, and `run` must not be called.
  void start(Plan plan);

  static constexpr std::chrono::milliseconds kPollEvery{50};

  // Calls `begin` with the time, releases the threads and waits for all of them. Meanwhile it calls `poll`, unless
  // `poll` is empty, every `kPollEvery`. Returns the duration in ns, to the end of the last thread. If `poll` throws,
  // `run` makes the threads return and rethrows. Throws std::runtime_error with the error of the first thread that has
  // one, or NoMemory. Throws std::logic_error at the second call, or if the threads could not be created.
  std::int64_t run(const std::function<void(std::int64_t)>& begin, const std::function<void()>& poll = {});

 private:
  void work(std::int32_t index);
  void work_helper();
  void get_ready();  // prepares the thread to throw, then waits for `run`
  void note_end();
  void wait(const std::function<void()>& poll);
  [[noreturn]] void rethrow(std::int32_t index) const;
  void abandon();
  void join();
  bool waiting() const noexcept { return !threads_.empty() && threads_.front().joinable(); }

  Plan plan_;
  bool started_ = false;
  bool abandoned_ = false;  // written before `go_` opens, read after it
  std::latch go_{1};
  std::optional<std::latch> ready_;  // counts threads that can throw even without memory
  // One entry for each thread, which writes it. The joining thread formats the message, since a thread may lack memory.
  std::vector<std::exception_ptr> errors_;
  std::vector<std::thread> threads_;
  std::thread helper_;

  std::mutex unended_mutex_;  // guards `unended_`
  std::condition_variable all_ended_;
  std::int32_t unended_ = 0;  // number of threads that have not ended
};

// Repeats turns of a thread. It checks `stopped()` before each turn, and `done()` after a turn without work. `turn`
// returns whether it did any work. After a turn without work the thread spins, then yields, then sleeps at `place()`.
// The thread that produces work wakes it there. The place may change between two calls. `turn(true)` is the last look
// before the sleep. `counts` has `sleeps` and `yields`.
template <typename Counts, typename Turn, typename Stopped, typename Done, typename Place>
void take_turns(Backoff backoff, Counts& counts, Turn turn, Stopped stopped, Done done, Place place) {
  while (!stopped()) {
    if (turn(false)) {
      backoff.reset();
      continue;
    }
    if (done()) return;
    switch (backoff.next()) {
      case Backoff::Step::kSpin:
        spin_pause();
        break;
      case Backoff::Step::kYield:
        ++counts.yields;
        std::this_thread::yield();
        break;
      case Backoff::Step::kSleep: {
        Parker& parker = place();
        const std::uint32_t ticket = parker.prepare();
        // A thread that was moved to another place after `place()` must not sleep here: wakers look at the new place.
        const bool has_work = turn(true);
        if (has_work) backoff.reset();
        if (has_work || done() || stopped() || &place() != &parker) {
          parker.cancel();
        } else {
          ++counts.sleeps;
          parker.commit(ticket);
        }
        break;
      }
    }
  }
}

}  // namespace lab
