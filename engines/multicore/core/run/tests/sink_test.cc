// Outputs of several workers merge by event time. A late row stays late.
#include "run/sink.h"

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "check.h"

namespace {

struct Row {
  std::int64_t ts;
  std::int32_t value;
};

void emit(lab::OutputBuffer& buffer, std::int32_t stream, std::int64_t event, bool fresh, std::vector<Row> rows,
          std::int32_t mailbox = 0) {
  lab::Emit* out = buffer.open(static_cast<std::int64_t>(rows.size()));
  for (const Row& row : rows) {
    static_cast<std::int64_t*>(out->columns[0])[out->count] = row.ts;
    static_cast<std::int32_t*>(out->columns[1])[out->count] = row.value;
    ++out->count;
  }
  CHECK_EQ(buffer.close(mailbox, stream, event, fresh), static_cast<std::int64_t>(rows.size()));
}

std::vector<std::int32_t> merged(const std::vector<const lab::OutputBuffer*>& buffers) {
  std::size_t rows = 0;
  for (const auto* buffer : buffers) rows += static_cast<std::size_t>(buffer->rows());
  std::vector<std::int64_t> ts(rows);
  std::vector<std::int32_t> value(rows);
  const std::array<void*, 2> columns{ts.data(), value.data()};
  lab::merge_outputs(buffers, columns);
  return value;
}

void streams_merge_by_time_then_stream() {
  lab::OutputBuffer a({8, 4});
  lab::OutputBuffer b({8, 4});
  emit(a, 0, 0, false, {{1, 10}, {5, 11}, {7, 12}});
  emit(b, 1, 0, false, {{2, 20}, {5, 21}, {6, 22}});
  CHECK(merged({&a, &b}) == (std::vector<std::int32_t>{10, 20, 11, 21, 22, 12}));
  CHECK(merged({&b, &a}) == (std::vector<std::int32_t>{10, 20, 11, 21, 22, 12}));
}

void one_worker_may_interleave_streams() {
  lab::OutputBuffer a({8, 4});
  emit(a, 0, 0, false, {{1, 10}, {9, 11}});
  emit(a, 1, 0, false, {{2, 20}, {3, 21}});
  CHECK(merged({&a}) == (std::vector<std::int32_t>{10, 20, 21, 11}));
}

void late_row_is_not_sorted_back() {
  lab::OutputBuffer a({8, 4});
  lab::OutputBuffer b({8, 4});
  emit(a, 0, 0, false, {{5, 10}, {1, 11}, {6, 12}});
  emit(b, 1, 0, false, {{2, 20}});
  CHECK(merged({&a, &b}) == (std::vector<std::int32_t>{20, 10, 11, 12}));
}

void ties_of_one_stream_follow_the_event_position() {
  lab::OutputBuffer a({8, 4});
  lab::OutputBuffer b({8, 4});
  emit(a, 3, 0, true, {{4, 0}});
  emit(b, 3, 1, true, {{4, 1}});
  emit(a, 3, 2, true, {{4, 2}});
  emit(b, 3, 3, true, {{4, 3}});
  CHECK(merged({&a, &b}) == (std::vector<std::int32_t>{0, 1, 2, 3}));
  CHECK(merged({&b, &a}) == (std::vector<std::int32_t>{0, 1, 2, 3}));
}

void mailboxes_of_one_worker_are_sequences_of_their_own() {
  lab::OutputBuffer a({8, 4});
  lab::OutputBuffer b({8, 4});
  emit(a, 4, 0, true, {{9, 1}}, 0);  // one mailbox runs ahead of the other
  emit(a, 4, 1, true, {{3, 2}}, 1);
  emit(b, 4, 2, true, {{5, 3}}, 2);
  CHECK(merged({&a, &b}) == (std::vector<std::int32_t>{2, 3, 1}));
}

void a_run_after_an_ordering_event_of_another_worker_is_fresh() {
  lab::OutputBuffer a({8, 4});
  lab::OutputBuffer b({8, 4});
  emit(a, 0, 0, true, {{4, 1}});
  emit(b, 0, 5, true, {{4, 2}});  // the ordering event at position 5, won by the other worker
  emit(a, 0, 6, true, {{4, 3}});
  CHECK(merged({&a, &b}) == (std::vector<std::int32_t>{1, 2, 3}));
}

void one_event_may_emit_more_than_a_default_chunk() {
  lab::OutputBuffer a({8, 4}, 1'000'000);
  CHECK(a.chunk_rows() >= 1'000'000);
  CHECK(a.open(1'000'000)->capacity >= 1'000'000);
  lab::OutputBuffer wide({8, 1 << 20});
  CHECK(wide.chunk_rows() >= 1);
}

void chunks_are_seamless() {
  lab::OutputBuffer a({8, 4});
  lab::OutputBuffer b({8, 4});
  const std::int64_t n = a.chunk_rows() * 2 + 100;
  for (std::int64_t i = 0; i < n; i += 50) {
    std::vector<Row> rows;
    for (std::int64_t j = i; j < i + 50; ++j) rows.push_back({j, static_cast<std::int32_t>(j)});
    emit((i / 50) % 3 == 0 ? b : a, 0, i, false, rows);
  }
  const auto values = merged({&a, &b});
  CHECK(static_cast<std::int64_t>(values.size()) >= n);
  for (std::size_t i = 0; i < values.size(); ++i) CHECK_EQ(values[i], static_cast<std::int32_t>(i));
}

// Each row is a separate segment. The segments exceed the first ones and a chunk.
void many_segments_keep_their_rows() {
  constexpr std::int32_t rows = 3'000;
  const auto pool = std::make_shared<lab::OutputPool>(std::vector<std::int32_t>{8, 4}, 1, 4096);
  lab::OutputBuffer a(pool), b(pool);
  for (std::int32_t i = 0; i < rows; ++i) emit(i % 3 == 0 ? a : b, i % 2, i, true, {{i, i}}, i % 5);
  const std::vector<std::int32_t> values = merged({&a, &b});
  CHECK_EQ(values.size(), static_cast<std::size_t>(rows));
  for (std::size_t i = 0; i < values.size(); ++i) CHECK_EQ(values[i], static_cast<std::int32_t>(i));
}

void empty_buffers_merge_to_nothing() {
  lab::OutputBuffer a({8, 4});
  CHECK(merged({&a}).empty());
}

// A consumer takes rows during the run, over several chunks: each row once, in order, for any remainder in between.
void rows_may_be_taken_while_more_come(std::size_t chunk_bytes) {
  lab::OutputBuffer a({8, 4}, 1, chunk_bytes);
  CHECK_EQ(a.chunk_rows(), static_cast<std::int64_t>(chunk_bytes / 12 / 64 * 64));
  const std::int64_t chunk = a.chunk_rows();
  std::int64_t sent = 0, taken = 0;
  const auto send = [&](std::int64_t rows) {
    for (std::int64_t i = 0; i < rows; ++i, ++sent) {
      emit(a, 0, 0, false, {{sent, static_cast<std::int32_t>(sent % 1000)}});
    }
  };
  const auto take = [&](std::int64_t rows) {
    while (rows > 0) {
      CHECK_EQ(a.waiting(), sent - taken);
      const lab::OutputBuffer::Piece piece = a.oldest();
      const std::int64_t count = std::min(rows, piece.rows);
      CHECK(count > 0);
      for (std::int64_t i = piece.row; i < piece.row + count; ++i, ++taken) {
        CHECK_EQ(static_cast<const std::int64_t*>(piece.columns[0])[i], taken);
        CHECK_EQ(static_cast<const std::int32_t*>(piece.columns[1])[i], taken % 1000);
      }
      a.take(count);
      rows -= count;
    }
  };
  send(5);
  take(2);
  take(3);
  CHECK_EQ(a.waiting(), 0);
  send(3 * chunk + 7);
  take(chunk + 1);
  send(chunk);
  take(a.waiting());
  send(10);
  take(10);
  send(chunk);  // fills a chunk to the last row
  take(chunk);
  send(1);
  take(1);
  CHECK_EQ(a.waiting(), 0);
  CHECK_EQ(a.rows(), sent);
}

}  // namespace

int main() {
  rows_may_be_taken_while_more_come(4096);
  rows_may_be_taken_while_more_come(lab::OutputBuffer::kChunkBytes);
  many_segments_keep_their_rows();
  streams_merge_by_time_then_stream();
  one_worker_may_interleave_streams();
  late_row_is_not_sorted_back();
  ties_of_one_stream_follow_the_event_position();
  mailboxes_of_one_worker_are_sequences_of_their_own();
  a_run_after_an_ordering_event_of_another_worker_is_fresh();
  one_event_may_emit_more_than_a_default_chunk();
  chunks_are_seamless();
  empty_buffers_merge_to_nothing();
  return 0;
}
