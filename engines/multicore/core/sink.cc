#include "sink.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <new>
#include <queue>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace lab {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

// Chunks that are kept when their rows were taken: more are given back.
constexpr std::size_t kSpares = 2;

std::size_t row_bytes(std::span<const std::int32_t> itemsizes) {
  std::size_t total = 0;
  for (const std::int32_t size : itemsizes) total += static_cast<std::size_t>(size);
  return total;
}

}  // namespace

OutputBuffer::OutputBuffer(std::vector<std::int32_t> itemsizes, std::int64_t largest, std::size_t chunk_bytes)
    : itemsizes_(std::move(itemsizes)), page_(chunk_bytes < kHugePage ? kPage : kHugePage) {
  // Columns start on 64-byte boundaries, so a multiple of 64 rows keeps every column aligned.
  const std::size_t row = row_bytes(itemsizes_);
  const std::size_t least = (static_cast<std::size_t>(largest) + 63) / 64 * 64;
  const std::size_t rows = std::max(chunk_bytes / row / 64 * 64, least);
  chunk_rows_ = static_cast<std::int64_t>(rows);
  chunk_bytes_ = (rows * row + page_ - 1) / page_ * page_;
  // The first chunk is there, and touched, before the clock starts; later ones are paid for as they come.
  grow();
  std::memset(chunks_.back().memory.get(), 0, chunk_bytes_);
}

void OutputBuffer::reserve(std::int64_t rows) {
  const std::int64_t wanted = (rows + chunk_rows_ - 1) / chunk_rows_;
  while (static_cast<std::int64_t>(chunks_.size() + spare_.size()) < wanted) {
    spare_.push_back(fresh_memory());
    std::memset(spare_.back().get(), 0, chunk_bytes_);
  }
}

OutputBuffer::Memory OutputBuffer::fresh_memory() const {
  void* memory = std::aligned_alloc(page_, chunk_bytes_);
  if (memory == nullptr) throw std::bad_alloc();
#if defined(__linux__)
  if (page_ == kHugePage) madvise(memory, chunk_bytes_, MADV_HUGEPAGE);  // advice: failure only costs speed
#endif
  return {static_cast<std::byte*>(memory), &std::free};
}

void OutputBuffer::grow() {
  if (!chunks_.empty()) chunks_.back().rows = emit_.count;
  Chunk chunk;
  if (spare_.empty()) {
    chunk.memory = fresh_memory();
  } else {
    chunk.memory = std::move(spare_.back());
    spare_.pop_back();
  }
  std::byte* at = chunk.memory.get();
  for (const std::int32_t size : itemsizes_) {
    chunk.columns.push_back(at);
    at += static_cast<std::size_t>(size) * static_cast<std::size_t>(chunk_rows_);
  }
  chunks_.push_back(std::move(chunk));
  emit_.columns = chunks_.back().columns.data();
  emit_.count = 0;
  emit_.capacity = chunk_rows_;
}

void OutputBuffer::take(std::int64_t rows) {
  taken_ += rows;
  front_ += rows;
  if (front_ != (chunks_.size() == 1 ? emit_.count : chunks_.front().rows)) return;
  front_ = 0;
  if (chunks_.size() == 1) {
    emit_.count = 0;  // the next outputs come to lie where these were, which is in the cache
    return;
  }
  if (spare_.size() < kSpares) spare_.push_back(std::move(chunks_.front().memory));
  chunks_.erase(chunks_.begin());
}

void OutputBuffer::note(std::int32_t mailbox, std::int32_t stream, std::int64_t first_event, std::int64_t added,
                        bool fresh) {
  if (fresh || segments_.empty() || segments_.back().stream != stream || segments_.back().mailbox != mailbox) {
    segments_.push_back({rows_, first_event, stream, mailbox});
  }
  rows_ += added;
}

// The sequence of one (mailbox, stream) pair while it is merged.
class OutputMerge {
 public:
  struct Piece {  // consecutive rows within one chunk
    const OutputBuffer::Chunk* chunk;
    std::int64_t begin, end;
    std::int64_t first_event;
  };
  struct Sequence {
    std::int32_t stream;
    std::vector<Piece> pieces;
    std::size_t piece = 0;
    std::int64_t row = 0;
    std::int64_t latest = 0;  // running maximum of ts: the key of a late row

