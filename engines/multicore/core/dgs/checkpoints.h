// Consistent snapshots of a run while it runs: at cuts of the total order of all events, which everybody finds alone.
//
// Source: DGS paper, appendix D.2: the joined state at a root is a consistent snapshot of all below it.
// Here nobody joins for it. A cut lies just before an event that all else may depend on. A mailbox that comes to it has
// processed what is before the cut and nothing behind it, so its leaves' states are at rest: it copies them, and goes
// on. The states that the trees would have had joined at the cut are joined later, from the copies, by who writes them.
// It is Chandy and Lamport's snapshot without markers, as the total order tells everybody where they would be.
//
// One snapshot is under way at a time. A cut to which the first mailbox comes while one is, is skipped, by all; and with it
// some behind it where nobody will ask for a stop, a quarter of what has been skipped for this snapshot and kMostAhead at
// most: to come to each cut only to hear that it is skipped took a program with a cut every 3 us a tenth of its rate. At a
// snapshot that *stops* mailboxes do not go on: the plan is changed there (dgs/phases.h).
//
// Laws:
//  - `word_` = (cuts decided, whether the cut that is taken stops, that cut plus 1 or 0). Cuts are decided in order, each once, by the first
//    mailbox that comes to it or to one before it; all come to cuts in order, and leave out none but what they know to be
//    skipped. So a mailbox that comes to a decided cut learns all that it needs from the word: a cut that was taken stays
//    in it until every mailbox has given its part. Behind the cut that is taken, all that are decided are skipped.
//  - `left_`: mailboxes that have not given their part; whoever gives the last hands the snapshot to the writer.
//  - The parts belong to their mailboxes from the decision to that, and to the writer until `free`.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "dgs/forest.h"
#include "run/cacheline.h"
#include "run/event_key.h"
#include "run/sink.h"

namespace lab {

// Between the events before position `position` of stream `key.stream`, with all of other streams that precede it in the
// total order, and that event.
struct Cut {
  EventKey key;
  std::int64_t position;
};

class Checkpoints {
 public:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  // `cuts`: in total order, each once. `every`: a snapshot is taken whenever none is under way; else only those that stop.
  // `stops`: some may be asked to stop, so that no cut is decided before somebody comes to it. Throws std::invalid_argument.
  explicit Checkpoints(std::vector<Cut> cuts, bool every = true, bool stops = true);

  // Before the run, or while all are stopped. A mailbox with its output and the states that it copies; `out` may be null:
  // nobody asks for outputs.
  struct Leaf {
    std::int32_t tree;
    std::int32_t node;
    const void* state;
    std::int64_t bytes;
  };
  struct Own {  // the state of a crossing that it takes part in
    std::int32_t crossing;
    const void* state;
    std::int64_t bytes;
  };
  void add_part(const OutputBuffer* out, const std::vector<Leaf>& leaves, const std::vector<Own>& own);
  void complete_parts();  // there will be no more
  // While all are stopped: forgets the parts, whose copies nobody asks for any more. Cuts begin behind the snapshot's.
  void forget_parts();

  const Cut* begin() const noexcept { return cuts_.data() + first_; }
  const Cut* end() const noexcept { return cuts_.data() + cuts_.size(); }

  // Whether a cut to which a mailbox has come is taken: then it must `give` its part. Any mailbox, cuts in order.
  bool taken(const Cut& cut) noexcept;
  // The cut that it comes to behind that one: the next that is taken, or that nobody has decided yet.
  const Cut* behind(const Cut& cut) const noexcept;
  // Whether that snapshot stops whoever comes to it. Between `taken` and `give`, or from `wait` to `free`.
  bool stops() const noexcept {
    // relaxed: the word keeps it until `free`; who asks has acquired it by `taken` or `wait`.
    return (word_.load(std::memory_order_relaxed) & kStops) != 0;
  }
  void give(std::int32_t part);

  // The writer's. Waits for a snapshot; false: none will come.
  bool wait();
  // Asks for a snapshot that stops, at the first cut from number `from` on that is not decided yet and at which none is
  // under way. The writer's.
  void stop_from(std::int64_t from) noexcept {
    // relaxed: a wish; what comes of it is in the word.
    stop_from_.store(from, std::memory_order_relaxed);
  }
  // Of the snapshot that `wait` found.
  std::int64_t cut() const noexcept { return current_; }  // its number
  // Joins the copies of each tree into its state at the root: `bytes` each, in the order of the trees. Throws
  // std::runtime_error when a join raises.
  void join(const Forest& forest, std::int64_t bytes, std::span<std::byte> roots) const;
  std::span<const std::byte> own(std::int32_t crossing) const;
  // Outputs of the events between the last snapshot and this.
  std::int64_t rows() const noexcept;
  void collect(std::span<void* const> columns, std::span<const std::int32_t> itemsizes) const;
  void free();  // another cut may be taken

  // Ends `wait`, at once if `now`, else behind a snapshot that is complete. Any thread.
  void close(bool now);
  // After the run, without a snapshot under way: the outputs since the last one are what `rows` and `collect` know.
  void take_rest();

  std::int64_t decided() const noexcept;
  std::int64_t taken_count() const noexcept { return taken_; }  // after the run

 private:
  struct alignas(kCacheLine) Part {
    const OutputBuffer* out;
    std::vector<Leaf> leaves;
    std::vector<Own> own;
    std::vector<std::int64_t> copies;  // of leaves, then own states, each from a unit of states on
    OutputBuffer::Mark mark;
  };
  static constexpr std::uint64_t kStops = 0x8000'0000;  // in the word
  static constexpr std::uint64_t kMostAhead = 32;       // where cuts have become rare, so many checkpoints are missed
  std::uint64_t skipped_with(std::uint64_t index, std::uint64_t under_way) const noexcept;
  static std::int64_t units(std::int64_t bytes) noexcept { return (bytes + kStateUnit - 1) / kStateUnit; }

  const std::vector<Cut> cuts_;
  const bool every_;
  const bool stops_;
  std::int64_t first_ = 0;  // cut of the parts that there are
  std::vector<std::unique_ptr<Part>> parts_;
  std::vector<std::vector<OutputPiece>> outputs_;  // by part
  // Where copies lie, made by `complete_parts`.
  std::vector<std::vector<std::pair<std::int32_t, const std::int64_t*>>> leaf_copies_;  // by tree: (node, its copy)
  std::vector<std::span<const std::byte>> own_copies_;                                  // by crossing

  alignas(kCacheLine) std::atomic<std::uint64_t> word_{0};
  alignas(kCacheLine) std::atomic<std::int64_t> left_{0};
  std::atomic<std::int64_t> stop_from_{kNever};  // written by the writer, read by who decides

  std::mutex mutex_;  // guards the rest; a worker holds it once a snapshot, for a store
  std::condition_variable changed_;
  bool ready_ = false;
  bool closed_ = false;
  bool cut_short_ = false;
  std::int64_t current_ = -1;  // written before `ready_`
  std::int64_t taken_ = 0;     // the writer's
};

}  // namespace lab
