// `core_to_core_ns` measures two existing cores and refuses others.
#include "run/core_to_core.h"

#include <algorithm>
#include <cstdio>
#include <sched.h>
#include <stdexcept>
#include <vector>

#include "check.h"

namespace {

std::vector<int> usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

}  // namespace

int main() {
  constexpr std::int64_t kSecond = 1'000'000'000;
  CHECK_THROWS(lab::core_to_core_ns(0, 0, kSecond), std::invalid_argument);
  CHECK_THROWS(lab::core_to_core_ns(-1, 0, kSecond), std::invalid_argument);
  CHECK_THROWS(lab::core_to_core_ns(0, 1 << 20, kSecond / 100), std::runtime_error);
  const std::vector<int> cores = usable_cores();
  int absent = CPU_SETSIZE - 1;  // a core that this process may not use, if one exists
  while (absent >= 0 && std::find(cores.begin(), cores.end(), absent) != cores.end()) --absent;
  if (absent >= 0) CHECK_THROWS(lab::core_to_core_ns(cores.front(), absent, kSecond / 100), std::runtime_error);
  if (cores.size() < 2) {
    std::puts("one core: nothing to measure");
    return 0;
  }
  // Even on a busy machine, five short tries end within a minute.
  const double ns = lab::core_to_core_ns(cores[0], cores[1], 60 * kSecond);
  std::printf("cores %d and %d are %.0f ns apart\n", cores[0], cores[1], ns);
  CHECK(ns > 1 && ns < 1e9);
  CHECK(lab::core_to_core_ns(cores[0], cores[1], -1) == -1);
  return 0;
}
