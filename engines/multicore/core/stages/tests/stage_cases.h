// Native operators of pipelines for the tests, random inputs, and the answer of one thread.
//
// Records have fields key (int64), mark (int32) and value (int64). `apply` is the operator, for the kernels and for the
// oracle. Its state depends on the records of a key, or on all records, and on their order.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "streams.h"

#include "stages/spec.h"

namespace lab::test {

struct Record {
  std::int64_t ts;
  std::int64_t key;
  std::int32_t mark;
  std::int64_t value;
  friend bool operator==(const Record&, const Record&) = default;
};
inline bool before(const Record& a, const Record& b) {
  return std::tie(a.ts, a.key, a.mark, a.value) < std::tie(b.ts, b.key, b.mark, b.value);
}
inline const std::vector<std::int32_t> kItemsizes{8, 8, 4, 8};

struct KeyState {
  std::int64_t count;
  std::int64_t sum;
};

struct Behaviour {
  StageSpec::Kind kind = StageSpec::Kind::kStateless;
  std::int64_t keys = 7;  // the key of a record here is its `key` modulo this
  std::int32_t partitions = 4;
  std::int64_t tenths = 10;  // on average, the operator forwards this many of ten records
  std::int64_t copies = 1;   // copies of each forwarded record
  std::int64_t max_outputs = 1;
  std::int64_t spins = 0;                                             // loop rounds that a record costs
  std::int64_t raises_at = std::numeric_limits<std::int64_t>::min();  // kernels fail at this value
  bool key_raises = false;
};
constexpr std::size_t kMaxOperators = 4;
inline std::array<Behaviour, kMaxOperators> behaviours;  // set before threads start
// Number of calls of partition kernels. relaxed: read after the end of the threads.
inline std::atomic<std::int64_t> divisions{0};

inline std::int64_t key_in(const Behaviour& op, const Record& record) {
  return (record.key % op.keys + op.keys) % op.keys;
}

inline std::uint64_t mixed(std::int64_t a) {
  auto x = static_cast<std::uint64_t>(a) * 0x9e3779b97f4a7c15U;
  return x ^ (x >> 31);
}

inline std::uint64_t partition_of(std::int64_t key, std::int64_t partitions) {
  return mixed(key) % static_cast<std::uint64_t>(partitions);
}

// a * factor + b, modulo 2^64.
inline std::int64_t wrapped(std::int64_t a, std::uint64_t factor, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * factor + static_cast<std::uint64_t>(b));
}

// Calls emit(record) for each output. `state` is null for an operator without state.
template <typename Emit>
void apply(const Behaviour& op, const Record& record, KeyState* state, Emit emit) {
  std::int64_t seen = 0;
  if (state != nullptr) {
    state->count += 1;
    state->sum = wrapped(state->sum, 3, record.value);  // not commutative: the order shows
    seen = state->sum ^ state->count;
  }
  if (static_cast<std::int64_t>(mixed(record.value + 11) % 10) >= op.tenths) return;
  for (std::int64_t n = 0; n < op.copies; ++n) {
    const auto mark = static_cast<std::int32_t>(record.mark * 2 + n);
    emit(Record{record.ts, record.key + n, mark, wrapped(record.value, 5, wrapped(seen, 1, n))});
  }
}

template <std::size_t kOperator>
std::int64_t process(const StageCall* call, std::int64_t begin, std::int64_t end, Emit* out) {
  const Behaviour& op = behaviours[kOperator];
  const auto* ts = static_cast<const std::int64_t*>(call->columns[0]);
  const auto* key = static_cast<const std::int64_t*>(call->columns[1]);
  const auto* mark = static_cast<const std::int32_t*>(call->columns[2]);
  const auto* value = static_cast<const std::int64_t*>(call->columns[3]);
  for (std::int64_t i = begin; i < end; ++i) {
    if (out->capacity - out->count < op.max_outputs) return i + 1;
    const std::int32_t k = call->order != nullptr ? call->order[i] : static_cast<std::int32_t>(i);
    const std::int64_t row = call->base + k;
    const Record record{ts[row], key[row], mark[row], value[row]};
    if (record.value == op.raises_at) return 0;
    void* memory = call->state;
    if (op.kind == StageSpec::Kind::kPartitioned) {
      const std::int64_t its_key = key_in(op, record);
      const std::uint64_t table = partition_of(its_key, call->partitions);
      if (op.key_raises) return 0;
      memory = call->find(static_cast<KeyStates*>(memory) + table, its_key);
      if (memory == nullptr) return i + 1;
    }
    KeyState* state = static_cast<KeyState*>(memory);
    volatile std::int64_t burnt = 0;
    for (std::int64_t s = 0; s < op.spins; ++s) burnt = burnt + s;
    std::int64_t emitted = 0;
    apply(op, record, state, [&](const Record& output) {
      if (++emitted > op.max_outputs || out->count == out->capacity) {
        ++out->refused;
        return;
      }
      static_cast<std::int64_t*>(out->columns[0])[out->count] = output.ts;
      static_cast<std::int64_t*>(out->columns[1])[out->count] = output.key;
      static_cast<std::int32_t*>(out->columns[2])[out->count] = output.mark;
      static_cast<std::int64_t*>(out->columns[3])[out->count] = output.value;
      call->sources[out->count] = k;
      ++out->count;
    });
  }
  return end + 1;
}

template <std::size_t kOperator>
std::int64_t partition(const void* const* columns, std::int64_t base, std::int64_t records, std::int64_t partitions,
                       std::int32_t* result) {
  const Behaviour& op = behaviours[kOperator];
  divisions.fetch_add(1, std::memory_order_relaxed);
  if (op.key_raises) return 0;
  const auto* key = static_cast<const std::int64_t*>(columns[1]);
  for (std::int64_t i = 0; i < records; ++i) {
    const std::int64_t its_key = key_in(op, Record{0, key[base + i], 0, 0});
    result[i] = static_cast<std::int32_t>(partition_of(its_key, partitions));
  }
  return records + 1;
}

