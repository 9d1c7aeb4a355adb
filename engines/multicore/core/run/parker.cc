// Implements Parker; see run/parker.h.
#include "run/parker.h"

#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace lab {

#if defined(__linux__)

void Parker::commit(std::uint32_t ticket) noexcept {
  // The kernel compares the word with the ticket under its own lock. So after a wake since `prepare`, the call returns
  // at once.
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&epoch_), FUTEX_WAIT_PRIVATE, ticket, nullptr, nullptr, 0);
  sleeping_.store(0, std::memory_order_relaxed);  // only the owner sleeps, and it is awake
}

void Parker::wake() noexcept {
  // Saves the next notifier the system call. relaxed: the waker that clears the flag changes the epoch afterwards. So a
  // sleeper that another notifier skipped because of the cleared flag still wakes and checks everything.
  sleeping_.store(0, std::memory_order_relaxed);
  epoch_.fetch_add(1, std::memory_order_seq_cst);  // pairs with the load in prepare and the futex compare
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&epoch_), FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

#else

void Parker::commit(std::uint32_t ticket) noexcept {
  epoch_.wait(ticket, std::memory_order_seq_cst);
  sleeping_.store(0, std::memory_order_relaxed);
}

void Parker::wake() noexcept {
  sleeping_.store(0, std::memory_order_relaxed);
  epoch_.fetch_add(1, std::memory_order_seq_cst);
  epoch_.notify_one();
}

#endif

}  // namespace lab
