// Implements one vertex on one worker; see dataflow/instance.h.
#include "dataflow/instance.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>

#include "run/errors.h"

namespace lab {

std::byte* FlowTable::make(void* table, std::int64_t key) {
  auto* self = static_cast<FlowTable*>(table);
  try {
    return self->table_.find(key, self->stride_).entry;
  } catch (const std::bad_alloc&) {  // an exception must not pass through compiled code, which cannot be unwound
    self->starved_ = true;
    return nullptr;
  }
}

FlowInstance::FlowInstance(const FlowSpec& spec, const Markers& markers, WorkMeter& meter,
                           const std::atomic<bool>& stop, std::int32_t worker, bool has_due)
    : spec_(spec),
      markers_(markers),
      meter_(meter),
      stop_(stop),
      worker_(worker),
      has_due_(has_due),
      table_(spec.entry_bytes),
      start_(static_cast<std::size_t>(spec.start_bytes + 7) / 8),
      mover_(spec.itemsizes) {
  const std::int64_t rows = std::max(kRows, spec.max_outputs);
  buffer_.shape(spec.itemsizes, rows);
  buffer_.touch();
  sources_.resize(static_cast<std::size_t>(rows));
  output_due_.resize(static_cast<std::size_t>(has_due ? rows : 0));
  permuted_.resize(spec.itemsizes.size());
  if (spec.kind == FlowSpec::Kind::kSort) sorter_.emplace(spec);
  if (spec.start != nullptr && spec.start(start_.data(), 0) != kDone) {
    throw std::runtime_error(spec.called() + "its initial_state raised an exception");
  }
  if (!spec.initial_state) return;
  const std::span<std::byte> start = std::as_writable_bytes(std::span(start_));
  if (spec.initial_state->start.size() != start.size())
    throw std::invalid_argument(spec.called() + "the state to resume from has " +
                                std::to_string(spec.initial_state->start.size()) + " bytes; expected " +
                                std::to_string(start.size()));
  std::copy(spec.initial_state->start.begin(), spec.initial_state->start.end(), start.begin());
  table_.assign(spec.initial_state->entries);
}

FlowSpec::KeyedState FlowInstance::state() const {
  const auto start = std::as_bytes(std::span(start_));
  const auto entries = table_.entries();
  return {{start.begin(), start.end()}, {entries.begin(), entries.end()}};
}

void FlowInstance::take(const FlowPiece& piece) {
  if (sorter_) return sorter_->store(piece, block_);
  if (spec_.items == nullptr) return forward(piece);
  FlowCall call{};
  call.columns = piece.columns;
  call.base = piece.base;
  process(spec_.items, call, piece.rows, &piece);
}

void FlowInstance::take_words(const FlowPiece& piece) {
  const auto* words = static_cast<const std::uint64_t*>(piece.columns[0]) + piece.base;
  sorter_->store({words, static_cast<std::size_t>(piece.rows)});
}

void FlowInstance::end_block() {
  if (sorter_) emit_sorted();
  if (spec_.markers != nullptr) {
    FlowCall call{};
    call.marker = markers_.end_of(block_);
    const bool has_keys = spec_.kind != FlowSpec::Kind::kStateless;
    // A stateless operator is called once per marker, at its first instance.
    process(spec_.markers, call, has_keys ? table_.keys() : worker_ == 0 ? 1 : 0, nullptr);
  }
  if (spec_.kind == FlowSpec::Kind::kPartial) table_.clear();
  if (spec_.start != nullptr && spec_.start(start_.data(), 1) != kDone) {
    throw std::runtime_error(spec_.called() + "its update_state or identity raised an exception");
  }
  ++block_;
  for (FlowInstance* reader : readers_) reader->end_block();
}

void FlowInstance::end() {
  ended_ = true;
  for (FlowInstance* reader : readers_) reader->end();
}

void FlowInstance::flush() {
  for (Exchange& exchange : exchanges_) {
    for (const FlowLinks* links : {&exchange.links, &exchange.words}) {
      for (const auto& link : *links) link->flush(ended_ ? kEndOfTime : block_);
    }
  }
  for (FlowInstance* reader : readers_) reader->flush();
}

bool FlowInstance::full() noexcept {
  for (Exchange& exchange : exchanges_) {
    for (const FlowLinks* links : {&exchange.links, &exchange.words}) {
      if (std::any_of(links->begin(), links->end(), [](const auto& link) { return link->full(); })) return true;
    }
  }
  return std::any_of(readers_.begin(), readers_.end(), [](FlowInstance* reader) { return reader->full(); });
}

std::int64_t FlowInstance::marker_due() const noexcept {
  return meter_.recorder.start() + (*known_times_)[static_cast<std::size_t>(block_)];
}

// Throws an error if a kernel call at `position`, which returned `next`, has failed.
void FlowInstance::check(std::int64_t next, std::int64_t position, const Emit& emit) const {
  if (next < position) throw std::runtime_error(spec_.called() + "one of its functions raised an exception");
  if (emit.refused != 0) {
    throw std::runtime_error(spec_.called() + "a function emitted " + std::to_string(emit.refused) +
                             " pairs beyond max_outputs; raise it in the operator");
  }
  if (!table_.starved()) return;
  const bool has_name = !spec_.name.empty();  // build the message without an allocation, since memory is exhausted
  throw NoMemory(
      "%s%s%sout of memory: its table of %lld keys, %zu MiB, cannot grow to %zu MiB; use fewer keys, a "
      "smaller state, or more memory",
      has_name ? "operator " : "", spec_.name.c_str(), has_name ? ": " : "", static_cast<long long>(table_.keys()),
      table_.bytes() >> 20, table_.growth_bytes() >> 20);
}

// Throws std::runtime_error if an output from row `first` on does not have the key of its item or entry.
void FlowInstance::check_keys(const FlowPiece* from, const Emit& emit, std::int64_t first) const {
  const auto* emitted_keys = static_cast<const std::int64_t*>(emit.columns[0]);
  const auto* input_keys = from == nullptr ? nullptr : static_cast<const std::int64_t*>(from->columns[1]) + from->base;
  for (std::int64_t i = first; i < emit.count; ++i) {
    const std::int32_t source = sources_[static_cast<std::size_t>(i - first)];
    const std::int64_t key = input_keys == nullptr ? table_.key(source) : input_keys[source];
    if (emitted_keys[i] == key) continue;
    throw std::runtime_error(spec_.called() + "a function at key " + std::to_string(key) + " emitted a pair of key " +
                             std::to_string(emitted_keys[i]) +
                             "; an OpKeyedOrdered keeps keys, only an OpStateless changes them");
  }
}

// Returns the due times of the last `rows` outputs, valid until the next call, or null if rows carry none. `from`: see
// `process`.
const std::int64_t* FlowInstance::due_of(std::int64_t rows, const FlowPiece* from) {
  if (!has_due_) return nullptr;
  for (std::int64_t i = 0; i < rows; ++i) {
    output_due_[static_cast<std::size_t>(i)] =
        from == nullptr ? marker_due() : from->due[sources_[static_cast<std::size_t>(i)]];
  }
  return output_due_.data();
}

void FlowInstance::process(FlowKernel kernel, FlowCall& call, std::int64_t count, const FlowPiece* from) {
  call.table = &table_;
  call.start = start_.data();
  call.make = &FlowTable::make;
  call.sources = sources_.data();
  for (std::int64_t position = 0; position < count;) {
    throw_if_stopped(stop_);
    // Write rows that leave the graph directly to their final place.
    Emit* const sink = outputs_ != nullptr ? outputs_->open(spec_.max_outputs) : nullptr;
    void* const* columns = sink != nullptr ? sink->columns : buffer_.columns();
    const std::int64_t first = sink != nullptr ? sink->count : 0;
    std::copy_n(columns, permuted_.size(), permuted_.begin());
    if (spec_.keyed) std::swap(permuted_[0], permuted_[1]);
    Emit emit{};
    emit.columns = permuted_.data();
    emit.count = first;
    emit.capacity = first + buffer_.capacity();
    if (sink != nullptr) emit.capacity = std::min(emit.capacity, sink->capacity);
    ++meter_.counters.kernel_calls;
    const std::int64_t next = kernel(&call, position, count, &emit) - 1;
    check(next, position, emit);
    if (next == position) throw std::runtime_error(spec_.called() + "its functions make no progress");
    if (spec_.keeps_key) check_keys(from, emit, first);
    position = next;
    const std::int64_t rows = emit.count - first;
    if (rows == 0) continue;
    const std::int64_t* due = due_of(rows, from);
    if (sink == nullptr) {
      forward({buffer_.columns(), 0, rows, due});
    } else {
      sink->count = emit.count;
      outputs_->close(number_, number_, 0, false);
      note_latency(due, rows);
    }
  }
}

void FlowInstance::forward(const FlowPiece& piece) {
  for (FlowInstance* reader : readers_) reader->take(piece);
  for (Exchange& exchange : exchanges_) send(exchange, piece);
  if (outputs_ != nullptr) collect(piece);
}

void FlowInstance::send(Exchange& exchange, const FlowPiece& piece) {
  exchanged_ += piece.rows;
  FlowLinks& links = exchange.links;
  if (exchange.route == FlowSpec::Route::kDeal && links.size() > 1) {
    for (std::int64_t row = 0; row < piece.rows; row += kRowsInTurn) {
      const std::int64_t* due = piece.due == nullptr ? nullptr : piece.due + row;
      links[exchange.next]->append({piece.columns, piece.base + row, std::min(kRowsInTurn, piece.rows - row), due},
                                   block_);
      exchange.next = (exchange.next + 1) % links.size();
    }
    return;
  }
  if (exchange.packer) {
    const auto words = exchange.packer->pack(piece, block_);
    if (!words.empty()) return send_words(exchange, piece, words);
  }
  if (links.size() == 1 || !spec_.keyed) {
    links.front()->append(piece, block_);
    return;
  }
  const auto degree = links.size();
  lists_.resize(degree * static_cast<std::size_t>(piece.rows));
  counts_.assign(degree, 0);
  const auto* keys = static_cast<const std::int64_t*>(piece.columns[1]) + piece.base;
  for (std::int64_t i = 0; i < piece.rows; ++i) {
    const auto to = static_cast<std::size_t>(exchange.owners->owner_of(keys[i]));
    lists_[to * static_cast<std::size_t>(piece.rows) + static_cast<std::size_t>(counts_[to]++)] =
        static_cast<std::int32_t>(i);
  }
  for (std::size_t to = 0; to < degree; ++to) {
    if (counts_[to] == 0) continue;
    links[to]->append(piece, lists_.data() + to * static_cast<std::size_t>(piece.rows), counts_[to], block_);
  }
}

void FlowInstance::send_words(Exchange& exchange, const FlowPiece& piece, std::span<const std::uint64_t> words) {
  packed_ += piece.rows;
  const std::size_t degree = exchange.words.size();
  const auto append = [&](std::size_t to, const std::uint64_t* from, std::int64_t rows) {
    const void* const columns[] = {from};
    if (rows != 0) exchange.words[to]->append({columns, 0, rows, nullptr}, block_);
  };
  if (degree == 1) return append(0, words.data(), piece.rows);
  words_by_instance_.resize(degree * words.size());
  counts_.assign(degree, 0);
  std::uint64_t* const by_instance = words_by_instance_.data();
  const auto* keys = static_cast<const std::int64_t*>(piece.columns[1]) + piece.base;
  if (degree == 2) {  // write each word to both lists and advance one end, so that no count in memory waits for another
    std::size_t ends[2] = {0, words.size()};
    for (std::size_t i = 0; i < words.size(); ++i) {
      const auto second = static_cast<std::size_t>(exchange.owners->owner_of(keys[i]));
      by_instance[ends[0]] = words[i];
      by_instance[ends[1]] = words[i];
      ends[0] += 1 - second;
      ends[1] += second;
    }
    counts_ = {static_cast<std::int64_t>(ends[0]), static_cast<std::int64_t>(ends[1] - words.size())};
  } else {
    for (std::size_t i = 0; i < words.size(); ++i) {
      const auto to = static_cast<std::size_t>(exchange.owners->owner_of(keys[i]));
      by_instance[to * words.size() + static_cast<std::size_t>(counts_[to]++)] = words[i];
    }
  }
  for (std::size_t to = 0; to < degree; ++to) append(to, words_by_instance_.data() + to * words.size(), counts_[to]);
}

// Appends rows to the answer.
void FlowInstance::collect(const FlowPiece& piece) {
  for (std::int64_t copied = 0; copied < piece.rows;) {
    Emit* emit = outputs_->open(1);
    const std::int64_t rows = std::min(piece.rows - copied, emit->capacity - emit->count);
    mover_.copy(emit->columns, emit->count, piece.columns, piece.base + copied, rows);
    emit->count += rows;
    outputs_->close(number_, number_, 0, false);
    copied += rows;
  }
  note_latency(piece.due, piece.rows);
}

void FlowInstance::note_latency(const std::int64_t* due, std::int64_t rows) noexcept {
  Recorder& recorder = meter_.recorder;
  if (due == nullptr) {
    recorder.output(recorder.now(), rows);
    return;
  }
  recorder.tick();
  for (std::int64_t i = 0; i < rows;) {
    std::int64_t end = i + 1;
    while (end < rows && due[end] == due[i]) ++end;
    recorder.output(due[i], end - i);
    i = end;
  }
}

void FlowInstance::emit_sorted() {
  sorter_->sort(block_);
  for (std::int64_t row = 0; row < sorter_->rows();) {
    const std::int64_t rows = std::min(buffer_.capacity(), sorter_->rows() - row);
    sorter_->copy_sorted(row, rows, buffer_.columns());
    forward({buffer_.columns(), 0, rows, due_of(rows, nullptr)});
    row += rows;
  }
  sorter_->clear();
}

}  // namespace lab
