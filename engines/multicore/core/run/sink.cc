#include "run/sink.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <queue>
#include <utility>

namespace lab {
namespace {

// Places that are there from the start: a worker that makes room for them gets memory of its own from the allocator,
// which is fresh.
constexpr std::size_t kChunks = 64;

}  // namespace

OutputBuffer::OutputBuffer(std::vector<std::int32_t> itemsizes, std::int64_t largest, std::size_t chunk_bytes)
    : OutputBuffer(std::make_shared<OutputPool>(std::move(itemsizes), largest, chunk_bytes)) {}

OutputBuffer::OutputBuffer(std::shared_ptr<OutputPool> pool) : pool_(std::move(pool)) {
  chunks_.reserve(kChunks);
  more_segments_.reserve(kChunks);
  first_segments_.resize(kFirstSegments);
  segments_end_ = first_segments_.data() + kFirstSegments;
  pool_->add(1);
  grow();
}

void OutputBuffer::grow() {
  if (spill_ != nullptr) spill_->check(waiting());
  if (!chunks_.empty()) chunks_.back().rows = emit_.count;
  Chunk chunk;
  chunk.memory = pool_->take();
  std::byte* at = chunk.memory.get();
  for (const std::int32_t size : itemsizes()) {
    chunk.columns.push_back(at);
    at += static_cast<std::size_t>(size) * static_cast<std::size_t>(chunk_rows());
  }
  chunks_.push_back(std::move(chunk));
  emit_.columns = chunks_.back().columns.data();
  emit_.count = 0;
  emit_.capacity = chunk_rows();
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
  pool_->give(std::move(chunks_.front().memory));
  chunks_.erase(chunks_.begin());
}

void OutputBuffer::note(std::int32_t mailbox, std::int32_t stream, std::int64_t first_event, std::int64_t added,
                        bool fresh) {
  if (fresh || segment_ == nullptr || segment_->stream != stream || segment_->mailbox != mailbox) {
    segment_ = segment_ == nullptr ? first_segments_.data() : segment_ + 1;
    if (segment_ == segments_end_) grow_segments();
    *segment_ = {rows_, first_event, stream, mailbox};
    ++segment_count_;
  }
  rows_ += added;
}

void OutputBuffer::grow_segments() {
  more_segments_.push_back(pool_->take());
  segment_ = reinterpret_cast<Segment*>(more_segments_.back().get());
  segments_end_ = segment_ + segments_of_a_chunk();
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
    // The segments in order: the first ones, then chunk by chunk.
    std::size_t left = buffer.segment_count_, chunks = 0;
    const OutputBuffer::Segment* at = buffer.first_segments_.data();
    const OutputBuffer::Segment* room_end = at + buffer.first_segments_.size();
    const auto look = [&]() -> const OutputBuffer::Segment* {
      if (left == 0) return nullptr;
      if (at == room_end) {
        at = reinterpret_cast<const OutputBuffer::Segment*>(buffer.more_segments_[chunks++].get());
        room_end = at + buffer.segments_of_a_chunk();
      }
      --left;
      return at++;
    };
    const OutputBuffer::Segment* segment = look();
    const OutputBuffer::Segment* next = look();
    for (const OutputBuffer::Chunk& chunk : buffer.chunks_) {
      const bool last = &chunk == &buffer.chunks_.back();
      const std::int64_t rows = last ? buffer.emit_.count : chunk.rows;
      std::int64_t row = 0;
      while (row < rows) {
        while (next != nullptr && next->row <= chunk_first + row) {
          segment = next;
          next = look();
        }
        const std::int64_t end = next == nullptr ? rows : std::min(rows, next->row - chunk_first);
        Sequence& sequence = by_origin[{segment->mailbox, segment->stream}];
        sequence.stream = segment->stream;
        sequence.pieces.push_back({&chunk, row, end, segment->first_event});
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
