// Implements the packing of rows into words; see dataflow/row_words.h.
#include "dataflow/row_words.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <type_traits>
#include <utility>

#include "dataflow/spec.h"

namespace lab {
namespace {

constexpr std::uint64_t kSign = std::uint64_t{1} << (kWordBits - 1);
constexpr std::int64_t kMaxSpanBlocks = 64;  // maximum length of a span

// Converts a value of a column to an unsigned number in the same order, or back.
std::uint64_t to_unsigned_order(const FlowSpec& sort, std::size_t column, std::uint64_t value) noexcept {
  return sort.fields[column] == FlowSpec::Field::kSigned ? value ^ kSign : value;
}

// Returns the minimum and the maximum of one or more values. Computes four of each in parallel, so that no step waits
// for the preceding step.
template <typename T>
std::pair<T, T> min_and_max(std::span<const T> values) noexcept {
  constexpr std::size_t kLanes = 4;
  std::array<T, kLanes> lowest, highest;
  lowest.fill(values[0]);
  highest.fill(values[0]);
  std::size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      lowest[lane] = std::min(lowest[lane], values[i + lane]);
      highest[lane] = std::max(highest[lane], values[i + lane]);
    }
  }
  for (; i < values.size(); ++i) {
    lowest[0] = std::min(lowest[0], values[i]);
    highest[0] = std::max(highest[0], values[i]);
  }
  return {*std::min_element(lowest.begin(), lowest.end()), *std::max_element(highest.begin(), highest.end())};
}

}  // namespace

bool compares_as_word(const FlowSpec& sort, std::size_t column) noexcept {
  return sort.fields[column] != FlowSpec::Field::kFloat && sort.descending[column] == 0;
}

void place_parts(std::span<WordPart> parts, int free_bits) noexcept {
  int shift = free_bits;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    part->shift = shift;
    shift += part->bits;
  }
}

bool pack(const FlowSpec& sort, std::span<const WordPart> parts, const FlowPiece& piece,
          std::uint64_t* words) noexcept {
  const auto rows = static_cast<std::size_t>(piece.rows);
  std::fill_n(words, rows, 0);
  std::uint64_t overflow = 0;
  for (const WordPart& part : parts) {
    const std::uint64_t low = part.low;
    const int total_bits = part.bits + part.dropped;
    if (part.bits == 0 && part.dropped == kWordBits) continue;  // no bits of the column fit; it is compared later
    with_type(sort.fields[part.column], sort.itemsizes[part.column], [&]<typename T>() {
      if constexpr (std::is_integral_v<T>) {
        const T* values = static_cast<const T*>(piece.columns[part.column]) + piece.base;
        if (total_bits == kWordBits) {  // all values fit
          for (std::size_t i = 0; i < rows; ++i) {
            words[i] |= ((static_cast<std::uint64_t>(values[i]) - low) >> part.dropped) << part.shift;
          }
          return;
        }
        std::uint64_t over = 0;
        const int dropped = part.dropped;
        const int shift = part.bits == 0 ? 0 : part.shift;  // shift is 64 if all parts have no bits
        for (std::size_t i = 0; i < rows; ++i) {
          const std::uint64_t value = static_cast<std::uint64_t>(values[i]) - low;
          over |= value >> total_bits;
          words[i] |= (value >> dropped) << shift;
        }
        overflow |= over;
      }
    });
  }
  return overflow == 0;
}

void unpack(const FlowSpec& sort, std::span<const WordPart> parts, std::span<const std::uint64_t> words,
            void* const* columns, std::int64_t begin) noexcept {
  for (const WordPart& part : parts) {
    with_type(sort.fields[part.column], sort.itemsizes[part.column], [&]<typename T>() {
      T* values = static_cast<T*>(columns[part.column]) + begin;
      if (part.bits == 0) {
        std::fill_n(values, words.size(), static_cast<T>(part.low));
        return;
      }
      const std::uint64_t low = part.low;
      const std::uint64_t mask = ~std::uint64_t{0} >> (kWordBits - part.bits);
      const int shift = part.shift;
      for (std::size_t i = 0; i < words.size(); ++i) values[i] = static_cast<T>(low + ((words[i] >> shift) & mask));
    });
  }
}

int ValueRange::bits() const noexcept { return static_cast<int>(std::bit_width(highest - lowest)); }

ValueRange range_of(const FlowSpec& sort, std::size_t column, const FlowPiece& piece) noexcept {
  ValueRange range{};
  with_type(sort.fields[column], sort.itemsizes[column], [&]<typename T>() {
    if constexpr (std::is_integral_v<T>) {
      const T* values = static_cast<const T*>(piece.columns[column]) + piece.base;
      const auto [lowest, highest] = min_and_max(std::span(values, static_cast<std::size_t>(piece.rows)));
      range.lowest = to_unsigned_order(sort, column, static_cast<std::uint64_t>(lowest));
      range.highest = to_unsigned_order(sort, column, static_cast<std::uint64_t>(highest));
    }
  });
  return range;
}

