// Implements the threads of a query graph; see layers/node.h.
#include "layers/node.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace lab {
namespace {

// Minimum capacity, in rows, of the buffer for the outputs of a kernel call.
constexpr std::int64_t kBufferRows = 1024;

// The latest promise before the end.
constexpr std::int64_t kLastPromise = kEndOfTime - 1;

}  // namespace

bool LayerRelay::take_turn() {
  const LayerPiece piece = in_->next(unit_);
  if (piece.rows == 0) {
    expect_pause();
    in_->relieve();
    const bool ended = in_->ended();
    const std::int64_t frontier = ended ? kEndOfTime : std::min(in_->frontier(), kLastPromise);
    const bool sent = pass_time(frontier);
    out_->promise(ended ? kEndOfTime : promised(frontier));
    return out_->settle() || sent;
  }
  process(piece);
  // More rows with the time of the last row may follow, so promise no later time.
  out_->promise(promised(static_cast<const std::int64_t*>(piece.columns[0])[piece.base + piece.rows - 1]));
  in_->pass();
  out_->count_rows(piece.rows);
  return true;
}

LayerInjector::LayerInjector(WorkMeter& meter, std::size_t stamps, std::int64_t unit, const StreamView& view,
                             std::int64_t batch, Feed* feed, std::vector<std::int32_t> itemsizes)
    : LayerProducer(meter, stamps, unit, feed != nullptr),
      view_(view),
      replay_(view, batch, feed),
      itemsizes_(std::move(itemsizes)),
      columns_((itemsizes_.empty() ? RowNumber::kColumn + 1 : itemsizes_.size()) + stamps),
      due_(static_cast<std::size_t>(unit)),
      taken_(static_cast<std::size_t>(unit)),
      numbers_(itemsizes_.empty() ? static_cast<std::size_t>(unit) : 0) {}

bool LayerInjector::take_turn() {
  Block block{};
  if (ended_ || !replay_.next(block)) {
    expect_pause();
    return out_->settle();
  }
  for (std::int64_t row = block.begin; row < block.end; row += unit_) inject(row, std::min(unit_, block.end - row));
  if (replay_.at_full_speed()) recorder().emitted(block.end - block.begin);
  ended_ = block.bound_ts == kEndOfTime;
  out_->promise(block.bound_ts);
  out_->count_rows(block.end - block.begin);
  return true;
}

// Points `columns_` to the fields of rows [begin, begin + rows), at most a unit; returns the number of columns.
std::size_t LayerInjector::point_columns(std::int64_t begin, std::int64_t rows) {
  if (itemsizes_.empty()) {
    for (std::int64_t i = 0; i < rows; ++i) {
      numbers_[static_cast<std::size_t>(i)] = RowNumber(view_.index, begin + i).value();
    }
    columns_[0] = view_.ts.data() + begin;
    columns_[RowNumber::kColumn] = numbers_.data();
    return RowNumber::kColumn + 1;
  }
  for (std::size_t c = 0; c < itemsizes_.size(); ++c) {
    columns_[c] = static_cast<const std::byte*>(view_.columns[c]) +
                  static_cast<std::size_t>(begin) * static_cast<std::size_t>(itemsizes_[c]);
  }
  return itemsizes_.size();
}

// Sends rows [begin, begin + rows), at most a unit, with their stamps.
void LayerInjector::inject(std::int64_t begin, std::int64_t rows) {
  tick(rows);
  const std::size_t fields = point_columns(begin, rows);
  if (stamps_ != 0) {
    std::fill_n(taken_.begin(), rows, recorder().now());
    columns_[fields + stamps_ - 1] = taken_.data();
  }
  if (stamps_ == 2) {
    for (std::int64_t i = 0; i < rows; ++i) {
      due_[static_cast<std::size_t>(i)] = recorder().start() + view_.due[static_cast<std::size_t>(begin + i)];
    }
    columns_[fields] = due_.data();
  }
  route_->send(*out_, columns_.data(), 0, rows);
  if (!itemsizes_.empty()) return;
  // A row may go to several instances or to none, so it counts as consumed when it is sent.
  rows_ += rows;
  recorder().consumed(static_cast<double>(rows));
}

