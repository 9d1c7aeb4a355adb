// The link of a typed dataflow graph, alone: publication, reuse of chunks, room, and wake-ups.
#include "dataflow/link.h"

#include <cstdint>
#include <thread>
#include <vector>

#include "check.h"

namespace {

using lab::FlowLink;
using lab::FlowPiece;

constexpr std::int64_t kChunk = FlowLink::kChunkRows;

// Rows of two columns, a number and its half, and their due times.
struct Numbers {
  std::vector<std::int64_t> ts, due;
  std::vector<std::int16_t> half;
  std::vector<const void*> columns;
  explicit Numbers(std::int64_t rows) {
    for (std::int64_t i = 0; i < rows; ++i) {
      ts.push_back(i);
      half.push_back(static_cast<std::int16_t>(i / 2));
      due.push_back(1000 + i);
    }
    columns = {ts.data(), half.data()};
  }
  FlowPiece piece(std::int64_t from, std::int64_t rows) const {
    return {columns.data(), from, rows, due.data() + from};
  }
};
const std::vector<std::int32_t> kColumnSizes{8, 2};

struct Linked {
  explicit Linked(std::int64_t rows = 1, bool due = false) : link(kColumnSizes, rows, due, producer, consumer) {}
  lab::Parker producer, consumer;
  FlowLink link;
};

// Takes all available rows of a block, and checks their consistency.
std::vector<std::int64_t> taken(FlowLink& link, std::int64_t block, std::int64_t max_rows = 100, bool has_due = false) {
  std::vector<std::int64_t> result;
  for (FlowPiece piece = link.next(block, max_rows); piece.rows != 0; piece = link.next(block, max_rows)) {
    CHECK(piece.rows <= max_rows);
    CHECK((piece.due != nullptr) == has_due);
    for (std::int64_t i = 0; i < piece.rows; ++i) {
      const std::int64_t ts = static_cast<const std::int64_t*>(piece.columns[0])[piece.base + i];
      CHECK_EQ(static_cast<const std::int16_t*>(piece.columns[1])[piece.base + i], static_cast<std::int16_t>(ts / 2));
      if (has_due) CHECK_EQ(piece.due[i], 1000 + ts);
      result.push_back(ts);
    }
  }
  return result;
}

void a_link_returns_rows_by_block_once_they_are_flushed() {
  Linked pair;
  const Numbers rows(20);
  pair.link.append(rows.piece(0, 2), 0);
  CHECK(taken(pair.link, 0).empty());  // not published
  CHECK(!pair.link.passed(0));
  const std::int32_t list[] = {0, 2, 5};
  pair.link.append(rows.piece(4, 6), list, 3, 2);
  pair.link.flush(2);
  CHECK(taken(pair.link, 0, 1) == (std::vector<std::int64_t>{0, 1}));
  CHECK(pair.link.passed(0));
  CHECK(taken(pair.link, 1).empty());
  CHECK(pair.link.passed(1));
  CHECK(taken(pair.link, 2) == (std::vector<std::int64_t>{4, 6, 9}));
  CHECK(!pair.link.passed(2) && !pair.link.ended());
  pair.link.flush(3);
  CHECK(taken(pair.link, 2).empty());
  CHECK(pair.link.passed(2) && !pair.link.passed(3));
  pair.link.flush(lab::kEndOfTime);
  CHECK(taken(pair.link, 3).empty());
  CHECK(pair.link.passed(3) && pair.link.ended());
}

void rows_of_a_block_come_before_the_promise_after_them() {
  Linked pair;
  const Numbers rows(4);
  pair.link.append(rows.piece(0, 1), 5);
  pair.link.flush(lab::kEndOfTime);  // rows and the end at once
  CHECK(taken(pair.link, 4).empty());
  CHECK(pair.link.passed(4) && !pair.link.ended());
  CHECK(taken(pair.link, 5) == std::vector<std::int64_t>{0});
  CHECK(pair.link.ended());
}

void chunks_are_used_again_when_their_reader_has_left_them() {
  for (const bool due : {false, true}) {
    Linked pair(1, due);
    const Numbers rows(3 * kChunk);
    // Taken rows stay until the next call, even if rows are appended meanwhile.
    pair.link.append(rows.piece(0, kChunk), 0);
    pair.link.flush(0);
    const FlowPiece first = pair.link.next(0, kChunk);
    CHECK_EQ(first.rows, kChunk);
    pair.link.append(rows.piece(kChunk, 2 * kChunk), 0);
    pair.link.flush(0);
    for (std::int64_t i = 0; i < kChunk; ++i) CHECK_EQ(static_cast<const std::int64_t*>(first.columns[0])[i], i);
    std::vector<const void*> seen;
    for (int round = 0; round < 50; ++round) {
      const FlowPiece piece = pair.link.next(0, 4096);
      CHECK(piece.rows != 0);
      seen.push_back(piece.columns[0]);
      pair.link.append(rows.piece(piece.rows == kChunk ? 0 : 7, piece.rows), 0);
      pair.link.flush(0);
    }
    std::sort(seen.begin(), seen.end());
    seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
    CHECK(seen.size() <= 5);  // 50 chunks went through them
    CHECK_EQ(static_cast<std::int64_t>(taken(pair.link, 0, 4096, due).size()), 2 * kChunk);
  }
}

void a_link_is_full_above_its_limit_of_unread_rows_and_still_takes_more() {
  Linked pair(1);  // raised to `kMinRows`
  const Numbers rows(8 * kChunk);
  pair.link.append(rows.piece(0, FlowLink::kMinRows), 0);
  CHECK(!pair.link.full());
  pair.link.append(rows.piece(0, 1), 0);
  CHECK(pair.link.full());
  pair.link.append(rows.piece(0, 3 * kChunk), 0);
  pair.link.flush(1);
  CHECK(pair.link.full());
  // A reader of all rows leaves the link no longer full: it still holds only the current chunk.
  CHECK_EQ(static_cast<std::int64_t>(taken(pair.link, 0).size()), 7 * kChunk + 1);
  CHECK(!pair.link.full());
  Linked large(2 * FlowLink::kMinRows);
  large.link.append(rows.piece(0, 8 * kChunk), 0);
  CHECK(!large.link.full());
  large.link.append(rows.piece(0, 1), 0);
  CHECK(large.link.full());
}

void rows_promises_and_room_wake_a_sleeping_thread() {
  Linked pair(1);
  const Numbers rows(8 * kChunk);
  const auto asleep = [](lab::Parker& parker) { return parker.asleep(); };
  pair.consumer.prepare();
  pair.link.flush(0);  // repeats the initial promise
  pair.consumer.prepare();
  pair.link.flush(0);
  CHECK(asleep(pair.consumer));  // nothing new
  pair.link.append(rows.piece(0, 1), 0);
  pair.link.flush(0);
  CHECK(!asleep(pair.consumer));
  pair.consumer.prepare();
  pair.link.flush(1);
  CHECK(!asleep(pair.consumer));
  pair.link.append(rows.piece(0, 5 * kChunk), 1);
  pair.link.flush(1);
  CHECK(pair.link.full());
  pair.producer.prepare();
  CHECK_EQ(taken(pair.link, 0).size(), 1U);
  CHECK(asleep(pair.producer));
  CHECK_EQ(pair.link.next(1, kChunk).rows, kChunk - 1);
  CHECK(asleep(pair.producer));
  CHECK_EQ(pair.link.next(1, 1).rows, 1);  // in the next chunk
  CHECK(!asleep(pair.producer));
}

void two_threads_see_each_row_once_in_order() {
  const int rounds = lab::test::share_of(60);
  for (int round = 0; round < rounds; ++round) {
    Linked pair(1, round % 2 == 0);
    const Numbers rows(5000);
    constexpr std::int64_t kBlocks = 40;
    std::thread reader([&] {
      std::int64_t expected = 0;
      for (std::int64_t block = 0; block <= kBlocks;) {
        const auto taken_rows = taken(pair.link, block, 1 + round * 100, round % 2 == 0);
        for (const std::int64_t ts : taken_rows) CHECK_EQ(ts, expected++);
        if (!taken_rows.empty() || !pair.link.passed(block)) continue;
        CHECK_EQ(expected, std::min<std::int64_t>(5000, (block + 1) * 125));
        ++block;
      }
      CHECK(pair.link.ended());
    });
    for (std::int64_t block = 0; block <= kBlocks; ++block) {
      const std::int64_t each = block == kBlocks ? 0 : 125;
      for (std::int64_t i = 0; i < each; i += 25) {
        pair.link.append(rows.piece(block * 125 + i, 25), block);
        if (i % 50 == 0) pair.link.flush(block);
      }
      pair.link.flush(block == kBlocks ? lab::kEndOfTime : block + 1);
    }
    reader.join();
  }
}

}  // namespace

int main() {
  a_link_returns_rows_by_block_once_they_are_flushed();
  rows_of_a_block_come_before_the_promise_after_them();
  chunks_are_used_again_when_their_reader_has_left_them();
  a_link_is_full_above_its_limit_of_unread_rows_and_still_takes_more();
  rows_promises_and_room_wake_a_sleeping_thread();
  two_threads_see_each_row_once_in_order();
  return 0;
}
