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
const std::vector<std::int32_t> kTwo{8, 2};

struct Linked {
  explicit Linked(std::int64_t rows = 1, bool due = false) : link(kTwo, rows, due, producer, consumer) {}
  lab::Parker producer, consumer;
  FlowLink link;
};

// Takes all available rows of a block, and checks their consistency.
std::vector<std::int64_t> taken(FlowLink& link, std::int64_t block, std::int64_t most = 100, bool due = false) {
  std::vector<std::int64_t> result;
  for (FlowPiece piece = link.next(block, most); piece.rows != 0; piece = link.next(block, most)) {
    CHECK(piece.rows <= most);
    CHECK((piece.due != nullptr) == due);
    for (std::int64_t i = 0; i < piece.rows; ++i) {
      const std::int64_t ts = static_cast<const std::int64_t*>(piece.columns[0])[piece.base + i];
      CHECK_EQ(static_cast<const std::int16_t*>(piece.columns[1])[piece.base + i], static_cast<std::int16_t>(ts / 2));
      if (due) CHECK_EQ(piece.due[i], 1000 + ts);
      result.push_back(ts);
    }
  }
  return result;
}

void a_link_hands_on_rows_by_block_once_they_are_shown() {
  Linked at;
  const Numbers rows(20);
  at.link.append(rows.piece(0, 2), 0);
  CHECK(taken(at.link, 0).empty());  // not published
  CHECK(!at.link.passed(0));
  const std::int32_t list[] = {0, 2, 5};
  at.link.append(rows.piece(4, 6), list, 3, 2);
  at.link.flush(2);
  CHECK(taken(at.link, 0, 1) == (std::vector<std::int64_t>{0, 1}));
  CHECK(at.link.passed(0));
  CHECK(taken(at.link, 1).empty());
  CHECK(at.link.passed(1));
  CHECK(taken(at.link, 2) == (std::vector<std::int64_t>{4, 6, 9}));
  CHECK(!at.link.passed(2) && !at.link.ended());
  at.link.flush(3);
  CHECK(taken(at.link, 2).empty());
  CHECK(at.link.passed(2) && !at.link.passed(3));
  at.link.flush(lab::kEndOfTime);
  CHECK(taken(at.link, 3).empty());
  CHECK(at.link.passed(3) && at.link.ended());
}

void rows_of_a_block_come_before_what_is_promised_behind_them() {
  Linked at;
  const Numbers rows(4);
  at.link.append(rows.piece(0, 1), 5);
  at.link.flush(lab::kEndOfTime);  // rows and the end at once
  CHECK(taken(at.link, 4).empty());
  CHECK(at.link.passed(4) && !at.link.ended());
  CHECK(taken(at.link, 5) == std::vector<std::int64_t>{0});
  CHECK(at.link.ended());
}

void chunks_are_used_again_when_their_reader_has_left_them() {
  for (const bool due : {false, true}) {
    Linked at(1, due);
    const Numbers rows(3 * kChunk);
    // Taken rows stay until the next call, whatever is appended meanwhile.
    at.link.append(rows.piece(0, kChunk), 0);
    at.link.flush(0);
    const FlowPiece first = at.link.next(0, kChunk);
    CHECK_EQ(first.rows, kChunk);
    at.link.append(rows.piece(kChunk, 2 * kChunk), 0);
    at.link.flush(0);
    for (std::int64_t i = 0; i < kChunk; ++i) CHECK_EQ(static_cast<const std::int64_t*>(first.columns[0])[i], i);
    std::vector<const void*> seen;
    for (int round = 0; round < 50; ++round) {
      const FlowPiece piece = at.link.next(0, 4096);
      CHECK(piece.rows != 0);
      seen.push_back(piece.columns[0]);
      at.link.append(rows.piece(piece.rows == kChunk ? 0 : 7, piece.rows), 0);
      at.link.flush(0);
    }
    std::sort(seen.begin(), seen.end());
    seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
    CHECK(seen.size() <= 5);  // 50 chunks went through them
    CHECK_EQ(static_cast<std::int64_t>(taken(at.link, 0, 4096, due).size()), 2 * kChunk);
  }
}

