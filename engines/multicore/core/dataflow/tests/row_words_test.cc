// Words: unpacked rows equal the packed ones, words compare as rows do, rows that do not fit are refused, and each
// block has one layout for all.
#include "dataflow/row_words.h"

#include <array>
#include <limits>
#include <random>
#include <vector>

#include "check.h"

namespace {

using lab::FlowPiece;
using lab::FlowSpec;
using lab::Markers;
using lab::RowPacker;
using lab::WordLayouts;
using Field = FlowSpec::Field;
using Limits = std::numeric_limits<std::int64_t>;
using Row = std::array<std::int64_t, 3>;  // key, time, another

FlowSpec sort_spec() {
  FlowSpec spec;
  spec.kind = FlowSpec::Kind::kSort;
  spec.keyed = true;
  spec.itemsizes = {8, 8, 8};
  spec.fields = {Field::kSigned, Field::kSigned, Field::kSigned};
  spec.order = {1, 0, 2};
  spec.descending.assign(3, 0);
  return spec;
}
const FlowSpec kSpec = sort_spec();

struct Piece {
  explicit Piece(const std::vector<Row>& rows) {
    for (const Row& row : rows) {
      ts.push_back(row[1]);
      key.push_back(row[0]);
      other.push_back(row[2]);
    }
    columns = {ts.data(), key.data(), other.data()};
  }
  operator FlowPiece() const { return {columns.data(), 0, static_cast<std::int64_t>(ts.size()), nullptr}; }
  std::vector<std::int64_t> ts, key, other;
  std::vector<const void*> columns;
};

// Packs rows and checks the words. Returns false if the rows do not fit.
bool packed(RowPacker& packer, std::vector<Row> rows, std::int64_t block) {
  std::sort(rows.begin(), rows.end());
  const auto words = packer.pack(Piece(rows), block);
  if (words.empty()) return false;
  CHECK_EQ(words.size(), rows.size());
  for (std::size_t i = 1; i < rows.size(); ++i) CHECK_EQ(words[i - 1] < words[i], rows[i - 1] < rows[i]);
  const auto parts = packer.parts(block);
  std::vector<std::int64_t> ts(rows.size() + 1, -7), key(ts), other(ts);
  void* const columns[] = {ts.data(), key.data(), other.data()};
  unpack(kSpec, parts, words, columns, 1);
  CHECK(ts[0] == -7 && key[0] == -7 && other[0] == -7);
  for (std::size_t i = 0; i < rows.size(); ++i) CHECK((Row{key[i + 1], ts[i + 1], other[i + 1]}) == rows[i]);
  return true;
}

void later_blocks_have_room_for_rows_that_did_not_fit() {
  const Markers markers{1000, 10, 1 << 20};
  const auto layouts = std::make_shared<WordLayouts>(kSpec, markers);
  RowPacker first(kSpec, layouts), second(kSpec, layouts);
  CHECK(!packed(first, {{3, 991, -5}, {4, 999, 100}}, 0));
  CHECK(packed(first, {{3, 1001, -5}, {4, 1009, 100}}, 1));  // times are relative to the block's end
  CHECK(packed(second, {{4, 5004, 0}}, 401));
  CHECK(!packed(second, {{500, 5004, 0}}, 401));
  CHECK(!packed(first, {{500, 5004, 0}}, 401));  // a block has one layout, for all
  CHECK(!packed(first, {{3, 5001, -6}}, 401));
  CHECK(!packed(first, {{500, 5001, 0}}, 447));  // the same for blocks requested with it
  CHECK(packed(first, {{500, 5471, -6}, {3, 5479, 100}}, 448));
  CHECK(packed(second, {{500, 5471, -6}}, 448));
}

// A request for the last block of a span gets the same layout as one for its first block, and spans omit no block.
void blocks_of_a_span_have_one_layout() {
  const Markers markers{1000, 10, 1 << 20};
  WordLayouts layouts(kSpec, markers);
  std::int64_t first = 0, longest = 0;
  while (first < 1000) {
    const WordLayouts::Span span = layouts.span_of(first);
    CHECK_EQ(span.first, first);
    CHECK(span.end > first && span.end - first >= longest);
    longest = span.end - first;
    const std::int64_t ts = markers.end_of(first);
    const std::int64_t key[] = {first}, other[] = {0};
    const void* const columns[] = {&ts, key, other};
    layouts.widen({columns, 0, 1, nullptr}, first);  // later spans become wider, this one does not
    const WordLayouts::Span last = layouts.span_of(span.end - 1);
    CHECK(last.first == span.first && last.end == span.end && last.parts.size() == span.parts.size());
    for (std::size_t p = 0; p < span.parts.size(); ++p) CHECK_EQ(last.parts[p].bits, span.parts[p].bits);
    first = span.end;
  }
  CHECK(longest > 1);
}

void rows_with_too_many_bits_go_as_rows_from_then_on() {
  const Markers markers{0, 10, 100};
  const auto layouts = std::make_shared<WordLayouts>(kSpec, markers);
  RowPacker packer(kSpec, layouts);
  CHECK(!packed(packer, {{1, 0, 0}}, 0));
  CHECK(packed(packer, {{1, 10, 0}}, 1));
  CHECK(!packed(packer, {{1 << 30, 11, std::int64_t{1} << 40}}, 1));
  CHECK(!packed(packer, {{1, 20, 0}}, 2));
  FlowSpec floats = kSpec;
  floats.fields[2] = Field::kFloat;
  FlowSpec descending = kSpec;
  descending.descending[2] = 1;
  CHECK(WordLayouts::can_pack(kSpec) && !WordLayouts::can_pack(floats) && !WordLayouts::can_pack(descending));
}

// Near the ends of a type, a difference that wraps around would seem to fit.
void values_that_wrap_around_do_not_fit() {
  const Markers markers{0, 10, 100};
  for (const std::int64_t end : {Limits::max(), Limits::min()}) {
    const std::int64_t step = end < 0 ? 1 : -1;
    const auto layouts = std::make_shared<WordLayouts>(kSpec, markers);
    RowPacker packer(kSpec, layouts);
    CHECK(!packed(packer, {{end, 0, 0}, {end + 4 * step, 0, 0}}, 0));
    CHECK(packed(packer, {{end, 10, 0}, {end + 4 * step, 10, 0}}, 1));
    for (std::int64_t far = 0; far < 10; ++far) CHECK(!packed(packer, {{~(end + far * step), 10, 0}}, 1));
  }
  // Times: the layout moves with the blocks beyond the range of the type.
  const Markers late_markers{Limits::max() - 100, 60, 1};
  const auto layouts = std::make_shared<WordLayouts>(kSpec, late_markers);
  RowPacker packer(kSpec, layouts);
  CHECK(!packed(packer, {{0, Limits::max() - 110, 0}, {0, Limits::max() - 101, 0}}, 0));
  CHECK(packed(packer, {{0, Limits::max() - 45, 0}}, 1));
  CHECK(!packed(packer, {{0, Limits::min() + 5, 0}}, 1));
}

void random_rows_come_out_as_they_were() {
  std::mt19937_64 random(11);
  int fitted = 0;
  for (int round = 0; round < 300; ++round) {
    const auto pick = [&](std::int64_t low, std::int64_t high) {
      return std::uniform_int_distribution<std::int64_t>(low, high)(random);
    };
    const Markers markers{pick(-1000, 1000), pick(1, 1000), 1000};
    const auto layouts = std::make_shared<WordLayouts>(kSpec, markers);
    std::array<RowPacker, 2> packers{RowPacker(kSpec, layouts), RowPacker(kSpec, layouts)};
    const std::int64_t keys = std::int64_t{1} << pick(0, 40), values = std::int64_t{1} << pick(0, 30);
    for (std::int64_t block = 0; block < 20; ++block) {
      std::vector<Row> rows;
      for (std::int64_t n = pick(1, 50); n > 0; --n) {
        rows.push_back({pick(-keys, keys), markers.end_of(block) - pick(0, 2 * markers.period), pick(-values, values)});
      }
      fitted += packed(packers[static_cast<std::size_t>(pick(0, 1))], rows, block) ? 1 : 0;
    }
  }
  CHECK(fitted > 1000);
}

}  // namespace

int main() {
  later_blocks_have_room_for_rows_that_did_not_fit();
  blocks_of_a_span_have_one_layout();
  rows_with_too_many_bits_go_as_rows_from_then_on();
  values_that_wrap_around_do_not_fit();
  random_rows_come_out_as_they_were();
  return 0;
}