LayerInstance::LayerInstance(WorkMeter& meter, std::size_t stamps, std::int64_t unit, bool every_time,
                             const StageSpec& spec, std::size_t fields, bool first)
    : LayerRelay(meter, stamps, unit, every_time),
      spec_(spec),
      input_fields_(fields),
      is_first_(first),
      itemsizes_(spec.itemsizes) {
  if (spec.kind == StageSpec::Kind::kStateful) state_.resize(spec.words(), 0);
  if (spec.kind == StageSpec::Kind::kPartitioned) {
    keys_ = KeyStates(spec);
    order_.resize(static_cast<std::size_t>(unit));
    std::iota(order_.begin(), order_.end(), 0);
  }
  itemsizes_.insert(itemsizes_.end(), stamps, 8);
  buffer_.shape(itemsizes_, std::max(kBufferRows, spec.max_outputs));
  buffer_.touch();
}

void LayerInstance::process(const LayerPiece& piece) {
  tick(piece.rows);
  StageCall call{};
  call.columns = piece.columns;
  call.base = piece.base;
  call.order = order_.data();
  call.sources = buffer_.sources();
  if (!state_.empty()) call.state = state_.data();
  if (spec_.kind == StageSpec::Kind::kPartitioned) keys_.serve(call);
  for (std::int64_t row = 0; row < piece.rows;) {
    Emit emit{};
    emit.columns = buffer_.columns();
    emit.capacity = buffer_.capacity();
    ++meter_.counters.kernel_calls;
    const std::int64_t next = spec_.run(call, row, piece.rows, emit);
    if (next == row) spec_.fail_without_progress();
    row = next;
    const std::size_t fields = spec_.itemsizes.size();
    for (std::size_t s = 0; s < stamps_; ++s) {
      auto* to = static_cast<std::int64_t*>(buffer_.columns()[fields + s]);
      const auto* from = static_cast<const std::int64_t*>(piece.columns[input_fields_ + s]) + piece.base;
      for (std::int64_t i = 0; i < emit.count; ++i) to[i] = from[buffer_.sources()[i]];
    }
    for (std::int64_t sent = 0; sent < emit.count; sent += unit_) {
      route_->send(*out_, buffer_.columns(), sent, std::min(unit_, emit.count - sent));
    }
  }
  rows_ += piece.rows;
  if (is_first_) recorder().consumed(static_cast<double>(piece.rows));
}

bool LayerSink::take_turn() {
  const LayerPiece piece = in_->next(unit_);
  if (piece.rows == 0) {
    expect_pause();
    in_->relieve();
    return false;
  }
  tick(piece.rows);
  std::int64_t copied = 0;
  while (copied < piece.rows) {
    Emit* emit = outputs_.open(1);
    const std::int64_t rows = std::min(piece.rows - copied, emit->capacity - emit->count);
    mover_.copy(emit->columns, emit->count, piece.columns, piece.base + copied, rows);
    emit->count += rows;
    outputs_.close(number_, number_, 0, false);  // the sink orders outputs of equal time
    copied += rows;
  }
  if (stamps_ != 0) note_latency(piece);
  in_->pass();
  return true;
}

void LayerSink::note_latency(const LayerPiece& piece) noexcept {
  const std::size_t fields = outputs_.itemsizes().size();
  const auto* due = static_cast<const std::int64_t*>(piece.columns[fields]) + piece.base;
  if (stamps_ == 1) {  // at full speed, all rows of a piece get the delivery time of the first
    recorder().output(due[0], piece.rows);
    return;
  }
  const auto* taken = static_cast<const std::int64_t*>(piece.columns[fields + 1]) + piece.base;
  for (std::int64_t i = 0; i < piece.rows;) {
    std::int64_t end = i + 1;
    while (end < piece.rows && due[end] == due[i] && taken[end] == taken[i]) ++end;
    recorder().output(due[i], end - i);
    recorder().served(due[i], taken[i], end - i);
    i = end;
  }
}

}  // namespace lab
