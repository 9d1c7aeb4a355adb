// Implements the list of benchmarks (bench/bench.h). To add a benchmark, declare it in registry.h and list it here.
#include "registry.h"

#include <stdexcept>
#include <string>
#include <vector>

namespace lab::bench {

std::span<const Bench> all() noexcept {
  static const std::vector<Bench> benches = [] {
    std::vector<Bench> result{
        block_ring_hand_over, source_pump,       source_schedule, histogram_record, recorder_output,
        forest_synchronize,   mailbox_long_runs, mailbox_batch_1, mailbox_direct,   mailbox_synchronize,
        output_append,        output_merge,      parker_notify,
    };
    const std::span<const Bench> logs = tuple_buffer_benches();
    result.insert(result.end(), logs.begin(), logs.end());
    return result;
  }();
  return benches;
}

const Bench& find(std::string_view name) {
  for (const Bench& bench : all()) {
    if (bench.name == name) return bench;
  }
  std::string known;
  for (const Bench& bench : all()) known += std::string(known.empty() ? "" : ", ") + bench.name;
  throw std::invalid_argument("no benchmark '" + std::string(name) + "'; there are " + known);
}

std::int64_t run_checked(const Bench& bench, std::int64_t n) {
  if (n < 1) throw std::invalid_argument("n is " + std::to_string(n) + ", expected at least 1");
  const std::int64_t checksum = bench.run(n);
  const std::int64_t expected = bench.expected(n);
  if (checksum != expected) {
    throw std::logic_error(std::string(bench.name) + " with n = " + std::to_string(n) + " gave checksum " +
                           std::to_string(checksum) + ", expected " + std::to_string(expected));
  }
  return checksum;
}

}  // namespace lab::bench
