// Tests the interleaver with any number of sorted inputs and any capacity. The order is that of a stable sort, and no
// row after an input's end is read.
#include "log/interleaver.h"

#include <algorithm>
#include <limits>
#include <random>
#include <span>
#include <tuple>
#include <vector>

#include "check.h"

namespace {

using lab::Interleaver;
using lab::SortedRows;

constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();

// Inputs as rings of exactly their rows, so that a read past the last row reads the first. Sources ascend, with gaps.
struct Inputs {
  std::vector<std::vector<std::int64_t>> rings;
  std::vector<std::uint8_t> sources;
  std::vector<SortedRows> rows;

  Inputs(std::mt19937& random, std::size_t count, int max_rows) : rings(count), sources(count), rows(count) {
    const auto pick = [&](int from, int to) { return std::uniform_int_distribution<int>(from, to)(random); };
    const int pace = pick(0, 3);
    for (std::size_t i = 0; i < count; ++i) {
      sources[i] = static_cast<std::uint8_t>(i + (count <= 16 ? 3 * i : 0));
      const int n = pick(0, 3) == 0 ? 0 : pick(1, max_rows);
      std::size_t size = 2;
      while (size < static_cast<std::size_t>(n)) size *= 2;
      rings[i].assign(size, kLowest);  // would come first
      const std::int64_t from = pick(0, 1000);
      std::int64_t now = pick(0, 9) == 0 ? kLowest : pick(0, 5);
      for (std::int64_t row = from; row < from + n; ++row) {
        rings[i][static_cast<std::size_t>(row) & (size - 1)] = now;
        if (now < kHighest - 10) now = pick(0, 200) == 0 ? kHighest - 5 : now + pick(0, 2 * pace);
      }
      rows[i] = {rings[i].data(), &sources[i], size - 1, 0, from, from + n};
    }
  }
};

std::vector<std::uint8_t> sorted(std::span<const SortedRows> inputs) {
  std::vector<std::tuple<std::int64_t, std::size_t>> all;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    for (std::int64_t row = inputs[i].next; row < inputs[i].end; ++row) {
      all.emplace_back(inputs[i].ts[static_cast<std::uint64_t>(row) & inputs[i].mask], i);
    }
  }
  std::stable_sort(all.begin(), all.end());
  std::vector<std::uint8_t> result;
  for (const auto& [ts, input] : all) result.push_back(*inputs[input].source);
  return result;
}

void any_inputs_are_merged_as_if_sorted() {
  std::mt19937 random(5);
  const int rounds = lab::test::share_of(900);
  for (int round = 0; round < rounds; ++round) {
    const std::size_t count = round % 3 == 0 ? 2 : 1 + random() % Interleaver::kMaxInputs;
    Inputs inputs(random, count, round % 2 == 0 ? 6 : 400);
    Interleaver interleaver(count);
    const std::span<SortedRows> rows = interleaver.inputs(count);
    std::copy(inputs.rows.begin(), inputs.rows.end(), rows.begin());
    const std::vector<std::uint8_t> expected = sorted(inputs.rows);
    std::vector<std::uint8_t> actual;
    for (int parts = 0;;) {
      const std::size_t capacity = 1 + random() % (round % 5 == 0 ? 3 : 1500);
      std::vector<std::uint8_t> part(capacity + 1, 255);
      const std::size_t done = interleaver.merge(part.data(), capacity);
      CHECK(done <= capacity && part[done] == 255);
      if (done == 0) break;
      actual.insert(actual.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(done));
      // The inputs still have the rows not written: no row is lost in a buffer.
      if (++parts > 2) continue;
      const std::vector<std::uint8_t> rest(expected.begin() + static_cast<std::ptrdiff_t>(actual.size()),
                                           expected.end());
      CHECK(sorted(rows) == rest);
    }
    CHECK(actual == expected);
    for (const SortedRows& input : rows) CHECK_EQ(input.next, input.end);
  }
}

void no_inputs_give_nothing() {
  Interleaver interleaver(0);
  std::uint8_t out = 7;
  CHECK(interleaver.inputs(0).empty());
  CHECK_EQ(interleaver.merge(&out, 1), std::size_t{0});
  CHECK_EQ(static_cast<int>(out), 7);
}

}  // namespace

int main() {
  any_inputs_are_merged_as_if_sorted();
  no_inputs_give_nothing();
  return 0;
}
