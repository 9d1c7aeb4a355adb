// Implements LayerOperator; see layers/operator.h.
#include "layers/operator.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

namespace lab {
namespace {

// The absolute value of every event time is below this limit (run/window.h); promises may be beyond the limit.
constexpr std::int64_t kEventTimeLimit = std::int64_t{1} << 62;

}  // namespace

LayerOperator::LayerOperator(WorkMeter& meter, std::size_t stamps, std::int64_t unit, bool every_time,
                             std::int32_t index, const LayersOperator& op, std::span<const OperatorStream> streams,
                             std::optional<std::int64_t> last_time, const std::atomic<bool>& stop,
                             std::int64_t spill_rows)
    : LayerRelay(meter, stamps, unit, every_time),
      op_(op),
      streams_(streams),
      last_time_(last_time),
      spill_(spill_rows),
      outputs_(op.itemsizes, op.spec.max_outputs),
      columns_(op.itemsizes.size() + stamps),
      due_(static_cast<std::size_t>(unit)),
      taken_(static_cast<std::size_t>(unit)) {
  if (op.spec.is_join()) {
    instance_ = std::make_unique<JoinInstance>(index, op.spec, streams, outputs_, recorder(), stop);
  } else {
    state_ = std::make_unique<WindowState>(op.spec);
    instance_ = std::make_unique<KeyedInstance>(index, op.spec, streams, outputs_, recorder(), stop, *state_, false);
  }
  instance_->adopt(op.owner.data());
  outputs_.limit_waiting(spill_);
  if (stamps == 2) instance_->forward_causes(causes_);
}

// Calls `work`; adds the operator's name to errors and counts the kernel calls.
template <typename Work>
void LayerOperator::call_guarded(Work work) {
  const std::int64_t before = instance_->kernel_calls();
  try {
    work();
  } catch (const std::exception&) {
    rethrow_of(op_.spec);
  }
  meter_.counters.kernel_calls += instance_->kernel_calls() - before;
}

void LayerOperator::process(const LayerPiece& piece) {
  tick(piece.rows);
  const auto* numbers = static_cast<const std::int64_t*>(piece.columns[RowNumber::kColumn]) + piece.base;
  for (std::int64_t i = 0; i < piece.rows; ++i) {
    const RowNumber number(numbers[i]);
    if (!runs_.empty() && runs_.back().source == number.stream() && runs_.back().end == number.row()) {
      ++runs_.back().end;
    } else {
      runs_.push_back({number.row(), number.row() + 1, number.stream(), 0});
    }
  }
  rows_ += piece.rows;
  if (stamps_ != 0) {
    const void* const stamps = piece.columns[RowNumber::kColumn + stamps_];
    taken_ns_ = static_cast<const std::int64_t*>(stamps)[piece.base + piece.rows - 1];
  }
  if (rows_ >= unit_) process_runs();
}

// Processes the collected rows and sends the outputs. Returns whether it sent any.
bool LayerOperator::process_runs() {
  call_guarded([this] { instance_->process(runs_, {}); });
  runs_.clear();
  rows_ = 0;
  return send_outputs();
}

bool LayerOperator::pass_time(std::int64_t frontier) {
  const bool sent = rows_ != 0 && process_runs();
  if (!last_time_ || frontier == LayerLink::kNoPromise) return sent;
  // Promises may lie after the last tuple, but event time must not pass the last time of the input.
  const std::int64_t reached = std::min(frontier, *last_time_);
  if (!instance_->started() || reached <= instance_->watermark()) return sent;
  const bool expires = stamps_ == 2 && instance_->expires_by(reached);
  call_guarded([&] { instance_->advance(reached, expires ? due_of_watermark(streams_, reached) : -1); });
  if (outputs_.waiting() == 0) return sent;
  tick(1);
  taken_ns_ = recorder().now();
  return send_outputs();
}

std::int64_t LayerOperator::promised(std::int64_t frontier) const noexcept {
  if (rows_ != 0) return LayerLink::kNoPromise;
  if (op_.spec.keeps_time) return frontier;  // outputs have their tuples' times
  if (frontier <= -kEventTimeLimit || frontier >= kEventTimeLimit) return frontier;
  return op_.spec.window.earliest(frontier) + op_.spec.window.size;
}

// Sends the waiting outputs with their stamps. Returns whether there were any.
bool LayerOperator::send_outputs() {
  const bool has_outputs = outputs_.waiting() != 0;
  const std::size_t fields = op_.itemsizes.size();
  while (outputs_.waiting() != 0) {
    const OutputBuffer::Piece piece = outputs_.oldest();
    const std::int64_t rows = std::min(piece.rows, unit_);
    for (std::size_t c = 0; c < fields; ++c) {
      columns_[c] = static_cast<const std::byte*>(piece.columns[c]) +
                    static_cast<std::size_t>(piece.row) * static_cast<std::size_t>(op_.itemsizes[c]);
    }
    if (stamps_ == 2) {
      causes_.take(due_.data(), nullptr, rows);
      for (std::int64_t i = 0; i < rows; ++i) {
        // An output without a causing input was due at the start.
        auto& due = due_[static_cast<std::size_t>(i)];
        due = recorder().start() + std::max<std::int64_t>(due, 0);
      }
      columns_[fields] = due_.data();
    }
    if (stamps_ != 0) {
      std::fill_n(taken_.begin(), rows, taken_ns_);
      columns_[fields + stamps_ - 1] = taken_.data();
    }
    route_->send(*out_, columns_.data(), 0, rows);
    outputs_.take(rows);
  }
  return has_outputs;
}

}  // namespace lab
