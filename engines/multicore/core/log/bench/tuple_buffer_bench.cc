// Measures the cost per tuple of each form of the log, without contention. Sources with alternating rows publish in
// turns, then readers empty the log in turns.
#include <algorithm>
#include <vector>

#include "registry.h"

#include "log/tuple_buffer.h"

namespace lab::bench {
namespace {

constexpr std::int64_t kTurn = 1024;  // rows of all sources before the readers' turn

enum class Form { kOrder, kScaleGate };

template <Form kForm, std::int64_t kWays, std::int64_t kBatch>
std::int64_t run(std::int64_t n) {
  // Row r of source s has timestamp r * kWays + s.
  std::vector<std::vector<std::int64_t>> ts(static_cast<std::size_t>(kWays));
  for (std::int64_t t = 0; t < n; ++t) ts[static_cast<std::size_t>(t % kWays)].push_back(t);
  LogOptions options;
  options.watermarks = false;
  constexpr const char* kName = kForm == Form::kOrder ? "order" : "scalegate";
  const auto log = make_tuple_buffer(kName, options);
  for (int r = 0; r < kWays; ++r) log->add_reader();
  for (auto& column : ts) {
    column.reserve(1);  // a source without rows needs a column, too
    log->add_source(column.data(), ~std::uint64_t{0}, 0);
  }
  return measure([&] {
    std::int64_t sum = 0;
    std::int64_t published = 0;  // rows of each source
    const auto read = [&] {
      for (int r = 0; r < kWays; ++r) {
        for (;;) {
          const auto runs = log->read(r);
          if (runs.empty() && !log->advance()) break;
          for (const LogRun& run_read : runs) {
            const LogColumns& columns = log->columns(run_read.source);
            for (std::int64_t i = run_read.begin; i < run_read.end; ++i)
              sum += columns.ts[static_cast<std::uint64_t>(i) & columns.mask];
          }
          log->release(r, runs.size());
        }
      }
    };
    while (published * kWays < n) {
      for (const std::int64_t stop = published + kTurn / kWays; published < stop; published += kBatch) {
        for (int s = 0; s < kWays; ++s) {
          const auto& column = ts[static_cast<std::size_t>(s)];
          const auto end = std::min(static_cast<std::int64_t>(column.size()), published + kBatch);
          if (end > published) log->publish(s, end, column[static_cast<std::size_t>(end) - 1]);
        }
      }
      read();
    }
    for (int s = 0; s < kWays; ++s) log->close(s);
    read();
    for (int r = 0; r < kWays; ++r) sum += log->ended(r) ? 0 : 1;
    return sum;
  });
}

template <std::int64_t kWays>
std::int64_t expected(std::int64_t n) {
  return kWays * (n * (n - 1) / 2);
}

template <Form kForm, std::int64_t kWays, std::int64_t kBatch>
constexpr Bench bench(const char* name) {
  return {name, "tuples, alternating", kForm == Form::kScaleGate ? 300'000 : 1'000'000, &run<kForm, kWays, kBatch>,
          &expected<kWays>};
}

constexpr Bench kBenches[] = {
    bench<Form::kOrder, 1, 1>("order_log_1x1_batch_1"),      bench<Form::kOrder, 1, 64>("order_log_1x1_batch_64"),
    bench<Form::kOrder, 2, 1>("order_log_2x2_batch_1"),      bench<Form::kOrder, 2, 64>("order_log_2x2_batch_64"),
    bench<Form::kOrder, 4, 1>("order_log_4x4_batch_1"),      bench<Form::kOrder, 4, 64>("order_log_4x4_batch_64"),
    bench<Form::kScaleGate, 1, 1>("scale_gate_1x1_batch_1"), bench<Form::kScaleGate, 1, 64>("scale_gate_1x1_batch_64"),
    bench<Form::kScaleGate, 2, 1>("scale_gate_2x2_batch_1"), bench<Form::kScaleGate, 2, 64>("scale_gate_2x2_batch_64"),
    bench<Form::kScaleGate, 4, 1>("scale_gate_4x4_batch_1"), bench<Form::kScaleGate, 4, 64>("scale_gate_4x4_batch_64"),
};

}  // namespace

std::span<const Bench> tuple_buffer_benches() noexcept { return kBenches; }

}  // namespace lab::bench
