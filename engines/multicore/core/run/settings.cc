#include "run/settings.h"

#include <stdexcept>
#include <string>

namespace lab {

void check(const RunSettings& settings) {
  const auto between = [](const char* name, std::uint64_t most) {
    throw std::invalid_argument(name + (" must be between 1 and " + std::to_string(most)));
  };
  if (settings.workers < 1 || settings.workers > RunSettings::kMostWorkers) {
    between("workers", RunSettings::kMostWorkers);
  }
  if (settings.ring_blocks < 1 || settings.ring_blocks > RunSettings::kMostRingBlocks) {
    between("ring_blocks", RunSettings::kMostRingBlocks);
  }
  if (settings.batch < 1) throw std::invalid_argument("batch must be at least 1");
  if (settings.core_count < 0) throw std::invalid_argument("core_count must not be negative");
  if (settings.grid_steps < 1) throw std::invalid_argument("grid_steps must be at least 1");
  if (!settings.load) return;
  for (const std::int64_t time_ns : {settings.load->warm_up_ns, settings.load->end_ns}) {
    if (time_ns < 0 || time_ns > kLatestDueNs) throw std::invalid_argument("a load's times lie in the next 146 years");
  }
}

}  // namespace lab
