// Implements RowMarks; see oplus/marks.h.
#include "oplus/marks.h"

#include <bit>

namespace lab {
namespace {

// Folds bit i of a mask into bit i mod 8.
std::uint8_t folded(std::uint64_t mask) noexcept {
  mask |= mask >> 32;
  mask |= mask >> 16;
  mask |= mask >> 8;
  return static_cast<std::uint8_t>(mask);
}

}  // namespace

RowMarks::RowMarks(std::span<const OperatorStream> streams, std::span<const std::vector<ColumnShape>> shapes,
                   std::int64_t rows_in_flight)
    : streams_(streams),
      mask_(std::bit_ceil(static_cast<std::uint64_t>(rows_in_flight)) - 1),
      sources_(streams.size()) {
  for (Source& source : sources_) {
    source.ring.resize(mask_ + 1);
    rings_.push_back(source.ring.data());
  }
  for (std::size_t s = 0; s < shapes.size(); ++s) {
    std::size_t at = 1;
    for (const ColumnShape& shape : shapes[s]) {
      const void* const values = streams[s].view->columns[at];
      if (!shape.is_list && values != nullptr) {
        sources_[s].columns.push_back({static_cast<const std::byte*>(values), shape.itemsize});
      }
      at += shape.is_list ? 3 : 1;
    }
  }
}

void RowMarks::switch_over(const std::deque<Feed>& feeds, const InstanceMapping& next) noexcept {
  instances_ = next.count();
  reach_ = next.reach();
  for (std::size_t s = 0; s < sources_.size(); ++s) {
    // A single instance has all rows, so rows are not marked.
    sources_[s].from = instances_ == 1 ? kNever : feeds[s].row;
    sources_[s].judge_from = feeds[s].row;
  }
}

void RowMarks::mark(std::size_t source, std::int64_t begin, std::int64_t end, const std::int32_t* owner) noexcept {
  if (instances_ == 1) return;
  Source& state = sources_[source];
  for (std::int64_t next; begin < end; begin = next) {
    const std::uint64_t at = static_cast<std::uint64_t>(begin) & mask_;
    next = std::min({end, begin + kAtOnce, begin + static_cast<std::int64_t>(mask_ + 1 - at)});
    const auto count = static_cast<std::size_t>(next - begin);
    std::uint8_t* const to = state.ring.data() + at;
    const bool is_judged = begin >= state.judge_from;
    // Where f_MK raises, every instance must meet the exception itself.
    if (!(state.pays_off || is_judged) || !evaluate(source, begin, next, owner, to)) {
      std::fill_n(to, count, kAll);
      continue;
    }
    prefetch(state, next, std::min(next + (next - begin), streams_[source].view->size()));
    if (is_judged) judge(state, next - begin, next);
  }
}

// Writes the marks of at most `kAtOnce` rows, and counts the instances of rows that are judged. Returns false when f_MK
// raised.
bool RowMarks::evaluate(std::size_t source, std::int64_t begin, std::int64_t end, const std::int32_t* owner,
                        std::uint8_t* marks) noexcept {
  Source& state = sources_[source];
  const OperatorStream& stream = streams_[source];
  const bool is_judged = begin >= state.judge_from;
  std::array<std::uint64_t, kAtOnce> masks;
  const auto rows = std::span(masks).first(static_cast<std::size_t>(end - begin));
  for (std::int32_t first = 0; first < reach_; first += kRoutedAtOnce) {
    if (stream.route(owner, first, stream.view->columns.data(), begin, end, masks.data()) - 1 != end) return false;
    if (first == 0) std::fill_n(marks, rows.size(), std::uint8_t{0});
    for (std::size_t i = 0; i < rows.size(); ++i) marks[i] |= folded(rows[i]);
    for (std::size_t i = 0; is_judged && i < rows.size(); ++i) state.judged_instances += std::popcount(rows[i]);
  }
  return true;
}

// The marking thread is the first to read a row's columns. Its stretches are too short for the hardware prefetcher.
void RowMarks::prefetch(const Source& source, std::int64_t begin, std::int64_t end) const noexcept {
  constexpr std::ptrdiff_t kLine = 64;
  for (const Column& column : source.columns) {
    const std::byte* const last = column.values + end * column.itemsize;
    for (const std::byte* at = column.values + begin * column.itemsize; at < last; at += kLine) __builtin_prefetch(at);
  }
}

// Decides whether marks pay off. They do not if most rows concern nearly all instances, as rows with many keys do.
void RowMarks::judge(Source& source, std::int64_t rows, std::int64_t end) noexcept {
  source.judged_rows += rows;
  if (source.judged_rows < kJudgedRows) return;
  source.pays_off = 4 * source.judged_instances <= 3 * source.judged_rows * instances_;
  source.judge_from = end + kRowsToNextJudgement;
  source.judged_rows = source.judged_instances = 0;
}

}  // namespace lab
