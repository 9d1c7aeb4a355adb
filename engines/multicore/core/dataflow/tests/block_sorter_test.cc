// SORT, compared with a comparison sort: few rows and many, values that fit into a word and others, ties, every kind of
// field, NaNs.
#include "dataflow/block_sorter.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <tuple>
#include <vector>

#include "check.h"

namespace {

using lab::BlockSorter;
using lab::FlowPiece;
using lab::FlowSpec;
using Field = FlowSpec::Field;

struct Rows {
  Rows() = default;
  explicit Rows(std::size_t rows) : ts(rows), key(rows), small(rows), wide(rows), real(rows), flag(rows) {}

  std::vector<std::int64_t> ts, key;
  std::vector<std::int16_t> small;
  std::vector<std::uint64_t> wide;
  std::vector<double> real;
  std::vector<std::uint8_t> flag;

  // `floats`: include the column `real`, which comes last.
  std::vector<const void*> columns(bool floats) const {
    std::vector<const void*> all{ts.data(), key.data(), small.data(), wide.data(), flag.data()};
    if (floats) all.push_back(real.data());
    return all;
  }
  std::vector<void*> places(bool floats) {
    std::vector<void*> all{ts.data(), key.data(), small.data(), wide.data(), flag.data()};
    if (floats) all.push_back(real.data());
    return all;
  }
  std::size_t size() const { return ts.size(); }
};

FlowSpec spec_of(bool floats) {
  FlowSpec spec;
  spec.kind = FlowSpec::Kind::kSort;
  spec.keyed = true;
  spec.itemsizes = {8, 8, 2, 8, 1};
  spec.fields = {Field::kSigned, Field::kSigned, Field::kSigned, Field::kUnsigned, Field::kUnsigned};
  if (floats) {
    spec.itemsizes.push_back(8);
    spec.fields.push_back(Field::kFloat);
  }
  for (std::size_t c = 0; c < spec.itemsizes.size(); ++c) spec.order.push_back(static_cast<std::int32_t>(c));
  std::swap(spec.order[0], spec.order[1]);
  spec.descending.assign(spec.itemsizes.size(), 0);
  return spec;
}

// The sort key of a row. All NaNs have the same key.
using Value = std::tuple<std::int64_t, std::int64_t, std::int16_t, std::uint64_t, std::uint8_t, bool, double>;

Value value_at(const Rows& rows, std::size_t i) {
  const bool none = std::isnan(rows.real[i]);
  return {rows.key[i], rows.ts[i], rows.small[i], rows.wide[i], rows.flag[i], none, none ? 0.0 : rows.real[i]};
}

void check_sorted(Rows rows, bool floats, bool packs) {
  if (!floats) std::fill(rows.real.begin(), rows.real.end(), 0.0);
  const FlowSpec spec = spec_of(floats);
  const lab::Markers markers{0, 10, 100};
  BlockSorter sorter(spec);
  if (packs && !floats) sorter.pack_by(std::make_shared<lab::WordLayouts>(spec, markers), true);
  // The memory of the first block is reused. The last block has a row that does not fit into a packed word.
  for (std::int64_t block = 0; block < 4; ++block) {
    if (block == 3 && rows.size() > 0) rows.small.back() = 1000;
    const auto columns = rows.columns(floats);
    const auto half = static_cast<std::int64_t>(rows.size() / 2);
    sorter.store({columns.data(), 0, half, nullptr}, block);
    sorter.store({columns.data(), half, static_cast<std::int64_t>(rows.size()) - half, nullptr}, block);
    std::vector<Value> expected, actual;
    for (std::size_t i = 0; i < rows.size(); ++i) expected.push_back(value_at(rows, i));
    std::sort(expected.begin(), expected.end());
    sorter.sort(block);
    CHECK_EQ(sorter.rows(), static_cast<std::int64_t>(rows.size()));
    for (std::int64_t row = 0; row < sorter.rows(); row += 100) {  // in pieces
      const std::int64_t count = std::min<std::int64_t>(100, sorter.rows() - row);
      Rows piece(static_cast<std::size_t>(count));
      sorter.copy_sorted(row, count, piece.places(floats).data());
      for (std::size_t i = 0; i < piece.size(); ++i) actual.push_back(value_at(piece, i));
    }
    CHECK(actual == expected);
    sorter.clear();
    sorter.sort(block);
    CHECK_EQ(sorter.rows(), 0);
  }
}

Rows drawn(std::mt19937_64& random, std::size_t count, std::int64_t span, bool wide) {
  Rows rows;
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  for (std::size_t i = 0; i < count; ++i) {
    rows.ts.push_back(pick(-span, span));
    rows.key.push_back(wide && pick(0, 3) == 0 ? pick(std::numeric_limits<std::int64_t>::min(), 0) : pick(-2, 2));
    rows.small.push_back(static_cast<std::int16_t>(pick(-3, 3)));
    rows.wide.push_back(wide ? random() : static_cast<std::uint64_t>(pick(0, 3)));
    const std::int64_t real = pick(-2, 3);
    rows.real.push_back(real == 3 ? std::nan("") : 0.5 * static_cast<double>(real));
    rows.flag.push_back(static_cast<std::uint8_t>(pick(0, 1)));
  }
  return rows;
}

void rows_of_any_number_and_width_come_in_order() {
  std::mt19937_64 random(7);
  for (const std::size_t count : {0U, 1U, 2U, 63U, 64U, 2000U, 3000U}) {
    for (const std::int64_t span : {std::int64_t{0}, std::int64_t{3}, std::numeric_limits<std::int64_t>::max() / 2}) {
      for (const bool wide : {false, true}) {
        check_sorted(drawn(random, count, span, wide), true, false);
        for (const bool packs : {false, true}) check_sorted(drawn(random, count, span, wide), false, packs);
      }
    }
  }
}

// Sorts by the key, then by `small` or `ts` in either direction, then by the other fields.
void rows_come_in_any_order_of_the_fields() {
  std::mt19937_64 random(5);
  for (const std::size_t count : {2U, 63U, 2000U}) {
    for (const bool small : {false, true}) {
      for (const bool descending : {false, true}) {
        Rows rows = drawn(random, count, 100, false);
        FlowSpec spec = spec_of(true);
        const std::size_t first = small ? 2 : 0;
        spec.descending[first] = descending;
        if (small) spec.order = {1, 2, 0, 3, 4, 5};
        const auto value = [&](const Rows& source, std::size_t i) {
          const std::int64_t field = small ? source.small[i] : source.ts[i];
          return std::pair{std::tuple{source.key[i], descending ? -field : field}, value_at(source, i)};
        };
        BlockSorter sorter(spec);
        sorter.store({rows.columns(true).data(), 0, static_cast<std::int64_t>(count), nullptr}, 0);
        sorter.sort(0);
        Rows sorted(count);
        sorter.copy_sorted(0, static_cast<std::int64_t>(count), sorted.places(true).data());
        std::vector<decltype(value(rows, 0))> expected, actual;
        for (std::size_t i = 0; i < count; ++i) {
          expected.push_back(value(rows, i));
          actual.push_back(value(sorted, i));
        }
        std::sort(expected.begin(), expected.end());
        CHECK(actual == expected);
      }
    }
  }
}

void the_ends_of_a_type_are_in_order() {
  using Limits = std::numeric_limits<std::int64_t>;
  Rows rows;
  for (const std::int64_t ts : {Limits::max(), Limits::min(), std::int64_t{0}, std::int64_t{-1}}) {
    rows.ts.push_back(ts);
    rows.key.push_back(0);
    rows.small.push_back(0);
    rows.wide.push_back(0);
    rows.real.push_back(0);
    rows.flag.push_back(0);
  }
  check_sorted(rows, true, false);
  for (const bool packs : {false, true}) check_sorted(rows, false, packs);
}

// Key, time and the number of the row leave -1 to 2 bits of a word. So no bit, a part, or one bit of the next field
// fits.
void words_that_are_full_are_in_order() {
  std::mt19937_64 random(11);
  for (const std::size_t count : {65U, 127U, 2001U}) {
    const int row_bits = static_cast<int>(std::bit_width(count));
    for (int left = -1; left < 3; ++left) {
      const int key_bits = 20, time_bits = lab::kWordBits - row_bits - key_bits - left;
      Rows rows(count);
      for (std::size_t i = 0; i < count; ++i) {
        rows.ts[i] = i == 0   ? 0
                     : i == 1 ? (std::int64_t{1} << time_bits) - 1
                              : static_cast<std::int64_t>(random() >> (64 - time_bits));
        rows.key[i] = i == 0   ? 0
                      : i == 1 ? (1 << key_bits) - 1
                               : static_cast<std::int64_t>(random() >> (64 - key_bits));
        rows.wide[i] = i == 0 ? 0 : i == 1 ? ~std::uint64_t{0} : random();
      }
      check_sorted(rows, false, false);
      check_sorted(rows, false, true);
    }
  }
}

}  // namespace

int main() {
  words_that_are_full_are_in_order();
  rows_of_any_number_and_width_come_in_order();
  rows_come_in_any_order_of_the_fields();
  the_ends_of_a_type_are_in_order();
  return 0;
}
