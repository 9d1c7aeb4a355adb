// Typed dataflow graphs with native kernels for the tests, random ones, and the answer of one thread.
//
// Rows are those of stages/tests/stage_cases.h, and all vertices are keyed. `item` and `marker` define the operators'
// work at an item and at a marker, for both the kernels and the oracle.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "dataflow/dataflow_run.h"
#include "stages/tests/stage_cases.h"

namespace lab::test {

using Kind = FlowSpec::Kind;
using Route = FlowSpec::Route;

struct FlowEntry {  // the entry of a key
  std::int64_t state;
  std::int64_t sum;  // sum of the block
};

struct FlowVertex {
  Kind kind = Kind::kSource;
  Route route = Route::kForward;
  std::vector<std::int32_t> inputs = {};
  std::int32_t degree = 1;
  bool is_answer = false;
  bool ordered = false;      // kKeyed: whether its state depends on the order of items
  std::int64_t keys = 7;     // kStateless: number of keys of its outputs
  std::int64_t tenths = 10;  // kStateless: about this many of ten items are passed on
  std::int64_t copies = 1;   // kStateless: outputs for each item passed on
  std::int64_t max_outputs = 1;
  bool items = true;                                                  // kKeyed: whether it emits at items
  bool marks = true;                                                  // whether it emits at markers
  std::int64_t spins = 0;                                             // time that an item takes
  std::int64_t raises_at = std::numeric_limits<std::int64_t>::min();  // its kernel fails at this value
  std::int64_t wrong_keys = 0;  // kKeyed: 1 adds 1 to the keys of outputs at items, 2 to those at markers
};
constexpr std::size_t kMaxVertices = 10;
inline std::array<FlowVertex, kMaxVertices> vertices;  // set before threads start

inline std::int64_t plus(std::int64_t a, std::int64_t b) { return wrapped(a, 1, b); }

// The state of a key before its first item, after `passed` markers without it.
inline std::int64_t state_before(const FlowVertex& vertex, std::int64_t passed) {
  std::int64_t state = 7;
  for (std::int64_t i = 0; i < passed && !vertex.ordered; ++i) state = wrapped(state, 3, 1);
  return state;
}

// Calls emit(record) for each output of an operator at an item.
template <typename EmitOutput>
void item(const FlowVertex& vertex, const Record& record, FlowEntry* entry, EmitOutput emit) {
  if (vertex.kind == Kind::kStateless) {
    if (static_cast<std::int64_t>(mixed(record.value + 11) % 10) >= vertex.tenths) return;
    for (std::int64_t n = 0; n < vertex.copies; ++n) {
      const auto key = static_cast<std::int64_t>(mixed(record.key + n) % static_cast<std::uint64_t>(vertex.keys));
      emit(Record{record.ts, key, static_cast<std::int32_t>(record.mark * 2 + n), wrapped(record.value, 5, n)});
    }
    return;
  }
  if (vertex.kind == Kind::kPartial) {
    entry->sum = plus(entry->sum, record.value);
    return;
  }
  if (vertex.ordered) {
    entry->state = wrapped(entry->state, 3, plus(record.value, record.ts));
  } else {
    entry->sum = plus(entry->sum, record.value);
  }
  if (vertex.items)
    emit(Record{record.ts, record.key + (vertex.wrong_keys & 1), record.mark, plus(entry->state, record.value)});
}

// Calls emit(record) for each output of an operator at a marker, for a key; `entry` is null for kStateless.
template <typename EmitOutput>
void marker(const FlowVertex& vertex, std::int64_t ts, std::int64_t key, FlowEntry* entry, EmitOutput emit) {
  if (vertex.kind == Kind::kStateless) {
    emit(Record{ts, 3, -1, ts});
    return;
  }
  if (vertex.kind == Kind::kPartial) {
    emit(Record{ts, key, 0, entry->sum});
    return;
  }
  entry->state = vertex.ordered ? wrapped(entry->state, 5, ts) : wrapped(entry->state, 3, plus(entry->sum, 1));
  entry->sum = 0;
  if (vertex.marks) emit(Record{ts, key + vertex.wrong_keys / 2, -2, entry->state});
}

// Emits pairs as compiled functions do: the key first, and at most as many pairs as there is room for.
class FlowOut {
 public:
  FlowOut(const FlowCall& call, Emit& out, std::int64_t max_outputs)
      : call_(call), out_(out), first_(out.count), max_outputs_(max_outputs) {}

  bool room() const { return out_.capacity - out_.count >= max_outputs_; }
  void begin(std::int64_t source) {
    source_ = source;
    emitted_ = 0;
  }
  void emit(const Record& record) {
    if (++emitted_ > max_outputs_ || out_.count == out_.capacity) {
      ++out_.refused;
      return;
    }
    static_cast<std::int64_t*>(out_.columns[0])[out_.count] = record.key;
    static_cast<std::int64_t*>(out_.columns[1])[out_.count] = record.ts;
    static_cast<std::int32_t*>(out_.columns[2])[out_.count] = record.mark;
    static_cast<std::int64_t*>(out_.columns[3])[out_.count] = record.value;
    call_.sources[out_.count - first_] = static_cast<std::int32_t>(source_);
    ++out_.count;
  }