inline constexpr std::array<StageKernel, kMaxOperators> kProcess{&process<0>, &process<1>, &process<2>, &process<3>};
inline constexpr std::array<PartitionKernel, kMaxOperators> kPartition{&partition<0>, &partition<1>, &partition<2>,
                                                                       &partition<3>};

inline StageSpec stage_of(std::size_t index) {
  const Behaviour& op = behaviours[index];
  StageSpec spec;
  spec.name = "number " + std::to_string(index);
  spec.kind = op.kind;
  spec.process = kProcess[index];
  spec.itemsizes = kItemsizes;
  spec.max_outputs = op.max_outputs;
  if (op.kind != StageSpec::Kind::kStateless) spec.state_bytes = sizeof(KeyState);
  if (op.kind == StageSpec::Kind::kPartitioned) {
    spec.partition = kPartition[index];
    spec.partitions = op.partitions;
  }
  return spec;
}

// One stream's columns.
struct Rows : Times {
  std::vector<std::int64_t> key, value;
  std::vector<std::int32_t> mark;

  void add(const Record& record) {
    ts.push_back(record.ts);
    key.push_back(record.key);
    mark.push_back(record.mark);
    value.push_back(record.value);
  }
  Record at(std::size_t i) const { return {ts[i], key[i], mark[i], value[i]}; }
  // The columns must outlive the view.
  StreamView view() const {
    StreamView result;
    show_in(result);
    result.columns = {ts.data(), key.data(), mark.data(), value.data()};
    return result;
  }
};

// Streams with many ties, of different lengths; keys below `keys`.
inline std::vector<Rows> random_streams(std::mt19937& random, int streams, int max_rows, std::int64_t keys, int gap) {
  const auto pick = [&](int from, int to) { return std::uniform_int_distribution<int>(from, to)(random); };
  std::vector<Rows> result(static_cast<std::size_t>(streams));
  for (Rows& rows : result) {
    std::int64_t ts = pick(-20, 20);
    for (int i = pick(0, max_rows); i > 0; --i) {
      ts += pick(0, 2) == 0 ? pick(0, gap) : 0;
      rows.add({ts, pick(0, static_cast<int>(keys) - 1), pick(0, 9), pick(-50, 50)});
    }
  }
  return result;
}

// Sends each record through the whole pipeline before the next.
inline std::vector<Record> oracle(const std::vector<Rows>& streams, std::size_t operators) {
  std::array<std::map<std::int64_t, KeyState>, kMaxOperators> states;
  std::vector<Record> answer;
  const auto push = [&](const auto& self, std::size_t index, const Record& record) -> void {
    if (index == operators) {
      answer.push_back(record);
      return;
    }
    const Behaviour& op = behaviours[index];
    KeyState* state = nullptr;
    if (op.kind == StageSpec::Kind::kStateful) state = &states[index][0];
    if (op.kind == StageSpec::Kind::kPartitioned) state = &states[index][key_in(op, record)];
    apply(op, record, state, [&](const Record& output) { self(self, index + 1, output); });
  };
  for (const Order& event : total_order(streams)) push(push, 0, streams[event.stream].at(event.row));
  return answer;
}

// Draws `operators` behaviours; at most one of them forwards many records.
inline void draw_behaviours(std::mt19937& random, std::size_t operators) {
  const auto pick = [&](int from, int to) { return std::uniform_int_distribution<int>(from, to)(random); };
  using Kind = StageSpec::Kind;
  const auto many = static_cast<std::size_t>(pick(0, static_cast<int>(operators) - 1));
  for (std::size_t i = 0; i < operators; ++i) {
    Behaviour& op = behaviours[i];
    op = {};
    const std::array kinds{Kind::kStateless, Kind::kPartitioned, Kind::kPartitioned, Kind::kStateful};
    op.kind = kinds[static_cast<std::size_t>(pick(0, 3))];
    op.keys = pick(0, 2) == 0 ? 1 : pick(1, 30);
    op.partitions = pick(0, 2) == 0 ? 1 : pick(1, 40);
    op.tenths = std::array{0, 1, 3, 6, 10, 10}[static_cast<std::size_t>(pick(0, 5))];
    if (i == many && pick(0, 1) == 1) op.copies = pick(2, 20);
    op.max_outputs = op.copies + (pick(0, 1) == 1 ? pick(0, 9) : 0);
    op.spins = pick(0, 2) == 0 ? pick(0, 200) : 0;
  }
}

template <typename Run>
std::vector<Record> collected(const Run& runtime) {
  const auto count = static_cast<std::size_t>(runtime.rows());
  std::vector<std::int64_t> ts(count), key(count), value(count);
  std::vector<std::int32_t> mark(count);
  void* columns[] = {ts.data(), key.data(), mark.data(), value.data()};
  runtime.collect(columns);
  std::vector<Record> result;
  for (std::size_t i = 0; i < count; ++i) result.push_back({ts[i], key[i], mark[i], value[i]});
  return result;
}

// A run with the first `operators` behaviours and these streams. The columns of the streams must outlive it.
template <typename Run, typename Options>
std::unique_ptr<Run> run_of(Options options, const std::vector<Rows>& streams, std::size_t operators) {
  options.input_itemsizes = kItemsizes;
  auto runtime = std::make_unique<Run>(std::move(options));
  for (std::size_t i = 0; i < operators; ++i) runtime->add_stage(stage_of(i));
  for (const Rows& rows : streams) runtime->add_stream(rows.view());
  return runtime;
}

}  // namespace lab::test
