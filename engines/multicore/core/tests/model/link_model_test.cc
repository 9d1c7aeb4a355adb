// A link of a dataflow graph in every run of its producer and its consumer: a consumer that sees a promise has seen the
// rows before it. Rows and chunks are there when taken and not written meanwhile, and no thread sleeps forever.
#include "model/kernel.h"
#include "model/mutants.h"

#include "model/atomics.h"

#include "dataflow/link.cc"
#include "run/parker.cc"

namespace lab {

// Gives access to the place where the producer writes, to find races on the memory of a chunk.
struct FlowLinkProbe {
  static std::int64_t rows_left_in_chunk(const FlowLink& link) {
    return FlowLink::kChunkRows - (link.appended_ - link.chunks_.back()->first) % FlowLink::kChunkRows;
  }
  static const std::byte* chunk(const FlowLink& link) { return link.chunks_.back()->memory.get(); }
};

}  // namespace lab

namespace {

constexpr std::int64_t kChunk = lab::FlowLink::kChunkRows;
constexpr std::array<std::int32_t, 1> kColumns{8};
constexpr std::size_t kMaxChunks = 8;
constexpr std::size_t kMaxSteps = 4;

// Rows of a block, published with a promise.
struct Step {
  std::int64_t block;
  std::int64_t rows;
  std::int64_t promise;
};
using Steps = std::vector<Step>;

// The producer appends and flushes, step by step, once there is room, like a worker. The consumer takes block by block
// until it has all rows, and the end if it is promised. If `sleeps`, the consumer sleeps when there are no rows.
// Otherwise, runs in which it comes too early are left.
class Linked final : public lab::model::Program {
 public:
  Linked(const Steps& steps, std::int64_t takes, bool sleeps) : steps_(steps), takes_(takes), sleeps_(sleeps) {}
  std::size_t threads() const override { return 2; }
  void run(std::size_t thread) override {
    if (thread == 0) {
      produce();
    } else {
      consume();
    }
  }

 private:
  void produce() {
    static std::int64_t ts[kChunk] = {};  // of all rows
    const void* const columns[] = {ts};
    for (std::size_t index = 0; index < steps_.size(); ++index) {
      const Step& step = steps_[index];
      lab::model::await(producer_, kMaxChecks, [this] { return !link_.full(); });
      if (step.rows != 0) written_[index].set(7);
      for (std::int64_t left = step.rows; left > 0;) {
        const std::int64_t rows = std::min(left, lab::FlowLinkProbe::rows_left_in_chunk(link_));
        link_.append({columns, 0, rows, nullptr}, step.block);
        begin_chunk(lab::FlowLinkProbe::chunk(link_));
        left -= rows;
      }
      link_.flush(step.promise);
    }
  }

  void consume() {
    const bool ends = steps_.back().promise == lab::kEndOfTime;
    for (std::int64_t block = 0; ends || taken_ != takes_;) {
      lab::FlowPiece piece;
      const auto has_news = [&] {
        piece = link_.next(block, 2 * kChunk);
        return piece.rows != 0 || link_.passed(block);
      };
      if (sleeps_) {
        lab::model::await(consumer_, kMaxChecks, has_news);
      } else if (!has_news()) {
        lab::model::leave();
      }
      if (piece.rows != 0) {
        take(piece, block);
      } else if (link_.ended()) {
        break;
      } else {
        ++block;
      }
    }
    lab::model::check(taken_ == takes_, "the end was seen before all rows were");
  }

  void take(const lab::FlowPiece& piece, std::int64_t block) {
    const auto* first = reinterpret_cast<const std::byte*>(piece.columns[0]) - kChunk * 8;  // after the blocks
    const auto* blocks = reinterpret_cast<const std::int64_t*>(first) + piece.base;
    chunk_of(first).get();
    for (std::int64_t i = 0; i < piece.rows; ++i) {
      lab::model::check(blocks[i] == block, "a block was passed before all of its rows were seen");
    }
    std::int64_t end = 0;
    for (std::size_t index = 0; index < steps_.size(); ++index) {
      const std::int64_t begin = end;
      end += steps_[index].rows;
      if (begin < taken_ + piece.rows && taken_ < end) {
        lab::model::check(written_[index].get() == 7, "rows are not there when they are taken");
      }
    }
    taken_ += piece.rows;
  }

  void begin_chunk(const std::byte* memory) {
    if (memory == last_chunk_) return;
    last_chunk_ = memory;
    if (std::ranges::find(memories_, memory) == memories_.end()) *std::ranges::find(memories_, nullptr) = memory;
    chunk_of(memory).set(7);
  }
  lab::model::Plain<int>& chunk_of(const std::byte* memory) {
    return chunks_[static_cast<std::size_t>(std::ranges::find(memories_, memory) - memories_.begin())];
  }

  static constexpr int kMaxChecks = 1;

  const Steps& steps_;
  const std::int64_t takes_;
  const bool sleeps_;
  lab::Parker producer_;
  lab::Parker consumer_;
  lab::FlowLink link_{kColumns, lab::FlowLink::kMinRows, false, producer_, consumer_};
  lab::model::Plain<int> written_[kMaxSteps];  // of each step, written before its rows
  lab::model::Plain<int> chunks_[kMaxChunks];  // of each chunk's memory, written where it begins
  std::array<const std::byte*, kMaxChunks> memories_{};
  const std::byte* last_chunk_ = nullptr;
  std::int64_t taken_ = 0;
};

lab::model::Make linked(Steps steps, std::int64_t takes, bool sleeps) {
  return [=] { return std::make_unique<Linked>(steps, takes, sleeps); };
}

}  // namespace

int main() {
  constexpr std::int64_t kEnd = lab::kEndOfTime;
  constexpr std::int64_t kFull = lab::FlowLink::kMinRows + kChunk;
  const std::string left = lab::model::not_found(
      "dataflow/link.", {
                            linked({{0, 1, kEnd}}, 1, true),
                            linked({{0, 1, 1}, {1, 1, 2}}, 2, false),
                            linked({{0, 1, 0}, {0, 1, 0}}, 2, true),
                            linked({{0, 1, 0}, {0, 0, kEnd}}, 1, true),
                            // The producer writes where the consumer has been, with and without a wait for room.
                            linked({{0, 2 * kChunk, 0}, {0, 1, 0}}, 2 * kChunk, false),
                            linked({{0, kFull, 0}, {0, 1, 0}}, 2 * kChunk, false),
                        });
  CHECK_EQ(left, "");  // changes of its atomic operations that no run detects: none
  return 0;
}
