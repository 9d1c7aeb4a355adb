// Tests rings of copied tuples: columns of every width, lists, and room.
#include <array>
#include <numeric>

#include "oplus/tests/queues_cases.h"

namespace {

using lab::TupleQueue;
using lab::test::Texts;

// Columns of every width, a list, and one that the stream lacks.
struct Wide {
  std::vector<std::int64_t> ts, due, begins, ends;
  std::vector<std::int8_t> bytes;
  std::vector<std::int16_t> shorts;
  std::vector<double> doubles;
  std::vector<std::array<std::int64_t, 2>> pairs;
  std::vector<std::int16_t> elements;
  lab::StreamView view;
  lab::OperatorStream stream;
  std::vector<lab::ColumnShape> shapes{{1, false}, {2, false}, {8, false}, {16, false}, {4, false}, {2, true}};

  Wide(std::int64_t rows, std::int64_t longest, unsigned seed) {
    std::mt19937 random(seed);
    const auto pick = [&](std::int64_t to) { return std::uniform_int_distribution<std::int64_t>(0, to)(random); };
    for (std::int64_t i = 0; i < rows; ++i) {
      ts.push_back(i / 2 - 7);
      due.push_back(10 * i);
      bytes.push_back(static_cast<std::int8_t>(pick(127)));
      shorts.push_back(static_cast<std::int16_t>(i));
      doubles.push_back(0.5 * static_cast<double>(i));
      pairs.push_back({i, -i});
      begins.push_back(std::ssize(elements));
      const std::int64_t length = i % 5 == 0 ? 0 : i % 7 == 0 ? longest : pick(longest);
      for (std::int64_t k = 0; k < length; ++k) elements.push_back(static_cast<std::int16_t>(pick(30'000)));
      ends.push_back(std::ssize(elements));
    }
    view.ts = ts;
    view.due = due;
    view.columns = {ts.data(), bytes.data(),  shorts.data(), doubles.data(), pairs.data(),
                    nullptr,   begins.data(), ends.data(),   elements.data()};
    stream.view = &view;
  }

  std::int64_t size() const { return std::ssize(ts); }

  // Row `row` of the ring must be row `as` of the stream.
  void check_copy(const TupleQueue& queue, std::int64_t row, std::int64_t as) const {
    const lab::StreamView& copy = *queue.stream().view;
    const auto at = static_cast<std::size_t>(static_cast<std::uint64_t>(row) & queue.mask());
    const auto from = static_cast<std::size_t>(as);
    CHECK_EQ(copy.ts[at], ts[from]);
    CHECK_EQ(copy.due[at], due[from]);
    CHECK_EQ(int{static_cast<const std::int8_t*>(copy.columns[1])[at]}, int{bytes[from]});
    CHECK_EQ(static_cast<const std::int16_t*>(copy.columns[2])[at], shorts[from]);
    CHECK_EQ(static_cast<const double*>(copy.columns[3])[at], doubles[from]);
    CHECK((static_cast<const std::array<std::int64_t, 2>*>(copy.columns[4])[at] == pairs[from]));
    CHECK(copy.columns[5] == nullptr);
    const std::int64_t begin = static_cast<const std::int64_t*>(copy.columns[6])[at];
    const std::int64_t end = static_cast<const std::int64_t*>(copy.columns[7])[at];
    CHECK_EQ(end - begin, ends[from] - begins[from]);
    const auto* copied = static_cast<const std::int16_t*>(copy.columns[8]) + begin;
    CHECK(std::equal(copied, copied + (end - begin), elements.begin() + begins[from]));
  }
};

bool fits(TupleQueue& queue, std::int64_t row, std::int64_t consumed) {
  return queue.fit(std::array{row}, consumed) == 1;
}

void copy(TupleQueue& queue, std::int64_t row) { queue.copy(std::array{row}); }

// Rows that the reader still needs are unchanged, however far it lags.
void a_ring_keeps_the_rows_that_its_reader_needs(std::int64_t rows, std::int64_t longest, unsigned seed) {
  const Wide wide(500, longest, seed);
  TupleQueue queue(wide.stream, wide.shapes, rows);
  std::mt19937 random(seed);
  std::int64_t consumed = 0;
  std::int64_t waits = 0;
  for (std::int64_t next = 0; next < wide.size();) {
    std::vector<std::int64_t> rows_to_copy(1 + random() % 5);
    std::iota(rows_to_copy.begin(), rows_to_copy.end(), next);
    rows_to_copy.resize(std::min(rows_to_copy.size(), static_cast<std::size_t>(wide.size() - next)));
    const std::size_t fit = queue.fit(rows_to_copy, consumed);
    CHECK(fit <= rows_to_copy.size());
    if (fit != 0) {
      queue.copy(std::span(rows_to_copy).first(fit));
      next += static_cast<std::int64_t>(fit);
      CHECK_EQ(queue.rows(), next);
    } else {
      ++waits;
      CHECK(consumed < next);  // an empty ring takes every tuple
    }
    if (random() % 8 == 0 || !fits(queue, std::min(next, wide.size() - 1), consumed)) {
      consumed += static_cast<std::int64_t>(random() % static_cast<unsigned>(next - consumed + 1));
    }
    for (std::int64_t row = consumed; row < next; ++row) wide.check_copy(queue, row, row);
  }
  CHECK(waits > 0);
}

void a_ring_is_full_when_its_rows_or_its_elements_are() {
  const Wide shorts(40, 3, 1);
  TupleQueue rows(shorts.stream, shorts.shapes, 8);
  for (std::int64_t row = 0; row < 8; ++row) {
    CHECK(fits(rows, row, 0));
    copy(rows, row);
  }
  CHECK(!fits(rows, 8, 0));
  CHECK(fits(rows, 8, 1));
  copy(rows, 8);
  CHECK(!fits(rows, 9, 1));
  CHECK(fits(rows, 9, 9));

  // Room for 16,384 elements: five lists of 3,000 lie in one piece, the sixth begins anew at the front.
  Texts texts;
  for (std::int64_t i = 0; i < 8; ++i) texts.add(i, std::vector<std::int32_t>(3000, static_cast<std::int32_t>(i)));
  const lab::StreamView view = texts.view();
  lab::OperatorStream stream;
  stream.view = &view;
  TupleQueue lists(stream, lab::test::kTextShapes, 4096);
  std::int64_t copied = 0;
  while (copied < 8 && fits(lists, copied, 0)) copy(lists, copied++);
  CHECK_EQ(copied, 5);
  CHECK(fits(lists, copied, 1));
  copy(lists, copied);
  CHECK(!fits(lists, copied + 1, 1));
  for (std::int64_t row = 1; row <= copied; ++row) {
    const auto words = lab::test::words_of(lists.stream().view->columns.data(), row);
    CHECK_EQ(words.size(), std::size_t{3000});
    CHECK(std::all_of(words.begin(), words.end(), [&](std::int32_t word) { return word == row; }));
  }
}

}  // namespace

int main() {
  for (unsigned seed = 0; seed < 6; ++seed) {
    a_ring_keeps_the_rows_that_its_reader_needs(1 << (seed % 4), 4, seed);
    a_ring_keeps_the_rows_that_its_reader_needs(256, 5000, seed);
  }
  a_ring_is_full_when_its_rows_or_its_elements_are();
  return 0;
}
