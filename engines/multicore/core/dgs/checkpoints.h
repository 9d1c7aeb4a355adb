// Checkpoints: takes consistent snapshots of a DgsRun (dgs/dgs_run.h) while its mailboxes (dgs/mailbox.h) work.
//
// Source: DGS paper, appendix D.2: the joined state at a root is a consistent snapshot of all states below it. Here
// workers do not join states for a snapshot. A snapshot belongs to a *cut*: a point in the total order of all events,
// just before an event on which all other events may depend. Each mailbox finds the cuts alone. At a cut, it has
// processed all its events before the cut and none after it. So the states of its leaves are at rest; the mailbox
// copies them and continues. Later the *writer*, the thread that stores snapshots, joins the copies. The results are
// the states that the trees would have had at the cut. This is the snapshot of Chandy and Lamport with the total order
// in place of markers.
//
// One snapshot is under way at a time. If the first mailbox to reach a cut finds a snapshot under way, all mailboxes
// skip that cut. Without `may_stop`, they also skip some following cuts: a quarter as many as this snapshot has skipped
// already, and kMaxAhead at most. Without this rule, a program with a cut every 3 us lost a tenth of its rate to visits
// of skipped cuts. At a snapshot that *stops*, mailboxes do not continue: the plan changes there (dgs/phases.h).
//
// Laws:
//  - `word_` has three fields: the number of decided cuts; whether the taken cut stops; the index of the taken cut plus
//    1, or 0. To decide a cut is to take or skip it. Cuts are decided in order, each once, by the first mailbox that
//    reaches the cut or a cut before it. All mailboxes reach cuts in order and omit only cuts that they know to be
//    skipped. A taken cut stays in the word until every mailbox has given its part, and all decided cuts after the
//    taken cut are skipped. So a mailbox that reaches a decided cut learns from the word whether the cut is taken.
//  - `left_` is the number of mailboxes that have not given their part. The mailbox that gives the last part passes the
//    snapshot to the writer.
//  - The parts belong to their mailboxes from the decision until the last part is given, then to the writer until
//    `free`.
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

// A cut just before one event, which is at `position` of stream `key.stream`. Before the cut are the earlier events of
// this stream, and the events of other streams that precede this event in the total order.
struct Cut {
  EventKey key;
  std::int64_t position;
};

class Checkpoints {
 public:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  // `cuts`: in total order, each once. `take_all`: whether to take a snapshot at each cut where no other is under way;
  // if false, only snapshots that stop are taken. `may_stop`: whether snapshots may stop; if true, no cut is decided
  // before a mailbox reaches that cut. Throws std::invalid_argument.
  explicit Checkpoints(std::vector<Cut> cuts, bool take_all = true, bool may_stop = true);

  // The state of a leaf that the mailbox copies.
  struct Leaf {
    std::int32_t tree;
    std::int32_t node;
    const void* state;
    std::int64_t bytes;
  };
  // The group state of a crossing (dgs/crossing.h) that the mailbox copies.
  struct GroupState {
    std::int32_t crossing;
    const void* state;
    std::int64_t bytes;
  };
  // Adds the part of a mailbox: its output buffer and the states that it copies. `out` may be null if snapshots have no
  // outputs. Call it before the run, or while all mailboxes are stopped.
  void add_part(const OutputBuffer* out, const std::vector<Leaf>& leaves, const std::vector<GroupState>& group_states);
  void complete_parts();  // call it after the last `add_part`
  // Removes the parts and their copies. Call it while all mailboxes are stopped. Parts added later begin at the cut
  // after the snapshot.
  void forget_parts();

  const Cut* begin() const noexcept { return cuts_.data() + first_; }
  const Cut* end() const noexcept { return cuts_.data() + cuts_.size(); }

