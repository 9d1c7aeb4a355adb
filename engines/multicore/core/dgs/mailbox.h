// Mailbox: processes the events of trees that share input streams, on one worker. It releases runs of events in an
// order that respects every dependence.
//
// Source: the selective reordering of the DGS paper, section 3.4, for runs of events. An *ordering* event is one on
// which events of other streams may depend: any event of an inner node of a tree, and any event of a leaf that the plan
// marks as ordering. A *lane* is one stream that the mailbox reads. The mailbox repeats three steps:
//   1. Find the horizon: the earliest ordering event of all lanes. If a lane without a seen ordering event might still
//      get an earlier one, the horizon is instead the time before which all lanes promise no ordering event.
//   2. Process all other events before the horizon, lane by lane, in the longest possible runs.
//   3. Process the ordering event: on the leaf's state if the leaf owns it, otherwise on the tree's joined state.
// Events after the horizon wait in their ring and are not copied. A mailbox that waits for others in a synchronization
// processes nothing, so trees that must not delay each other belong in different mailboxes.
//
// This is the lab's own form; the published form has one buffer per tag (dgs/node_actor.h).
//
// A lane is *direct* if no other lane reads its stream and its own worker would publish the stream. A direct lane has
// no ring. It takes events from the columns, a burst at a time, and reads the clock once per burst.
// docs/decisions/0018-direct-handover.md states what direct lanes mean for single events.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dgs/checkpoints.h"
#include "dgs/crossing.h"
#include "dgs/forest.h"
#include "run/cacheline.h"
#include "run/event_key.h"
#include "run/histogram.h"
#include "run/kernel.h"
#include "run/parker.h"
#include "run/recorder.h"
#include "run/sink.h"
#include "run/source.h"

namespace lab {

// In `Lane::order_node`, the number kAcross - k, for k >= 0, marks an event across trees (dgs/crossing.h) and selects
// kernel k of the lane's `across`. For such an event, `Lane::order_tree` has the number of the mailbox's part in the
// crossing.
inline constexpr std::int32_t kAcross = -1;

// One stream in one mailbox.
struct Lane {
  Source* source = nullptr;
  std::size_t reader = 0;         // number of the lane among the readers of the source's ring
  std::int32_t owner_worker = 0;  // worker that pumps the source; -1 for the generator
  bool merges_blocks = false;     // whether one call may process several waiting blocks
  std::int64_t direct = 0;        // maximum number of events per call of a direct lane; 0 for a lane with a ring
  double share = 1;               // fraction of an event that this lane counts: 1 / number of readers

  // Kernel for runs; null if the lane has only ordering events.
  RunKernel run = nullptr;
  const std::int32_t* slots = nullptr;  // by tag; null if all events belong to `state`
  void* state = nullptr;                // the state, or the base of the slots

  // By tag (one entry if the stream has no tag column): the tree whose ordering events have the tag, or -1. The pointer
  // is null if this lane has no ordering events.
  const std::int32_t* order_tree = nullptr;
  const std::int32_t* order_node = nullptr;  // by tag: the node of the tree that owns the event; see also kAcross
  std::vector<RunKernel> update;             // by state type: the kernel of one ordering event
  std::vector<AcrossKernel> across;          // by kind of events across trees: the kernel of one event

  // Progress; only the worker uses it.
  std::uint64_t block = 0;     // ring index of the block that holds `next`; a direct lane has none
  std::uint64_t seen = 0;      // number of blocks seen published
  std::uint64_t advanced = 0;  // number of blocks released to the source
  std::int64_t next = 0;       // first event not processed
  std::int64_t counted = 0;    // first event not reported to the recorder
  std::int64_t end = 0;        // first event not seen
  std::int64_t bound_ts = std::numeric_limits<std::int64_t>::min();  // every event not seen has ts >= this
  std::int64_t ordering = 0;  // no event of [next, ordering) is an ordering event of this mailbox
  std::int64_t limit = 0;     // first seen event at or after the horizon `limit_at`
  EventKey limit_at{std::numeric_limits<std::int64_t>::min(), -1};  // the horizon of `limit`
  std::int64_t limit_end = 0;                                       // value of `end` when `limit` was computed

  std::int32_t index() const noexcept { return source->stream().index; }
  std::int64_t ts(std::int64_t i) const noexcept { return source->stream().ts[static_cast<std::size_t>(i)]; }
  EventKey key(std::int64_t i) const noexcept { return {ts(i), index()}; }
  EventKey bound() const noexcept { return bound_ts == kEndOfTime ? kEndOfStream : EventKey{bound_ts, index()}; }
  bool finished() const noexcept { return bound_ts == kEndOfTime && next == end; }
};

class alignas(kCacheLine) Mailbox {
 public:
  // `stop`: see run/errors.h.
  Mailbox(std::int32_t id, std::int32_t worker, Forest& forest, OutputBuffer& out, Recorder& recorder, Histogram& sync,
          Counters& counters, const std::atomic<bool>& stop)
      : id_(id),
        worker_(worker),
        forest_(forest),
        out_(out),
        recorder_(recorder),
        sync_(sync),
        counters_(counters),
        stop_(stop) {}
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  // Returns the maximum number of output rows that a mailbox requests at once, for blocks of `batch` events.
  static std::int64_t max_room(std::int64_t max_outputs_per_event, std::int64_t batch, const OutputPool& pool) noexcept;