 private:
  const FlowCall& call_;
  Emit& out_;
  const std::int64_t first_;
  const std::int64_t max_outputs_;
  std::int64_t source_ = 0;
  std::int64_t emitted_ = 0;
};

template <std::size_t kVertex>
std::int64_t items_kernel(const FlowCall* call, std::int64_t begin, std::int64_t end, Emit* emit) {
  const FlowVertex& vertex = vertices[kVertex];
  FlowOut out(*call, *emit, vertex.max_outputs);
  const auto column = [&](std::size_t c) { return static_cast<const std::int64_t*>(call->columns[c]); };
  for (std::int64_t i = begin; i < end; ++i) {
    if (!out.room()) return i + 1;
    const std::int64_t row = call->base + i;
    const auto* mark = static_cast<const std::int32_t*>(call->columns[2]);
    const Record record{column(0)[row], column(1)[row], mark[row], column(3)[row]};
    if (record.value == vertex.raises_at) return 0;
    volatile std::int64_t burnt = 0;
    for (std::int64_t s = 0; s < vertex.spins; ++s) burnt = burnt + s;
    FlowEntry* entry = nullptr;
    if (vertex.kind != Kind::kStateless) {
      std::byte* const found = call->make(call->table, record.key);
      if (found == nullptr) return i + 1;
      auto* const stamp = reinterpret_cast<std::int64_t*>(found);
      entry = reinterpret_cast<FlowEntry*>(found + FlowTable::kHeadBytes);
      if (*stamp != 0) {  // just made
        CHECK(stamp[1] == record.key && entry->state == 0 && entry->sum == 0);
        *stamp = 0;
        if (vertex.kind == Kind::kKeyed) entry->state = *static_cast<const std::int64_t*>(call->start);
      }
    }
    out.begin(i);
    item(vertex, record, entry, [&](const Record& output) { out.emit(output); });
  }
  return end + 1;
}

template <std::size_t kVertex>
std::int64_t marks_kernel(const FlowCall* call, std::int64_t begin, std::int64_t end, Emit* emit) {
  const FlowVertex& vertex = vertices[kVertex];
  FlowOut out(*call, *emit, vertex.max_outputs);
  std::byte* const entries = static_cast<const WindowIndex*>(call->table)->entries;
  for (std::int64_t i = begin; i < end; ++i) {
    if (!out.room()) return i + 1;
    out.begin(i);
    FlowEntry* entry = nullptr;
    std::int64_t key = 0;
    if (vertex.kind != Kind::kStateless) {
      const std::size_t bytes = vertex.kind == Kind::kPartial || vertex.kind == Kind::kKeyed ? sizeof(FlowEntry) : 0;
      std::byte* const head = entries + static_cast<std::size_t>(i) * (FlowTable::kHeadBytes + bytes);
      key = WindowTable::key_of(head);
      entry = reinterpret_cast<FlowEntry*>(head + FlowTable::kHeadBytes);
    }
    marker(vertex, call->marker, key, entry, [&](const Record& output) { out.emit(output); });
  }
  return end + 1;
}

template <std::size_t kVertex>
std::int64_t start_kernel(void* start, std::int64_t passed) {
  auto* const state = static_cast<std::int64_t*>(start);
  if (passed == 0) *state = state_before(vertices[kVertex], 0);
  if (passed == 1 && !vertices[kVertex].ordered) *state = wrapped(*state, 3, 1);
  return kDone;
}

template <std::size_t... kVertex>
FlowSpec spec_of(std::size_t index, std::index_sequence<kVertex...>) {
  static constexpr FlowKernel kItems[] = {&items_kernel<kVertex>...};
  static constexpr FlowKernel kMarks[] = {&marks_kernel<kVertex>...};
  static constexpr StartKernel kStart[] = {&start_kernel<kVertex>...};
  const FlowVertex& vertex = vertices[index];
  FlowSpec spec;
  spec.name = "number " + std::to_string(index);
  spec.kind = vertex.kind;
  spec.route = vertex.route;
  spec.inputs = vertex.inputs;
  spec.degree = vertex.degree;
  spec.is_answer = vertex.is_answer;
  spec.keyed = true;
  spec.itemsizes = kItemsizes;
  spec.max_outputs = vertex.max_outputs;
  if (vertex.kind == Kind::kSort) {
    spec.fields.assign(kItemsizes.size(), FlowSpec::Field::kSigned);
    spec.descending.assign(kItemsizes.size(), 0);
    spec.order = {1, 0};
    for (std::size_t c = 2; c < kItemsizes.size(); ++c) spec.order.push_back(static_cast<std::int32_t>(c));
  }
  if (vertex.kind == Kind::kSource || vertex.kind == Kind::kSort) return spec;
  spec.items = kItems[index];
  if (vertex.kind != Kind::kStateless || vertex.marks) spec.markers = kMarks[index];
  if (vertex.kind == Kind::kStateless) return spec;
  spec.entry_bytes = sizeof(FlowEntry);
  spec.keeps_key = vertex.ordered;
  if (vertex.kind == Kind::kPartial) return spec;
  spec.start = kStart[index];
  spec.start_bytes = sizeof(std::int64_t);
  return spec;
}

inline FlowSpec flow_spec(std::size_t index) { return spec_of(index, std::make_index_sequence<kMaxVertices>()); }

// Streams, and the source of each.
struct FlowInput {
  std::vector<Rows> streams;
  std::vector<std::int32_t> sources;
};

// The markers of an input, computed like lab::Markers.
inline Markers markers_of(const FlowInput& input, std::int64_t period) {
  const auto order = total_order(input.streams);
  Markers markers;
  markers.period = period;
  if (order.empty()) return markers;
  const std::int64_t first_ts = order.front().ts;
  const std::int64_t whole = first_ts / period - (first_ts % period < 0 ? 1 : 0);
  markers.first = (whole + 1) * period;
  const std::int64_t last = order.back().ts;
  if (last >= markers.first) markers.count = (last - markers.first) / period + 1;
  return markers;
}

// A run of the first `count` of `vertices`, on an input whose columns must outlive it.
inline std::unique_ptr<DataflowRun> flow_of(DataflowOptions options, const FlowInput& input, std::size_t count) {
  auto run = std::make_unique<DataflowRun>(std::move(options));
  for (std::size_t v = 0; v < count; ++v) run->add_vertex(flow_spec(v));
  for (std::size_t s = 0; s < input.streams.size(); ++s) {
    run->add_stream(input.streams[s].view(), input.sources[s]);
  }
  return run;
}

// Returns the answer, computed vertex by vertex and block by block, with one instance each.
inline std::vector<Record> flow_oracle(const FlowInput& input, const Markers& markers, std::size_t count) {
  std::array<std::map<std::int64_t, FlowEntry>, kMaxVertices> tables;
  std::vector<Record> answer;
  std::vector<std::size_t> next_rows(input.streams.size());  // first row of each stream beyond earlier blocks
  for (std::int64_t block = 0; block <= markers.count; ++block) {
    std::array<std::vector<Record>, kMaxVertices> outputs;
    const std::int64_t end = markers.end_of(block);
    const bool closed = block < markers.count;
    for (std::size_t v = 0; v < count; ++v) {
      const FlowVertex& vertex = vertices[v];
      auto& out = outputs[v];
      std::vector<Record> in;
      for (const std::int32_t from : vertex.inputs) {
        const auto& rows = outputs[static_cast<std::size_t>(from)];
        in.insert(in.end(), rows.begin(), rows.end());
      }
      const auto emit = [&](const Record& output) { out.push_back(output); };
      if (vertex.kind == Kind::kSource) {
        for (std::size_t s = 0; s < next_rows.size(); ++s) {
          const Rows& rows = input.streams[s];
          if (input.sources[s] != static_cast<std::int32_t>(v)) continue;
          for (; next_rows[s] < rows.ts.size() && rows.ts[next_rows[s]] < end; ++next_rows[s])
            emit(rows.at(next_rows[s]));
        }
      } else if (vertex.kind == Kind::kSort) {
        const auto is_before = [](const Record& a, const Record& b) {
          return std::tie(a.key, a.ts, a.mark, a.value) < std::tie(b.key, b.ts, b.mark, b.value);
        };
        std::sort(in.begin(), in.end(), is_before);
        if (closed) out = in;
      } else {
        auto& table = tables[v];
        for (const Record& record : in) {
          FlowEntry* entry = nullptr;
          if (vertex.kind != Kind::kStateless) {
            const auto [found, created] = table.try_emplace(record.key, FlowEntry{0, 0});
            entry = &found->second;
            if (created && vertex.kind == Kind::kKeyed) entry->state = state_before(vertex, block);
          }
          item(vertex, record, entry, emit);
        }
        if (!closed) {
        } else if (vertex.kind == Kind::kStateless) {
          if (vertex.marks) marker(vertex, end, 0, nullptr, emit);
        } else {
          for (auto& [key, entry] : table) marker(vertex, end, key, &entry, emit);
        }
        if (vertex.kind == Kind::kPartial) table.clear();
      }
      if (vertex.is_answer) answer.insert(answer.end(), out.begin(), out.end());
    }
  }
  return answer;
}

inline std::vector<Record> in_order(std::vector<Record> records) {
  std::sort(records.begin(), records.end(), before);
  return records;
}

}  // namespace lab::test
