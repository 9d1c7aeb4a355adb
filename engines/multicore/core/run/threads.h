// The threads of a run: made before it, let go together, joined at its end; and how one of them idles.
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

// Set-up, `run` and destruction are for one thread.
//
// Law: a plan's functions are called by `start` and `run` only, and no thread is left when `run` returns. Threads that
// were never let go end with this object, and have called nothing.
class RunThreads {
 public:
  struct Plan {
    std::int32_t count = 0;
    std::vector<std::int32_t> cores;         // thread i begins on cores[i]; empty: wherever
    bool pinned = false;                     // and stays there
    const char* called = "thread";           // in errors: "thread 3: ..."
    std::function<void(std::int32_t)> body;  // of thread i
    std::function<void()> fail;              // has all bodies, and `beside`, return; any thread; without threads: there
                                             // will be no run
    std::function<void()> beside;            // of one more thread, as the generator's; may be empty
  };

  RunThreads() = default;
  ~RunThreads() { abandon(); }
  RunThreads(const RunThreads&) = delete;
  RunThreads& operator=(const RunThreads&) = delete;

  // There is one start, whatever becomes of it. Throws std::logic_error the second time.
  void claim();
  bool started() const noexcept { return started_; }

  // Creates the threads, once, after `claim`; they wait for `run`. Throws std::system_error when one cannot be had; the
  // others have ended then, and there is no run.
  void start(Plan plan);

  static constexpr std::chrono::milliseconds kLookEvery{50};

  // Calls `begin` with the time, lets the threads go and waits for all of them, with a call of `look` every `kLookEvery`
  // meanwhile, unless it is empty. Returns the duration in ns, to the end of the last. When `look` throws, has the
  // threads return, and passes that on. Throws std::runtime_error with the error of the first thread that has one, or
  // NoMemory; std::logic_error the second time, or when the threads could not be created.
  std::int64_t run(const std::function<void(std::int64_t)>& begin, const std::function<void()>& look = {});

 private:
  void work(std::int32_t index);
  void work_beside();
  void get_ready();  // to throw, and waits for `run`
  void ended();
  void wait(const std::function<void()>& look);
  [[noreturn]] void rethrow(std::int32_t index) const;
  void abandon();
  void join();
  bool waiting() const noexcept { return !threads_.empty() && threads_.front().joinable(); }

  Plan plan_;
  bool started_ = false;
  bool abandoned_ = false;  // written before `go_` opens, read behind it
  std::latch go_{1};
  std::optional<std::latch> ready_;  // counts threads that can throw whatever memory is left
  // By thread, which writes it; made into a message by who joins: where there is no memory the thread has none for it.
  std::vector<std::exception_ptr> errors_;
  std::vector<std::thread> threads_;
  std::thread beside_;

  std::mutex left_mutex_;  // guards `left_`
  std::condition_variable none_left_;
  std::int32_t left_ = 0;  // threads that have not ended
};

// Has a thread take turns until it is `stopped()`, asked before each turn, or `done()`, asked where it found nothing to
// do. `turn` returns whether it did anything; a thread that did nothing spins, yields and at last sleeps at `place()`,
// to be woken there by who makes work; the place may change from one call to the next. `turn(true)` is the last look
// before it sleeps. `counts` has `sleeps` and `yields`.
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
        // Who was moved to another place after this one was asked for is not looked for here.
        const bool found = turn(true);
        if (found) backoff.reset();
        if (found || done() || stopped() || &place() != &parker) {
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
