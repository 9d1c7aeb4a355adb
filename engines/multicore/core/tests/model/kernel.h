// For models with the parker: its kernel calls, which the machine performs, and the loop of a waiting thread.
#pragma once
#include <cstdint>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "model/machine.h"
#include "model/standard.h"

namespace lab::model {

template <typename... Rest>
long futex(long, const std::uint32_t* word, int operation, std::uint32_t value, Rest...) {
  if (operation == FUTEX_WAIT_PRIVATE) {
    futex_wait(word, value);
  } else {
    futex_wake(word, static_cast<int>(value));
  }
  return 0;
}

// Sleeps until `holds()`; leaves runs in which it did not hold after `max_checks` sleeps.
template <typename Parker, typename Condition>
void await(Parker& parker, int max_checks, Condition holds) {
  for (int checks = 0; !holds(); ++checks) {
    if (checks == max_checks) leave();
    const std::uint32_t ticket = parker.prepare();
    if (holds()) {
      parker.cancel();
      return;
    }
    parker.commit(ticket);
  }
}

}  // namespace lab::model

#define syscall lab::model::futex
