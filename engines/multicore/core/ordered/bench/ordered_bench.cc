// ordered_bench KINDS WORKERS BATCH RECORDS: measures one run of an ordered pipeline (ordered/ordered_run.h) with
// operators in C++.
//
// KINDS has one letter per operator: l stateless, p partitioned, f stateful. Operators do as little as possible, so
// that the bench shows the cost of the runtime: they forward each record, and add to a state if they have one.
//
// Prints the wall time and the CPU time of all threads per input record in ns, and the CPU time of the scheduler per
// record. Fails if the outputs are not all records in order.
#include <algorithm>
#include <cstdio>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "program.h"

#include "ordered/ordered_run.h"

namespace {

constexpr std::int64_t kKeys = 1000;
constexpr std::int32_t kPartitions = 100;

std::uint64_t partition_of(std::int64_t key, std::int64_t partitions) {
  return ((lab::mix_key(key) & 0xffffffffU) * static_cast<std::uint64_t>(partitions)) >> 32;
}

std::int64_t process(const lab::StageCall* call, std::int64_t begin, std::int64_t end, lab::Emit* out) {
  const auto* ts = static_cast<const std::int64_t*>(call->columns[0]);
  const auto* key = static_cast<const std::int64_t*>(call->columns[1]);
  auto* ts_out = static_cast<std::int64_t*>(out->columns[0]);
  auto* key_out = static_cast<std::int64_t*>(out->columns[1]);
  std::int64_t count = out->count;
  for (std::int64_t i = begin; i < end; ++i) {
    if (count == out->capacity) {
      out->count = count;
      return i + 1;
    }
    const std::int32_t k = call->order != nullptr ? call->order[i] : static_cast<std::int32_t>(i);
    const std::int64_t row = call->base + k;
    if (call->state != nullptr) {
      void* state = call->state;
      if (call->find != nullptr) {
        state = call->find(static_cast<lab::KeyStates*>(state) + partition_of(key[row], call->partitions), key[row]);
      }
      *static_cast<std::int64_t*>(state) += ts[row];
    }
    ts_out[count] = ts[row];
    key_out[count] = key[row];
    call->sources[count] = k;
    ++count;
  }
  out->count = count;
  return end + 1;
}

std::int64_t partition(const void* const* columns, std::int64_t base, std::int64_t records, std::int64_t partitions,
                       std::int32_t* result) {
  const auto* key = static_cast<const std::int64_t*>(columns[1]);
  for (std::int64_t i = 0; i < records; ++i) {
    result[i] = static_cast<std::int32_t>(partition_of(key[base + i], partitions));
  }
  return records + 1;
}

void run(char** arguments) {
  const std::string kinds = arguments[1];
  lab::OrderedOptions options;
  options.workers = std::stoi(arguments[2]);
  options.batch = std::stoll(arguments[3]);
  const std::int64_t records = std::stoll(arguments[4]);
  options.input_itemsizes = {8, 8};
  options.core_count = static_cast<std::int32_t>(std::thread::hardware_concurrency());
  const std::int64_t likely = std::min<std::int64_t>(8192 / options.batch, 1024);
  options.window = std::max<std::int64_t>({16, 4 * options.workers, likely});
  std::vector<std::int64_t> ts(static_cast<std::size_t>(records)), key(ts.size());
  std::iota(ts.begin(), ts.end(), 0);
  for (std::size_t i = 0; i < key.size(); ++i) {
    key[i] = static_cast<std::int64_t>(lab::mix_key(ts[i]) % std::uint64_t{kKeys});
  }
  lab::StreamView stream;
  stream.ts = ts;
  stream.columns = {ts.data(), key.data()};
  options.reserved_rows = records;
  lab::OrderedRun runtime(options);
  for (const char letter : kinds) {
    lab::StageSpec spec;
    using Kind = lab::StageSpec::Kind;
    spec.name = letter;
    spec.process = &process;
    spec.itemsizes = {8, 8};
    spec.kind = letter == 'l' ? Kind::kStateless : letter == 'f' ? Kind::kStateful : Kind::kPartitioned;
    if (letter != 'l') spec.state_bytes = 8;
    if (spec.kind == Kind::kPartitioned) {
      spec.partition = &partition;
      spec.partitions = kPartitions;
    }
    runtime.add_stage(spec);
  }
  runtime.add_stream(stream);
  runtime.start();
  const std::int64_t cpu_start = lab::bench::cpu_ns();
  const auto wall = static_cast<double>(runtime.run());
  const auto cpu = static_cast<double>(lab::bench::cpu_ns() - cpu_start);
  if (runtime.rows() != records) throw std::logic_error("records are missing");
  std::vector<std::int64_t> out(ts.size()), out_key(ts.size());
  void* columns[] = {out.data(), out_key.data()};
  runtime.collect(columns);
  if (out != ts || out_key != key) throw std::logic_error("records are out of order");
  const auto each = static_cast<double>(records);
  const lab::OrderedCounts counts = runtime.counts();
  std::printf("%.2f %.2f %.2f\n", wall / each, cpu / each, static_cast<double>(counts.decision_ns) / each);
}

}  // namespace

int main(int count, char** arguments) {
  return lab::bench::run_program("ordered_bench", "KINDS WORKERS BATCH RECORDS", count, 4, 4, [&] { run(arguments); });
}
