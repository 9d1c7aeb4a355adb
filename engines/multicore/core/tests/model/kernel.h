// A product's parker: its kernel calls, as the machine performs them, and the loop of a thread that waits.
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

// Sleeps until `holds()`; leaves runs in which it did not hold after `most_looks` sleeps.
template <typename Parker, typename Condition>
void await(Parker& parker, int most_looks, Condition holds) {
  for (int looks = 0; !holds(); ++looks) {
    if (looks == most_looks) leave();
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