    const Piece& now() const { return pieces[piece]; }
    void look() {
      const std::int64_t ts = static_cast<const std::int64_t*>(now().chunk->columns[0])[row];
      latest = std::max(latest, ts);
    }
  };

  explicit OutputMerge(std::span<const OutputBuffer* const> buffers) {
    for (const OutputBuffer* buffer : buffers) add(*buffer);
  }

  void run(std::span<void* const> columns, std::span<const std::int32_t> itemsizes) {
    const auto later = [](const Sequence* a, const Sequence* b) {
      if (a->latest != b->latest) return a->latest > b->latest;
      if (a->stream != b->stream) return a->stream > b->stream;
      return a->now().first_event > b->now().first_event;
    };
    std::priority_queue<Sequence*, std::vector<Sequence*>, decltype(later)> heads(later);
    for (Sequence& sequence : sequences_) {
      sequence.row = sequence.now().begin;
      sequence.latest = std::numeric_limits<std::int64_t>::min();
      sequence.look();
      heads.push(&sequence);
    }
    std::int64_t target = 0;
    while (!heads.empty()) {
      Sequence* head = heads.top();
      heads.pop();
      const Sequence* next = heads.empty() ? nullptr : heads.top();
      bool more = true;
      do {  // a run of rows that precede every other sequence
        const Piece& piece = head->now();
        const std::int64_t first = head->row;
        do {
          ++head->row;
          if (head->row == piece.end) break;
          head->look();
        } while (next == nullptr || !later(head, next));
        copy(*piece.chunk, first, head->row, columns, itemsizes, target);
        target += head->row - first;
        if (head->row == piece.end) {
          ++head->piece;
          more = head->piece < head->pieces.size();
          if (more) {
            head->row = head->now().begin;
            head->look();
          }
        }
      } while (more && (next == nullptr || !later(head, next)));
      if (more) heads.push(head);
    }
  }

 private:
  static void copy(const OutputBuffer::Chunk& chunk, std::int64_t begin, std::int64_t end,
                   std::span<void* const> columns, std::span<const std::int32_t> itemsizes, std::int64_t target) {
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const auto size = static_cast<std::size_t>(itemsizes[c]);
      std::memcpy(static_cast<std::byte*>(columns[c]) + static_cast<std::size_t>(target) * size,
                  static_cast<const std::byte*>(chunk.columns[c]) + static_cast<std::size_t>(begin) * size,
                  static_cast<std::size_t>(end - begin) * size);
    }
  }

  void add(const OutputBuffer& buffer) {
    std::map<std::pair<std::int32_t, std::int32_t>, Sequence> by_origin;
    std::int64_t chunk_first = 0;
    std::size_t s = 0;
    for (const OutputBuffer::Chunk& chunk : buffer.chunks_) {
      const bool last = &chunk == &buffer.chunks_.back();
      const std::int64_t rows = last ? buffer.emit_.count : chunk.rows;
      std::int64_t row = 0;
      while (row < rows) {
        while (s + 1 < buffer.segments_.size() && buffer.segments_[s + 1].row <= chunk_first + row) ++s;
        const OutputBuffer::Segment& segment = buffer.segments_[s];
        std::int64_t end = rows;
        if (s + 1 < buffer.segments_.size()) end = std::min(end, buffer.segments_[s + 1].row - chunk_first);
        Sequence& sequence = by_origin[{segment.mailbox, segment.stream}];
        sequence.stream = segment.stream;
        sequence.pieces.push_back({&chunk, row, end, segment.first_event});
        row = end;
      }
      chunk_first += rows;
    }
    for (auto& [origin, sequence] : by_origin) sequences_.push_back(std::move(sequence));
  }

  std::vector<Sequence> sequences_;
};

void merge_outputs(std::span<const OutputBuffer* const> buffers, std::span<void* const> columns) {
  if (buffers.empty()) return;
  OutputMerge(buffers).run(columns, buffers.front()->itemsizes());
}

}  // namespace lab
