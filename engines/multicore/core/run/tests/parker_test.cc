// No wake-up is lost: two threads pass a token back and forth, and each sleeps until it has the token.
#include "run/parker.h"

#include <atomic>
#include <thread>
#include <vector>

#include "check.h"

namespace {

// Waits until `turn` is `own_turn`, without spins, so that every wait uses the futex.
void wait_for(std::atomic<int>& turn, int own_turn, lab::Parker& parker) {
  while (turn.load(std::memory_order_seq_cst) != own_turn) {
    const std::uint32_t ticket = parker.prepare();
    if (turn.load(std::memory_order_seq_cst) == own_turn) {
      parker.cancel();
      return;
    }
    parker.commit(ticket);
  }
}

void token_is_never_lost(int threads, int rounds) {
  std::vector<lab::Parker> parkers(static_cast<std::size_t>(threads));
  std::atomic<int> turn{0};
  std::vector<std::thread> ring;
  for (int me = 0; me < threads; ++me) {
    ring.emplace_back([&, me] {
      const int next = (me + 1) % threads;
      for (int i = 0; i < rounds; ++i) {
        wait_for(turn, me, parkers[static_cast<std::size_t>(me)]);
        turn.store(next, std::memory_order_seq_cst);
        parkers[static_cast<std::size_t>(next)].notify();
      }
    });
  }
  for (std::thread& thread : ring) thread.join();
  CHECK_EQ(turn.load(), 0);
}

// Several wakers and one sleeper: the sleeper sees every increment, even if notifications coincide.
void sleeper_sees_every_waker(int wakers, int rounds) {
  lab::Parker parker;
  std::atomic<int> sum{0};
  std::vector<std::thread> threads;
  for (int w = 0; w < wakers; ++w) {
    threads.emplace_back([&] {
      for (int i = 0; i < rounds; ++i) {
        sum.fetch_add(1, std::memory_order_seq_cst);
        parker.notify();
      }
    });
  }
  int seen = 0;
  while (seen < wakers * rounds) {
    const std::uint32_t ticket = parker.prepare();
    const int now = sum.load(std::memory_order_seq_cst);
    if (now != seen) {
      seen = now;
      parker.cancel();
    } else {
      parker.commit(ticket);
    }
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_EQ(seen, wakers * rounds);
}

void backoff_spins_then_yields_then_sleeps() {
  using Step = lab::Backoff::Step;
  lab::Backoff backoff(2, 1);
  CHECK(backoff.next() == Step::kSpin && backoff.next() == Step::kSpin && backoff.next() == Step::kYield);
  CHECK(backoff.next() == Step::kSleep && backoff.next() == Step::kSleep);
  backoff.reset();
  CHECK(backoff.next() == Step::kSpin);
}

void backoff_is_patient_for_a_while() {
  using Step = lab::Backoff::Step;
  constexpr std::int64_t kPatienceNs = 2'000'000;
  lab::Backoff backoff(0, 1, kPatienceNs);
  for (int round = 0; round < 2; ++round) {
    const std::int64_t began = lab::now_ns();
    CHECK(backoff.next() == Step::kYield);
    while (backoff.next() == Step::kYield) {
    }
    CHECK(lab::now_ns() - began >= kPatienceNs - 1'000);  // its clock may be early by some 100 ns
    backoff.reset();
  }
  lab::Backoff at_least(0, 3, 1);  // patience ends at once
  for (int i = 0; i < 3; ++i) CHECK(at_least.next() == Step::kYield);
}

}  // namespace

int main() {
  const int rounds = lab::test::stress_rounds(20) * 500;
  token_is_never_lost(2, rounds);
  token_is_never_lost(6, rounds / 4);
  sleeper_sees_every_waker(1, rounds * 4);
  sleeper_sees_every_waker(5, rounds);
  backoff_spins_then_yields_then_sleeps();
  backoff_is_patient_for_a_while();
  return 0;
}
