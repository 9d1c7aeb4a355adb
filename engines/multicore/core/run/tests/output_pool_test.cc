// The memory for outputs exists before a run, for any worker. The pool counts additional chunks.
#include "run/output_pool.h"

#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "check.h"

#include "run/sink.h"

namespace {

constexpr std::size_t kChunkBytes = 4096;

std::shared_ptr<lab::OutputPool> pool_of(std::int64_t rows, std::int64_t unused = 0) {
  auto pool = std::make_shared<lab::OutputPool>(std::vector<std::int32_t>{8, 4}, 1, kChunkBytes);
  pool->reserve(rows, unused);
  return pool;
}

// Emits rows one by one and requests `room` each time. At the end of a chunk, the room may be missing.
void emit(lab::OutputBuffer& buffer, std::int64_t rows, std::int64_t room = 1) {
  for (std::int64_t i = 0; i < rows; ++i) {
    lab::Emit* out = buffer.open(room);
    static_cast<std::int64_t*>(out->columns[0])[out->count] = i;
    static_cast<std::int32_t*>(out->columns[1])[out->count] = static_cast<std::int32_t>(i);
    ++out->count;
    buffer.close(0, 0, i, false);
  }
}

void reserved_rows_need_no_new_chunk_for_any_emitter() {
  constexpr std::int64_t rows = 10'000;
  for (const std::int64_t first : {std::int64_t{0}, std::int64_t{1}, rows / 3, rows / 2, rows}) {
    const auto pool = pool_of(rows);
    lab::OutputBuffer a(pool), b(pool);
    emit(a, first);
    emit(b, rows - first);
    CHECK_EQ(pool->grown(), 0);
  }
}

void full_chunks_need_no_new_one_either() {
  const std::int64_t rows = 6 * pool_of(0)->chunk_rows();
  const auto pool = pool_of(rows);
  lab::OutputBuffer a(pool), b(pool);
  emit(a, rows / 2);
  emit(b, rows / 2);
  a.open(1);
  b.open(1);
  CHECK_EQ(pool->grown(), 0);
}

void rows_left_free_at_the_end_of_chunks_are_reserved_too() {
  constexpr std::int64_t rows = 10'000, room = 100;
  const auto pool = pool_of(rows, room);
  lab::OutputBuffer a(pool), b(pool);
  emit(a, rows / 2, room);
  emit(b, rows / 2, room);
  CHECK_EQ(pool->grown(), 0);
}

// If one event may fill a chunk, the minimum number of rows in a chunk is no bound: each output could have its own
// chunk.
void at_most_twice_the_bytes_of_the_rows_are_reserved() {
  for (const std::int64_t largest : {100, 300, 1'000, 1'024}) {
    for (const std::int64_t rows : {100, 10'000}) {
      const auto pool = std::make_shared<lab::OutputPool>(std::vector<std::int32_t>{8, 4}, largest, kChunkBytes);
      pool->reserve(rows, largest);
      std::vector<lab::OutputPool::Memory> taken;
      while (pool->grown() == 0) taken.push_back(pool->take());
      const auto reserved = static_cast<std::int64_t>(taken.size()) - 1;
      CHECK(reserved >= rows / pool->chunk_rows());
      CHECK(reserved <= 2 * rows / pool->chunk_rows() + 1);
    }
  }
}

void events_that_emit_all_they_may_need_no_new_chunk() {
  for (const std::int64_t largest : {100, 300, 1'000, 1'024}) {
    const auto pool = std::make_shared<lab::OutputPool>(std::vector<std::int32_t>{8, 4}, largest, kChunkBytes);
    constexpr std::int64_t events = 30;
    pool->reserve(events * largest, largest);
    lab::OutputBuffer buffer(pool);
    for (std::int64_t event = 0; event < events; ++event) {
      buffer.open(largest)->count += largest;
      buffer.close(0, 0, event, false);
    }
    CHECK_EQ(pool->grown(), 0);
  }
}

void chunks_that_are_not_reserved_are_counted() {
  const auto pool = pool_of(0);
  lab::OutputBuffer a(pool);
  emit(a, pool->chunk_rows());
  CHECK_EQ(pool->grown(), 0);
  emit(a, pool->chunk_rows() + 1);
  CHECK_EQ(pool->grown(), 2);
}

void reserved_bytes_are_limited() {
  constexpr std::int64_t limit = std::int64_t{256} << 20;
  const auto pool = std::make_shared<lab::OutputPool>(std::vector<std::int32_t>{8, 4});
  pool->reserve_bytes(2 * limit, 1);
  std::vector<lab::OutputPool::Memory> taken;
  while (pool->grown() == 0) taken.push_back(pool->take());
  const auto bytes = static_cast<std::int64_t>((taken.size() - 1) * pool->chunk_bytes());
  CHECK(bytes >= limit);
  CHECK(bytes <= limit + limit / 64);
}

void chunks_that_were_given_back_are_taken_again() {
  const auto pool = pool_of(0);
  pool->add(3);
  for (int i = 0; i < 100; ++i) {
    auto first = pool->take();
    auto second = pool->take();
    auto third = pool->take();
    CHECK(first != nullptr && second != nullptr && third != nullptr);
    pool->give(std::move(first));
    pool->give(std::move(second));
    pool->give(std::move(third));
  }
  CHECK_EQ(pool->grown(), 0);
}

// In any order of the threads, each row belongs to one thread.
void threads_take_chunks_at_the_same_time() {
  constexpr int threads = 4;
  constexpr std::int64_t rows = 20'000;
  const auto pool = pool_of(threads * rows);
  std::vector<std::unique_ptr<lab::OutputBuffer>> buffers;
  for (int i = 0; i < threads; ++i) buffers.push_back(std::make_unique<lab::OutputBuffer>(pool));
  {
    std::vector<std::jthread> all;
    for (const auto& buffer : buffers) all.emplace_back([&buffer] { emit(*buffer, rows); });
  }
  CHECK_EQ(pool->grown(), 0);
  for (const auto& buffer : buffers) {
    std::int64_t next = 0;
    while (buffer->waiting() != 0) {
      const lab::OutputBuffer::Piece piece = buffer->oldest();
      for (std::int64_t i = piece.row; i < piece.row + piece.rows; ++i, ++next) {
        CHECK_EQ(static_cast<const std::int64_t*>(piece.columns[0])[i], next);
      }
      buffer->take(piece.rows);
    }
    CHECK_EQ(next, rows);
  }
}

}  // namespace

int main() {
  reserved_rows_need_no_new_chunk_for_any_emitter();
  full_chunks_need_no_new_one_either();
  rows_left_free_at_the_end_of_chunks_are_reserved_too();
  at_most_twice_the_bytes_of_the_rows_are_reserved();
  events_that_emit_all_they_may_need_no_new_chunk();
  chunks_that_are_not_reserved_are_counted();
  reserved_bytes_are_limited();
  chunks_that_were_given_back_are_taken_again();
  threads_take_chunks_at_the_same_time();
  return 0;
}
