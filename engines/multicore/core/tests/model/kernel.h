// The kernel calls of a product's parker, as the machine performs them. Include after <unistd.h>.
#pragma once
#include <cstdint>
#include <linux/futex.h>

#include "model/machine.h"

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

}  // namespace lab::model

#define syscall lab::model::futex
