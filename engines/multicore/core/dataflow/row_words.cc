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
constexpr std::int64_t kLongestSpan = 64;

// Converts a value of a column to a number that compares unsigned, and back.
std::uint64_t ordered(const FlowSpec& sort, std::size_t column, std::uint64_t value) noexcept {
  return sort.fields[column] == FlowSpec::Field::kSigned ? value ^ kSign : value;
}

// Returns the least and the greatest of at least one value. Four of each, so that none waits for the preceding one.
template <typename T>
std::pair<T, T> least_and_most(std::span<const T> values) noexcept {
  constexpr std::size_t kWays = 4;
  std::array<T, kWays> least, most;
  least.fill(values[0]);
  most.fill(values[0]);
  std::size_t i = 0;
  for (; i + kWays <= values.size(); i += kWays) {
    for (std::size_t way = 0; way < kWays; ++way) {
      least[way] = std::min(least[way], values[i + way]);
      most[way] = std::max(most[way], values[i + way]);
    }
  }
  for (; i < values.size(); ++i) {
    least[0] = std::min(least[0], values[i]);
    most[0] = std::max(most[0], values[i]);
  }
  return {*std::min_element(least.begin(), least.end()), *std::max_element(most.begin(), most.end())};
}

}  // namespace

bool rises_in_words(const FlowSpec& sort, std::size_t column) noexcept {
  return sort.fields[column] != FlowSpec::Field::kFloat && sort.falling[column] == 0;
}

void place_parts(std::span<WordPart> parts, int lowest) noexcept {
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    part->shift = lowest;
    lowest += part->bits;
  }
}

bool pack(const FlowSpec& sort, std::span<const WordPart> parts, const FlowPiece& piece,
          std::uint64_t* words) noexcept {
  const auto rows = static_cast<std::size_t>(piece.rows);
  std::fill_n(words, rows, 0);
  std::uint64_t beyond = 0;
  for (const WordPart& part : parts) {
    const std::uint64_t low = part.low;
    const int total_bits = part.bits + part.dropped;
    if (part.bits == 0 && part.dropped == kWordBits) continue;  // no room for any of its bits: they are compared later
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
        beyond |= over;
      }
    });
  }
  return beyond == 0;
}

void unpack(const FlowSpec& sort, std::span<const WordPart> parts, std::span<const std::uint64_t> words,
            void* const* to, std::int64_t at) noexcept {
  for (const WordPart& part : parts) {
    with_type(sort.fields[part.column], sort.itemsizes[part.column], [&]<typename T>() {
      T* values = static_cast<T*>(to[part.column]) + at;
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

int ValueRange::bits() const noexcept { return static_cast<int>(std::bit_width(most - least)); }

ValueRange range_of(const FlowSpec& sort, std::size_t column, const FlowPiece& piece) noexcept {
  ValueRange range{};
  with_type(sort.fields[column], sort.itemsizes[column], [&]<typename T>() {
    if constexpr (std::is_integral_v<T>) {
      const T* values = static_cast<const T*>(piece.columns[column]) + piece.base;
      const auto [least, most] = least_and_most(std::span(values, static_cast<std::size_t>(piece.rows)));
      range.least = ordered(sort, column, static_cast<std::uint64_t>(least));
      range.most = ordered(sort, column, static_cast<std::uint64_t>(most));
    }
  });
  return range;
}

WordPart part_of(const FlowSpec& sort, std::size_t column, const ValueRange& range) noexcept {
  return {column, ordered(sort, column, range.least), range.bits(), 0, 0};
}

bool WordLayouts::possible(const FlowSpec& sort) noexcept {
  return std::all_of(sort.order.begin(), sort.order.end(),
                     [&sort](std::int32_t column) { return rises_in_words(sort, static_cast<std::size_t>(column)); });
}

std::uint64_t WordLayouts::end_of(std::int64_t block) const noexcept {
  return static_cast<std::uint64_t>(markers_.first) +
         static_cast<std::uint64_t>(block) * static_cast<std::uint64_t>(markers_.period);
}

WordLayouts::Span WordLayouts::of(std::int64_t block) {
  const auto power = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(block | 1)));
  const std::int64_t length = std::min(kLongestSpan, power);
  const std::int64_t first = block - block % length;
  Span span{first, first + length};
  const std::scoped_lock lock(mutex_);
  asked_ = std::max(asked_, span.beyond - 1);
  const auto layout =
      std::find_if(layouts_.rbegin(), layouts_.rend(), [block](const Layout& one) { return one.first <= block; });
  if (layout == layouts_.rend()) return span;
  for (std::size_t c = 0; c < layout->ranges.size(); ++c) {
    ValueRange range = layout->ranges[c];
    // The layout has room for `room` values above the least. All must be values of the column, else others would seem
    // to fit.
    const std::uint64_t room = (std::uint64_t{1} << range.bits()) - 1;
    range.least = std::min(range.least, ~std::uint64_t{0} - room);
    range.most = range.least + room;
    span.parts.push_back(part_of(sort_, static_cast<std::size_t>(sort_.order[c]), range));
  }
  place_parts(span.parts, 0);
  return span;
}

bool WordLayouts::at(std::int64_t block, std::span<WordPart> parts) const noexcept {
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
  if (layouts_.empty() || layouts_.back().first != asked_ + 1) {
    layouts_.push_back({asked_ + 1, layouts_.empty() ? std::vector<ValueRange>{} : layouts_.back().ranges});
  }
  std::vector<ValueRange>& ranges = layouts_.back().ranges;
  const bool first = ranges.empty();
  int bits = 0;
  for (std::size_t c = 0; c < sort_.order.size(); ++c) {
    const auto column = static_cast<std::size_t>(sort_.order[c]);
    ValueRange range = range_of(sort_, column, piece);
    if (column == 0) {
      range.least -= end_of(block);
      range.most -= end_of(block);
      if (range.least > range.most) closed_ = true;  // so far apart that the difference overflows
    }
    if (first) ranges.push_back(range);
    ranges[c].least = std::min(ranges[c].least, range.least);
    ranges[c].most = std::max(ranges[c].most, range.most);
    bits += ranges[c].bits();
  }
  if (closed_ || bits >= kWordBits) {
    closed_ = true;
    ranges.clear();
  }
}

std::span<const WordPart> RowPacker::parts(std::int64_t block) {
  if (block != block_) {
    if (block < span_.first || block >= span_.beyond) span_ = layouts_->of(block);
    parts_ = span_.parts;
    if (!layouts_->at(block, parts_)) parts_.clear();
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