  // Returns the maximum number of output segments (run/sink.h) for blocks of `batch` events: one per kernel call.
  std::int64_t max_segments(std::int64_t batch) const noexcept;

  // Does all possible work. Returns whether there was any. Throws Stopped between two kernel calls if the run has ended
  // early.
  bool step(std::span<Parker> parkers);

  // Makes the mailbox give part `part` of each snapshot. Call it before the run.
  void take_part(Checkpoints& checkpoints, std::int32_t part) noexcept {
    checkpoints_ = &checkpoints;
    part_ = part;
    cut_ = checkpoints.begin();
    cuts_end_ = checkpoints.end();
  }
  const OutputBuffer& out() const noexcept { return out_; }

  // Returns whether all lanes are finished, all cuts are passed, and no synchronization is pending.
  bool finished() const noexcept;

  std::vector<Lane> lanes;
  std::vector<std::int32_t> leaf_of_tree;  // by tree: this mailbox's leaf in it, or -1
  std::vector<CrossingPart> crossings;     // this mailbox's parts in events across trees
  std::int64_t max_outputs_per_event = 1;

 private:
  // An ordering event that is being processed.
  struct OrderingEvent {
    std::int64_t index;         // row of the lane's stream
    std::int64_t latest_stamp;  // latest stamp of the events on which it depends
    std::int64_t taken_ns;      // time at which the mailbox took it
  };

  [[gnu::always_inline]] inline EventKey find_horizon(Lane*& first, bool& progress, std::span<Parker> parkers);
  bool refresh(Lane& lane, std::span<Parker> parkers);
  [[gnu::noinline]] static bool look_ahead(Lane& lane) noexcept;  // keeps its code out of lanes with rings
  void find_ordering(Lane& lane) const noexcept;
  template <bool to_cut>
  bool run_lane(Lane& lane, const EventKey& horizon, std::span<Parker> parkers);
  static void set_limit(Lane& lane, const EventKey& horizon) noexcept;
  static std::int64_t first_at_or_after(const Lane& lane, std::int64_t from, std::int64_t to,
                                        const EventKey& horizon) noexcept;
  bool cut_is_next(const EventKey& horizon, const Lane* first) const noexcept;
  bool go_to_cut(std::span<Parker> parkers);
  bool resume(std::span<Parker> parkers, bool& progress);
  void process_ordering_event(Lane& lane, std::span<Parker> parkers);
  [[gnu::always_inline]] inline bool process_on_tree(Lane& lane, std::int32_t tree, std::int32_t owner,
                                                     const OrderingEvent& event, std::span<Parker> parkers);
  [[gnu::noinline]] void process_across_trees(Lane& lane, CrossingPart& part, AcrossKernel update,
                                              std::int64_t taken_ns, std::span<Parker> parkers);
  void process(Lane& lane, std::int64_t end, std::int64_t stamp_ns);
  [[gnu::noinline]] void process_directly(Lane& lane, std::int64_t end);
  void update_state(Lane& lane, std::int32_t state_type, void* state, const OrderingEvent& event);
  [[gnu::always_inline]] inline void record_outputs(const Lane& lane, std::int64_t max_outputs,
                                                    const OrderingEvent& event);
  void finish_synchronization(const Arrival& arrival, std::int32_t tree, std::span<Parker> parkers);
  void report_progress(Lane& lane, std::span<Parker> parkers);
  std::int64_t stamp(std::int64_t events) noexcept;
  std::int64_t due_ns(const StreamView& stream, std::int64_t event) const noexcept;
  void record_each(const StreamView& stream, std::int64_t begin, std::int64_t end, const Emit& emit,
                   std::int64_t outputs, std::int64_t taken_ns) noexcept;
  // Makes outputs beyond the declared maximum an error, even if the chunk has room for them.
  void refuse_beyond(std::int64_t max_outputs, std::int64_t outputs) {
    if (outputs > max_outputs) [[unlikely]]
      out_.refuse(outputs - max_outputs);
  }

  std::int32_t id_;
  std::int32_t worker_;
  Forest& forest_;
  OutputBuffer& out_;
  Recorder& recorder_;
  Histogram& sync_;
  Counters& counters_;
  const std::atomic<bool>& stop_;

  // Whether the mailbox waits in a synchronization (`crossing_` or a tree), or permanently (`stopped_`).
  bool parked_ = false;
  bool fresh_ = true;  // whether an ordering event has passed since the last output; see OutputBuffer::close
  Arrival arrival_;
  std::int64_t latest_stamp_ = 0;  // latest due time of processed events; at full speed, time of publication
  std::int64_t stamp_credit_ = 0;  // number of events that direct lanes may take before the clock is read again
  bool stopped_ = false;           // whether the mailbox has reached a cut at which the plan changes
  std::int32_t parked_tree_ = -1;
  CrossingPart* crossing_ = nullptr;
  // The next cut, or `cuts_end_` if there is none.
  const Cut* cut_ = nullptr;
  const Cut* cuts_end_ = nullptr;
  Checkpoints* checkpoints_ = nullptr;
  std::int32_t part_ = -1;
};

}  // namespace lab