WordPart part_of(const FlowSpec& sort, std::size_t column, const ValueRange& range) noexcept {
  return {column, to_unsigned_order(sort, column, range.lowest), range.bits(), 0, 0};
}

bool WordLayouts::can_pack(const FlowSpec& sort) noexcept {
  return std::all_of(sort.order.begin(), sort.order.end(),
                     [&sort](std::int32_t column) { return compares_as_word(sort, static_cast<std::size_t>(column)); });
}

std::uint64_t WordLayouts::end_of(std::int64_t block) const noexcept {
  return static_cast<std::uint64_t>(markers_.first) +
         static_cast<std::uint64_t>(block) * static_cast<std::uint64_t>(markers_.period);
}

WordLayouts::Span WordLayouts::span_of(std::int64_t block) {
  const auto power = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(block | 1)));
  const std::int64_t length = std::min(kMaxSpanBlocks, power);
  const std::int64_t first = block - block % length;
  Span span{first, first + length};
  const std::scoped_lock lock(mutex_);
  requested_ = std::max(requested_, span.end - 1);
  const auto layout = std::find_if(layouts_.rbegin(), layouts_.rend(),
                                   [block](const Layout& candidate) { return candidate.first <= block; });
  if (layout == layouts_.rend()) return span;
  for (std::size_t c = 0; c < layout->ranges.size(); ++c) {
    ValueRange range = layout->ranges[c];
    // The layout has room for `room` values above the lowest. If some of them were beyond the range of numbers, values
    // that do not fit would seem to fit. So the lowest value moves down if necessary.
    const std::uint64_t room = (std::uint64_t{1} << range.bits()) - 1;
    range.lowest = std::min(range.lowest, ~std::uint64_t{0} - room);
    range.highest = range.lowest + room;
    span.parts.push_back(part_of(sort_, static_cast<std::size_t>(sort_.order[c]), range));
  }
  place_parts(span.parts, 0);
  return span;
}

bool WordLayouts::shift_times(std::int64_t block, std::span<WordPart> parts) const noexcept {
  for (WordPart& part : parts) {
    if (part.column != 0) continue;
    const auto room = static_cast<std::int64_t>((std::uint64_t{1} << part.bits) - 1);
    std::int64_t first = 0;
    const auto end = static_cast<std::int64_t>(end_of(block));
    if (__builtin_add_overflow(static_cast<std::int64_t>(part.low), end, &first)) return false;
    if (first > std::numeric_limits<std::int64_t>::max() - room) return false;
    part.low = static_cast<std::uint64_t>(first);
  }
  return !parts.empty();
}

void WordLayouts::widen(const FlowPiece& piece, std::int64_t block) {
  const std::scoped_lock lock(mutex_);
  if (closed_) return;
  if (layouts_.empty() || layouts_.back().first != requested_ + 1) {
    layouts_.push_back({requested_ + 1, layouts_.empty() ? std::vector<ValueRange>{} : layouts_.back().ranges});
  }
  std::vector<ValueRange>& ranges = layouts_.back().ranges;
  const bool is_first = ranges.empty();
  int bits = 0;
  for (std::size_t c = 0; c < sort_.order.size(); ++c) {
    const auto column = static_cast<std::size_t>(sort_.order[c]);
    ValueRange range = range_of(sort_, column, piece);
    if (column == 0) {
      range.lowest -= end_of(block);
      range.highest -= end_of(block);
      if (range.lowest > range.highest) closed_ = true;  // the times are so far apart that the difference overflows
    }
    if (is_first) ranges.push_back(range);
    ranges[c].lowest = std::min(ranges[c].lowest, range.lowest);
    ranges[c].highest = std::max(ranges[c].highest, range.highest);
    bits += ranges[c].bits();
  }
  if (closed_ || bits >= kWordBits) {
    closed_ = true;
    ranges.clear();
  }
}

std::span<const WordPart> RowPacker::parts(std::int64_t block) {
  if (block != block_) {
    if (block < span_.first || block >= span_.end) span_ = layouts_->span_of(block);
    parts_ = span_.parts;
    if (!layouts_->shift_times(block, parts_)) parts_.clear();
    block_ = block;
  }
  return parts_;
}

std::span<const std::uint64_t> RowPacker::pack(const FlowPiece& piece, std::int64_t block) {
  if (piece.rows == 0) return {};
  words_.resize(static_cast<std::size_t>(piece.rows));
  if (!parts(block).empty() && lab::pack(sort_, parts_, piece, words_.data())) return words_;
  layouts_->widen(piece, block);
  return {};
}

}  // namespace lab
