// Implements OutputBuffer and merge_outputs; see run/sink.h.
#include "run/sink.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <queue>
#include <utility>

namespace lab {
namespace {

// Number of chunks for which vectors have room at the start. Later growth would need fresh memory during the run.
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
  std::byte* column = chunk.memory.get();
  for (const std::int32_t size : itemsizes()) {
    chunk.columns.push_back(column);
    column += static_cast<std::size_t>(size) * static_cast<std::size_t>(chunk_rows());
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
    emit_.count = 0;  // the next outputs reuse this memory, which is in the cache
    return;
  }
  pool_->give(std::move(chunks_.front().memory));
  chunks_.erase(chunks_.begin());
}

void OutputBuffer::add_rows(std::int32_t mailbox, std::int32_t stream, std::int64_t first_event, std::int64_t added,
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

const OutputBuffer::Segment& OutputBuffer::segment(std::size_t number) const noexcept {
  if (number < first_segments_.size()) return first_segments_[number];
  number -= first_segments_.size();
  const auto* chunk = reinterpret_cast<const Segment*>(more_segments_[number / segments_of_a_chunk()].get());
  return chunk[number % segments_of_a_chunk()];
}

void OutputBuffer::since(Mark& mark, std::vector<OutputPiece>& into) const {
  while (true) {
    const Chunk& chunk = chunks_[mark.chunk];
    const bool is_last = &chunk == &chunks_.back();
    const std::int64_t rows = is_last ? emit_.count : chunk.rows;
    while (mark.row < rows) {
      const auto start_of = [&](std::size_t number) { return segment(number).row - mark.before; };
      while (mark.segment + 1 < segment_count_ && start_of(mark.segment + 1) <= mark.row) ++mark.segment;
      const std::int64_t end = mark.segment + 1 < segment_count_ ? std::min(rows, start_of(mark.segment + 1)) : rows;
      const Segment& current = segment(mark.segment);
      into.push_back({chunk.columns.data(), mark.row, end, current.first_event, current.stream, current.mailbox});
      mark.row = end;
    }
    if (is_last) return;
    ++mark.chunk;
    mark.before += rows;
    mark.row = 0;
  }
}

namespace {

// Merges the sequences of all (mailbox, stream) pairs.
class OutputMerge {
 public:
  struct Sequence {
    std::int32_t stream;
    std::vector<const OutputPiece*> pieces;
    std::size_t piece = 0;
    std::int64_t row = 0;
    std::int64_t latest = 0;  // running maximum of ts, the key of a late row

    const OutputPiece& current_piece() const { return *pieces[piece]; }
    void update_latest() {
      const std::int64_t ts = static_cast<const std::int64_t*>(current_piece().columns[0])[row];
      latest = std::max(latest, ts);
    }
  };

  // The pieces must outlive the merge.
  explicit OutputMerge(std::span<const std::vector<OutputPiece>> buffers) {
    for (const std::vector<OutputPiece>& pieces : buffers) add(pieces);
  }

  void run(std::span<void* const> columns, std::span<const std::int32_t> itemsizes) {
    const auto later = [](const Sequence* a, const Sequence* b) {
      if (a->latest != b->latest) return a->latest > b->latest;
      if (a->stream != b->stream) return a->stream > b->stream;
      return a->current_piece().first_event > b->current_piece().first_event;
    };
    std::priority_queue<Sequence*, std::vector<Sequence*>, decltype(later)> heads(later);
    for (Sequence& sequence : sequences_) {
      sequence.row = sequence.current_piece().begin;
      sequence.latest = std::numeric_limits<std::int64_t>::min();
      sequence.update_latest();
      heads.push(&sequence);
    }
    std::int64_t target = 0;
    while (!heads.empty()) {
      Sequence* head = heads.top();
      heads.pop();
      const Sequence* next = heads.empty() ? nullptr : heads.top();
      bool has_more = true;
      do {  // consecutive rows that precede all other sequences
        const OutputPiece& piece = head->current_piece();
        const std::int64_t first = head->row;
        do {
          ++head->row;
          if (head->row == piece.end) break;
          head->update_latest();
        } while (next == nullptr || !later(head, next));
        copy(piece, first, head->row, columns, itemsizes, target);
        target += head->row - first;
        if (head->row == piece.end) {
          ++head->piece;
          has_more = head->piece < head->pieces.size();
          if (has_more) {
            head->row = head->current_piece().begin;
            head->update_latest();
          }
        }
      } while (has_more && (next == nullptr || !later(head, next)));
      if (has_more) heads.push(head);
    }
  }

 private:
  static void copy(const OutputPiece& piece, std::int64_t begin, std::int64_t end, std::span<void* const> columns,
                   std::span<const std::int32_t> itemsizes, std::int64_t target) {
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const auto size = static_cast<std::size_t>(itemsizes[c]);
      std::memcpy(static_cast<std::byte*>(columns[c]) + static_cast<std::size_t>(target) * size,
                  static_cast<const std::byte*>(piece.columns[c]) + static_cast<std::size_t>(begin) * size,
                  static_cast<std::size_t>(end - begin) * size);
    }
  }

  void add(const std::vector<OutputPiece>& pieces) {
    std::map<std::pair<std::int32_t, std::int32_t>, Sequence> by_origin;
    for (const OutputPiece& piece : pieces) {
      Sequence& sequence = by_origin[{piece.mailbox, piece.stream}];
      sequence.stream = piece.stream;
      sequence.pieces.push_back(&piece);
    }
    for (auto& [origin, sequence] : by_origin) sequences_.push_back(std::move(sequence));
  }

  std::vector<Sequence> sequences_;
};

}  // namespace

void merge_pieces(std::span<const std::vector<OutputPiece>> buffers, std::span<void* const> columns,
                  std::span<const std::int32_t> itemsizes) {
  OutputMerge(buffers).run(columns, itemsizes);
}

void merge_outputs(std::span<const OutputBuffer* const> buffers, std::span<void* const> columns) {
  if (buffers.empty()) return;
  std::vector<std::vector<OutputPiece>> pieces(buffers.size());
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    OutputBuffer::Mark start;
    buffers[i]->since(start, pieces[i]);
  }
  merge_pieces(pieces, columns, buffers.front()->itemsizes());
}

}  // namespace lab