void a_link_is_full_from_so_many_unread_rows_on_and_takes_more_all_the_same() {
  Linked at(1);  // raised to `kLeastRows`
  const Numbers rows(8 * kChunk);
  at.link.append(rows.piece(0, FlowLink::kLeastRows), 0);
  CHECK(!at.link.full());
  at.link.append(rows.piece(0, 1), 0);
  CHECK(at.link.full());
  at.link.append(rows.piece(0, 3 * kChunk), 0);
  at.link.flush(1);
  CHECK(at.link.full());
  // A reader of all rows leaves the link no longer full: it still holds only the current chunk.
  CHECK_EQ(static_cast<std::int64_t>(taken(at.link, 0).size()), 7 * kChunk + 1);
  CHECK(!at.link.full());
  Linked large(2 * FlowLink::kLeastRows);
  large.link.append(rows.piece(0, 8 * kChunk), 0);
  CHECK(!large.link.full());
  large.link.append(rows.piece(0, 1), 0);
  CHECK(large.link.full());
}

void one_who_sleeps_is_woken_by_rows_promises_and_room() {
  Linked at(1);
  const Numbers rows(8 * kChunk);
  const auto asleep = [](lab::Parker& parker) { return parker.asleep(); };
  at.consumer.prepare();
  at.link.flush(0);  // repeats the initial promise
  at.consumer.prepare();
  at.link.flush(0);
  CHECK(asleep(at.consumer));  // nothing new
  at.link.append(rows.piece(0, 1), 0);
  at.link.flush(0);
  CHECK(!asleep(at.consumer));
  at.consumer.prepare();
  at.link.flush(1);
  CHECK(!asleep(at.consumer));
  at.link.append(rows.piece(0, 5 * kChunk), 1);
  at.link.flush(1);
  CHECK(at.link.full());
  at.producer.prepare();
  CHECK_EQ(taken(at.link, 0).size(), 1U);
  CHECK(asleep(at.producer));
  CHECK_EQ(at.link.next(1, kChunk).rows, kChunk - 1);
  CHECK(asleep(at.producer));
  CHECK_EQ(at.link.next(1, 1).rows, 1);  // in the next chunk
  CHECK(!asleep(at.producer));
}

void two_threads_see_each_row_once_in_order() {
  const int rounds = lab::test::share_of(60);
  for (int round = 0; round < rounds; ++round) {
    Linked at(1, round % 2 == 0);
    const Numbers rows(5000);
    constexpr std::int64_t kBlocks = 40;
    std::thread reader([&] {
      std::int64_t expected = 0;
      for (std::int64_t block = 0; block <= kBlocks;) {
        const auto got = taken(at.link, block, 1 + round * 100, round % 2 == 0);
        for (const std::int64_t ts : got) CHECK_EQ(ts, expected++);
        if (!got.empty() || !at.link.passed(block)) continue;
        CHECK_EQ(expected, std::min<std::int64_t>(5000, (block + 1) * 125));
        ++block;
      }
      CHECK(at.link.ended());
    });
    for (std::int64_t block = 0; block <= kBlocks; ++block) {
      const std::int64_t each = block == kBlocks ? 0 : 125;
      for (std::int64_t i = 0; i < each; i += 25) {
        at.link.append(rows.piece(block * 125 + i, 25), block);
        if (i % 50 == 0) at.link.flush(block);
      }
      at.link.flush(block == kBlocks ? lab::kEndOfTime : block + 1);
    }
    reader.join();
  }
}

}  // namespace

int main() {
  a_link_hands_on_rows_by_block_once_they_are_shown();
  rows_of_a_block_come_before_what_is_promised_behind_them();
  chunks_are_used_again_when_their_reader_has_left_them();
  a_link_is_full_from_so_many_unread_rows_on_and_takes_more_all_the_same();
  one_who_sleeps_is_woken_by_rows_promises_and_room();
  two_threads_see_each_row_once_in_order();
  return 0;
}
