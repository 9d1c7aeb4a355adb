// When a thread cannot be created, `start` fails, the existing threads end, and the runtime stays unused.
//
// The operating system causes the failure (RLIMIT_NPROC). It counts the tasks of a user, so the test takes an unused
// user id. That needs root; without it, the test is skipped.
#include <filesystem>
#include <sys/resource.h>
#include <system_error>
#include <thread>
#include <unistd.h>

#include "check.h"

#include "dgs/tests/keyed_sum.h"

namespace {

constexpr int kSkipped = 77;          // SKIP_RETURN_CODE
constexpr uid_t kFirstUid = 700'000;  // above usual accounts and subordinate ids

using lab::test::Events;
using lab::test::KeyedSumRun;

rlim_t tasks() {
  const std::filesystem::directory_iterator all("/proc/self/task");
  return static_cast<rlim_t>(std::distance(begin(all), end(all)));
}

// Allows `more` threads in addition to the existing ones.
void allow(rlim_t more) {
  rlimit limit{};
  CHECK_EQ(getrlimit(RLIMIT_NPROC, &limit), 0);
  limit.rlim_cur = tasks() + more;
  CHECK_EQ(setrlimit(RLIMIT_NPROC, &limit), 0);
}

// A joined thread still exists for a short time.
void wait_until_there_are(rlim_t expected) {
  while (tasks() != expected) std::this_thread::yield();
}

void a_start_that_fails_half_way_leaves_nothing_behind(bool load) {
  constexpr std::int32_t kWorkers = 3;
  const rlim_t needed = load ? kWorkers + 1 : kWorkers;
  std::vector<Events> streams{{{1, 2}, {0, 0}, {1, 1}}, {{3}, {1}, {0}}, {{2}, {0}, {5}}};
  lab::test::schedule(streams, 1000, 1);
  auto options = lab::test::short_run<lab::DgsOptions>(kWorkers);
  if (load) options.load = lab::LoadOptions{};
  const rlim_t before = tasks();
  for (rlim_t allowed = 0; allowed < needed; ++allowed) {
    {
      KeyedSumRun run(streams, 1, options);
      allow(allowed);
      CHECK_THROWS(run.runtime().start(), std::system_error);
      wait_until_there_are(before);
      allow(needed);
      CHECK_THROWS(run.run(), std::logic_error);  // does not wait for threads that were never made
      CHECK_THROWS(run.runtime().start(), std::logic_error);
    }
    wait_until_there_are(before);
  }
  allow(needed);
  KeyedSumRun run(streams, 1, options);
  run.runtime().start();
  CHECK(run.run() == lab::test::oracle(streams, 1));
}

}  // namespace

int main() {
  const uid_t uid = kFirstUid + static_cast<uid_t>(getpid());
  if (setresuid(uid, uid, uid) != 0) {
    std::fprintf(stderr, "skipped: a limit on threads needs a user id of its own, and that needs root\n");
    return kSkipped;
  }
  a_start_that_fails_half_way_leaves_nothing_behind(false);
  a_start_that_fails_half_way_leaves_nothing_behind(true);
  return 0;
}
