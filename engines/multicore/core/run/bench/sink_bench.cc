// Measures an OutputBuffer: appends records one by one, and merges two buffers.
#include <vector>

#include "registry.h"

#include "run/sink.h"

namespace lab::bench {
namespace {

constexpr std::int64_t kRun = 8;          // consecutive records of one buffer in the merged order
constexpr std::int64_t kFreshEvery = 32;  // records between two segments

std::int64_t value_of(std::int64_t record) { return record % 1000; }

void append(OutputBuffer& out, std::int64_t record, std::int32_t stream) {
  Emit* emit = out.open(1);
  static_cast<std::int64_t*>(emit->columns[0])[emit->count] = record;
  static_cast<std::int64_t*>(emit->columns[1])[emit->count] = value_of(record);
  ++emit->count;
  out.close(stream, stream, record, record % kFreshEvery == 0);
}

std::int64_t merged_checksum(std::span<const OutputBuffer* const> buffers, std::vector<std::int64_t>& ts,
                             std::vector<std::int64_t>& value) {
  void* const columns[] = {ts.data(), value.data()};
  merge_outputs(buffers, columns);
  return 0;
}

// Returns a sum over the position and content of every record.
std::int64_t checksum(const std::vector<std::int64_t>& ts, const std::vector<std::int64_t>& value) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < ts.size(); ++i) sum += static_cast<std::int64_t>(i % 16 + 1) * (ts[i] + value[i]);
  return sum;
}

std::int64_t run_append(std::int64_t n) {
  OutputBuffer out({8, 8});
  measure([&] {
    for (std::int64_t i = 0; i < n; ++i) append(out, i, 0);
    return out.rows();
  });
  std::vector<std::int64_t> ts(static_cast<std::size_t>(n));
  std::vector<std::int64_t> value(static_cast<std::size_t>(n));
  const OutputBuffer* const buffers[] = {&out};
  merged_checksum(buffers, ts, value);
  return checksum(ts, value);
}

std::int64_t run_merge(std::int64_t n) {
  OutputBuffer first({8, 8});
  OutputBuffer second({8, 8});
  for (std::int64_t i = 0; i < n; ++i) {
    const bool other = i / kRun % 2 == 1;
    append(other ? second : first, i, other ? 1 : 0);
  }
  std::vector<std::int64_t> ts(static_cast<std::size_t>(n));
  std::vector<std::int64_t> value(static_cast<std::size_t>(n));
  const OutputBuffer* const buffers[] = {&first, &second};
  measure([&] { return merged_checksum(buffers, ts, value); });
  return checksum(ts, value);
}

std::int64_t expected(std::int64_t n) {
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += (i % 16 + 1) * (i + value_of(i));
  return sum;
}

}  // namespace

const Bench output_append{"output_append", "records", 1'000'000, &run_append, &expected};
const Bench output_merge{"output_merge", "records", 500'000, &run_merge, &expected};

}  // namespace lab::bench