  // Returns whether the cut that a mailbox has reached is taken. If so, the mailbox must give its part. Each mailbox
  // calls it for its cuts in order.
  bool is_taken(const Cut& cut) noexcept;
  // Returns the mailbox's next cut after `cut`: the taken cut if it is later, otherwise the first undecided cut.
  const Cut* next_cut_after(const Cut& cut) const noexcept;
  // Returns whether the snapshot stops the mailboxes. Valid between `is_taken` and `give_part`, or from `wait` to
  // `free`.
  bool stops() const noexcept {
    // relaxed: the word keeps it until `free`; the caller has acquired it by `is_taken` or `wait`.
    return (word_.load(std::memory_order_relaxed) & kStops) != 0;
  }
  // Copies the states of a part, and lists its outputs since the previous snapshot.
  void give_part(std::int32_t part);

  // For the writer: waits for a snapshot. Returns false if no snapshot will come.
  bool wait();
  // For the writer: requests a snapshot that stops. It is taken at the first undecided cut, from number `from` on, at
  // which no other snapshot is under way.
  void stop_from(std::int64_t from) noexcept {
    // relaxed: a request; its effect is in the word.
    stop_from_.store(from, std::memory_order_relaxed);
  }
  // The functions below concern the snapshot for which `wait` waited last. `cut` returns the index of its cut.
  std::int64_t cut() const noexcept { return current_; }
  // Joins the copies of each tree's leaf states, and writes the root states to `roots`: `bytes` bytes per tree, in the
  // order of the trees. Throws std::runtime_error if a join raises.
  void join(const Forest& forest, std::int64_t bytes, std::span<std::byte> roots) const;
  std::span<const std::byte> group_state(std::int32_t crossing) const;
  // `rows` counts the outputs of the events between the previous snapshot and this one; `collect` copies these outputs
  // to `columns`.
  std::int64_t rows() const noexcept;
  void collect(std::span<void* const> columns, std::span<const std::int32_t> itemsizes) const;
  void free();  // ends the snapshot, so that another cut may be taken

  // Ends `wait`: at once if `now`, otherwise after a complete snapshot. Any thread may call it.
  void close(bool now);
  // After the run, without a snapshot under way: makes `rows` and `collect` return the outputs since the last snapshot.
  void snapshot_rest();

  std::int64_t decided() const noexcept;                        // number of decided cuts; for any thread
  std::int64_t taken_count() const noexcept { return taken_; }  // number of snapshots; after the run

 private:
  struct alignas(kCacheLine) Part {
    const OutputBuffer* out;
    std::vector<Leaf> leaves;
    std::vector<GroupState> group_states;
    std::vector<std::int64_t> copies;  // copies of leaves, then of group states; each starts at a state unit
    OutputBuffer::Mark mark;
  };
  static constexpr std::uint64_t kStops = 0x8000'0000;  // bit of the word
  // Maximum number of cuts skipped in advance. The next snapshot may be late by this many cuts.
  static constexpr std::uint64_t kMaxAhead = 32;
  std::uint64_t skipped_with(std::uint64_t index, std::uint64_t current_snapshot) const noexcept;
  static std::int64_t state_units(std::int64_t bytes) noexcept { return (bytes + kStateUnit - 1) / kStateUnit; }

  const std::vector<Cut> cuts_;
  const bool take_all_;
  const bool may_stop_;
  std::int64_t first_ = 0;  // first cut of the current parts
  std::vector<std::unique_ptr<Part>> parts_;
  std::vector<std::vector<OutputPiece>> outputs_;  // by part
  // `complete_parts` sets the addresses of the copies.
  std::vector<std::vector<std::pair<std::int32_t, const std::int64_t*>>>
      leaf_copies_;                                             // by tree: (node, copy of its state)
  std::vector<std::span<const std::byte>> group_state_copies_;  // by crossing

  alignas(kCacheLine) std::atomic<std::uint64_t> word_{0};
  alignas(kCacheLine) std::atomic<std::int64_t> left_{0};
  std::atomic<std::int64_t> stop_from_{kNever};  // written by the writer, read by the mailbox that decides

  std::mutex mutex_;  // guards the fields below; a worker holds it once per snapshot, for a store
  std::condition_variable changed_;
  bool ready_ = false;
  bool closed_ = false;
  bool cut_short_ = false;
  std::int64_t current_ = -1;  // written before `ready_`
  std::int64_t taken_ = 0;     // only the writer uses it
};

}  // namespace lab
