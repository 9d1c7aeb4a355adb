// Tests the marks of rows: the instances that they name, and the rows that instances skip because of them.
#include "oplus/marks.h"

#include "oplus/tests/oplus_rig.h"

namespace {

using lab::RowMarks;
using lab::test::behaviour;
using lab::test::OperatorRunCase;
using lab::test::Tuples;

constexpr std::int64_t kRows = 20'000;

// A stream in which tuple i has `keys` keys from i on, one at each time.
Tuples numbered(std::int64_t keys) {
  Tuples one;
  for (std::int64_t i = 0; i < kRows; ++i) one.add(i, i, keys);
  return one;
}

std::int64_t rows_routed = 0;

std::int64_t counting_route(const std::int32_t* owner, std::int64_t first, const void* const* columns,
                            std::int64_t begin, std::int64_t end, std::uint64_t* masks) {
  rows_routed += end - begin;
  return lab::test::route(owner, first, columns, begin, end, masks);
}

// Marks of one stream, made as a log's feeder makes them.
struct Marked {
  explicit Marked(const Tuples& one, std::vector<std::int32_t> instances, std::int64_t rows_in_flight = 1 << 16)
      : view(lab::test::view_of(one)), owner(lab::test::spread(behaviour.buckets, instances)) {
    streams.push_back({&view, 0, nullptr, &counting_route});
    marks = std::make_unique<RowMarks>(streams, std::span<const std::vector<lab::ColumnShape>>{}, rows_in_flight);
    feeds.emplace_back();
    marks->switch_over(feeds, {std::move(instances), owner});
    rows_routed = 0;
  }

  bool concerns(std::int64_t row, std::int32_t instance) const {
    const RowMarks::Reader reader = marks->reader(instance);
    return reader.concerns(reader.of(0, row)) != 0;
  }
  bool certain(std::int64_t row) const {
    const RowMarks::Reader reader = marks->reader(0);
    return reader.certain(reader.of(0, row));
  }
  bool hold(std::int64_t row) const { return marks->hold(std::array{row}); }

  lab::StreamView view;
  std::vector<lab::OperatorStream> streams;
  std::vector<std::int32_t> owner;
  std::deque<lab::Feed> feeds;
  std::unique_ptr<RowMarks> marks;
};

void only_the_instances_that_a_tuple_concerns_evaluate_it() {
  behaviour = {.window = {10 * kRows, 10 * kRows, false}, .buckets = 64};  // nothing expires meanwhile
  const std::vector<Tuples> streams = {numbered(1), numbered(1)};
  const auto expected = lab::test::keyed_oracle(streams, 20 * kRows);
  for (const std::int32_t instances : {1, 2, 4}) {
    lab::OplusOptions options;
    options.workers = instances;
    options.batch = 64;
    options.end_watermark = 20 * kRows;
    OperatorRunCase run(streams, options);
    lab::test::evaluated = 0;
    CHECK(lab::test::sorted(run.run()) == expected);
    CHECK_EQ(run.runtime().events(), 2 * kRows);
    // Each instance reads the first tuples, to learn where the first window begins.
    CHECK(lab::test::evaluated <= 2 * kRows + instances * 2 * 256);
  }
}

void a_mark_never_leaves_out_an_instance_that_a_row_concerns() {
  behaviour = {.buckets = 64};
  const Tuples one = numbered(2);
  std::vector<std::vector<std::int32_t>> sets{{1, 2}, {3, 7}, {0, 9}, {5, 70}, {2, 63, 64, 255}};
  for (const std::int32_t count : {2, 3, 8, 9, 40, 64, 65, 256}) sets.push_back(lab::first_instances(count));
  for (const std::vector<std::int32_t>& instances : sets) {
    Marked marked(one, instances, 256);
    std::int64_t spared = 0;
    for (std::int64_t begin = 0, end; begin < 900; begin = end) {
      end = begin + 1 + begin % 200;
      marked.marks->mark(0, begin, end, marked.owner.data());
      for (std::int64_t row = begin; row < end; ++row) {
        for (const std::int32_t i : instances) {
          const bool concerned = marked.owner[static_cast<std::size_t>(lab::test::bucket_of(row))] == i ||
                                 marked.owner[static_cast<std::size_t>(lab::test::bucket_of(row + 1))] == i;
          const bool marks_it = marked.concerns(row, i);
          CHECK(marks_it || !concerned);
          if (instances.back() < 8) CHECK_EQ(marks_it, concerned);
          CHECK(!marked.certain(row) || marks_it == concerned);
          spared += marks_it ? 0 : 1;
        }
      }
    }
    CHECK(spared > 0);
  }
}

void rows_before_a_switch_have_no_marks() {
  behaviour = {.buckets = 8};
  const Tuples one = numbered(1);
  Marked marked(one, {0, 1});
  CHECK(marked.hold(0));
  marked.feeds[0].row = 100;
  marked.marks->switch_over(marked.feeds, {{0, 2, 9}, {}});
  CHECK(!marked.hold(99));
  CHECK(marked.hold(100));
  marked.marks->switch_over(marked.feeds, {{4}, {}});
  CHECK(!marked.hold(kRows));
}

void keys_that_concern_all_instances_are_not_evaluated_for_the_marks() {
  behaviour = {.buckets = 64};
  const Tuples one = numbered(30);
  Marked marked(one, {0, 1});
  for (std::int64_t row = 0; row < kRows; row += 100) marked.marks->mark(0, row, row + 100, marked.owner.data());
  CHECK(rows_routed < 2000);
  for (std::int64_t row = 0; row < kRows; ++row) {
    CHECK(marked.concerns(row, 0) && marked.concerns(row, 1));
    CHECK(row < 2000 || !marked.certain(row));
  }
}

void a_row_whose_keys_raise_concerns_all_instances() {
  behaviour = {.buckets = 64, .raises_at = 1};
  const Tuples one = numbered(1);
  Marked marked(one, {0, 1});
  marked.marks->mark(0, 0, 10, marked.owner.data());
  for (std::int64_t row = 0; row < 10; ++row) CHECK(marked.concerns(row, 0) && marked.concerns(row, 1));
}

}  // namespace

int main() {
  only_the_instances_that_a_tuple_concerns_evaluate_it();
  a_mark_never_leaves_out_an_instance_that_a_row_concerns();
  rows_before_a_switch_have_no_marks();
  keys_that_concern_all_instances_are_not_evaluated_for_the_marks();
  a_row_whose_keys_raise_concerns_all_instances();
  return 0;
}
