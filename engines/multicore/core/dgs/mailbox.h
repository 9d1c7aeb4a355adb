// A worker's mailbox for trees that share input streams: releases runs of events in an order that respects
// every dependence, and processes them.
//
// Source: the selective reordering of the DGS paper, section 3.4, at the grain of runs. An *ordering* event is
// one that events of other streams may depend on: those of the trees' inner nodes, and those that the plan
// marks within a leaf. The mailbox repeats: find the earliest ordering event among all its lanes, or failing
// that the earliest time up to which all lanes promise there is none (the horizon); process all other events
// before it, lane by lane, in runs as long as they come; then process the ordering event itself, alone if the
// leaf owns it, else on the joined state of the tree. Events behind the horizon wait in their ring: nothing is
// copied. A mailbox that waits for others in a synchronization processes nothing, so trees that must not delay
// each other belong in different mailboxes.
//
// That is so by *horizon*. By *tag* (dgs/tag_buffers.h), a mailbox goes on with its other trees while one waits, and puts
// the events of that one aside: dgs/mailbox_by_tag.cc.
//
// A lane is *direct* where nobody else reads its stream and its own worker would publish it: it has no ring, and takes
// events from the columns, a burst at a time, with one reading of the clock a burst. What that promises of single events:
// docs/decisions/0018-direct-handover.md.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dgs/checkpoints.h"
#include "dgs/crossing.h"
#include "dgs/forest.h"
#include "dgs/tag_buffers.h"
#include "run/cacheline.h"
#include "run/counters.h"
#include "run/event_key.h"
#include "run/histogram.h"
#include "run/kernel.h"
#include "run/parker.h"
#include "run/recorder.h"
#include "run/sink.h"
#include "run/source.h"

namespace lab {

// In place of a node: the event is across trees, and in place of the tree is the mailbox's part in the crossing. Lower
// numbers say which of the lane's kernels `across` processes it: kAcross - 1 the second.
inline constexpr std::int32_t kAcross = -1;

// One stream as one mailbox reads it.
struct Lane {
  Source* source = nullptr;
  std::size_t reader = 0;
  std::int32_t owner_worker = 0;  // who pumps the source; -1: the generator
  bool together = false;          // blocks that wait may be processed in one call; see `kTogether`
  std::int64_t direct = 0;        // events of a call at most, from the columns; 0: blocks from the source's ring
  double share = 1;               // of an event that this lane accounts for: 1 / readers of the stream

  // Kernel for runs; null when the lane has ordering events only.
  RunKernel run = nullptr;
  std::int32_t tags = 0;                // entries of `slots` and `order_tree`; for a mailbox by tag
  const std::int32_t* slots = nullptr;  // by tag; null: all events belong to `state`
  void* state = nullptr;                // the state, or the base of the slots

  // By tag (one entry when the stream has no tag column): the tree whose ordering event it is, or -1; null:
  // no tag of this lane is an ordering one.
  const std::int32_t* order_tree = nullptr;
  const std::int32_t* order_node = nullptr;  // by tag: the node of that tree that owns it; kAcross: see there
  std::vector<RunKernel> update;             // by state type: processes one ordering event on one state
  std::vector<AcrossKernel> across;          // by kind of events across trees: processes one of them

  // Progress; the worker's own.
  std::uint64_t block = 0;     // ring index of the block that holds `next`; a direct lane has none
  std::uint64_t seen = 0;      // blocks known to be published
  std::uint64_t advanced = 0;  // blocks given back to the source
  std::int64_t next = 0;       // first event not processed
  std::int64_t counted = 0;    // first event not told to the recorder
  std::int64_t end = 0;        // first event not seen
  std::int64_t bound_ts = std::numeric_limits<std::int64_t>::min();  // every event not seen has ts >= this
  std::int64_t ordering = 0;  // first event not known to be no ordering event of ours
  std::int64_t limit = 0;     // first event at or behind the horizon, among the seen ones; see `limit_at`
  EventKey limit_at{std::numeric_limits<std::int64_t>::min(), -1};  // the horizon `limit` was computed for
  std::int64_t limit_end = 0;                                       // and the `end` then

  std::int32_t index() const noexcept { return source->stream().index; }
  std::int64_t ts(std::int64_t i) const noexcept { return source->stream().ts[static_cast<std::size_t>(i)]; }
  EventKey key(std::int64_t i) const noexcept { return {ts(i), index()}; }
  EventKey bound() const noexcept { return bound_ts == kEndOfTime ? kEndOfStream : EventKey{bound_ts, index()}; }
  bool finished() const noexcept { return bound_ts == kEndOfTime && next == end; }
};

class alignas(kCacheLine) Mailbox {
 public:
  // `stop`: the run ends, whatever is left to do.
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

  // Room that it asks of a chunk at most, in rows, with blocks of `batch` events.
  static std::int64_t most_room(std::int64_t max_outputs_per_event, std::int64_t batch,
                                const OutputPool& pool) noexcept;

  // Segments (run/sink.h) of what it emits from blocks of `batch` events: at most one for each call of a kernel.
  std::int64_t most_segments(std::int64_t batch) const noexcept;

  // Does what can be done now. Returns whether anything was. Throws Stopped between two calls of a kernel, if it takes
  // several and the run has ended meanwhile.
  bool step(std::span<Parker> parkers);

  // Before the run: it gives its part, number `part`, of snapshots.
  void take_part(Checkpoints& checkpoints, std::int32_t part) noexcept {
    checkpoints_ = &checkpoints;
    part_ = part;
    cut_ = checkpoints.begin();
    cuts_end_ = checkpoints.end();
  }
  const OutputBuffer& out() const noexcept { return out_; }

  // Before the run, lanes and leaves complete: it works by tag, with at most `most_runs` runs put aside, unless it has one
  // tree. `first_number`: of as many as it has trees, that are no mailbox's. Returns how many that is.
  std::int32_t work_by_tag(std::int64_t most_runs, std::int32_t first_number);
  const TagBuffers* buffers() const noexcept { return buffers_.get(); }  // null: it works by horizon

  // Whether all lanes are finished, all cuts behind it, and no synchronization is pending.
  bool finished() const noexcept;

  std::vector<Lane> lanes;
  std::vector<std::int32_t> leaf_of_tree;  // by tree: this mailbox's leaf in it, or -1
  std::vector<CrossingPart> crossings;     // its parts in events across trees
  std::int64_t max_outputs_per_event = 1;

 private:
  [[gnu::always_inline]] inline EventKey find_horizon(Lane*& first, bool& progress, std::span<Parker> parkers);
  bool refresh(Lane& lane, std::span<Parker> parkers);
  [[gnu::noinline]] static bool look_ahead(Lane& lane) noexcept;  // not to burden lanes with rings
  std::int64_t stamp(std::int64_t events) noexcept;
  void find_ordering(Lane& lane) const noexcept;
  static bool is_next(const Cut& cut, const EventKey& horizon, const Lane* first) noexcept;
  bool go_to_cut(std::span<Parker> parkers);
  template <bool to_cut>
  bool run_lane(Lane& lane, const EventKey& horizon, std::span<Parker> parkers);
  static void set_limit(Lane& lane, const EventKey& horizon) noexcept;
  void process(Lane& lane, std::int64_t end, std::int64_t stamp_ns);
  [[gnu::noinline]] void process_directly(Lane& lane, std::int64_t end);
  void order(Lane& lane, std::span<Parker> parkers);
  // How an ordering event is processed: whose sequence of outputs it belongs to, what it depends on, when it was taken.
  struct Taken {
    std::int64_t event;
    std::int32_t number;
    std::int64_t latest_stamp;
    std::int64_t taken_ns;
  };
  [[gnu::always_inline]] inline bool meet(Lane& lane, std::int32_t tree, std::int32_t owner, const Taken& taken,
                                          std::span<Parker> parkers);
  [[gnu::noinline]] void cross(Lane& lane, CrossingPart& part, AcrossKernel update, std::int64_t taken_ns,
                               std::span<Parker> parkers);
  bool go_on(std::span<Parker> parkers);
  [[gnu::always_inline]] inline void emitted(const Lane& lane, std::int64_t most, const Taken& taken);
  // Whether a chunk had room for more than was declared must not decide whether that is an error.
  void refuse_beyond(std::int64_t most, std::int64_t outputs) {
    if (outputs > most) [[unlikely]]
      out_.refuse(outputs - most);
  }
  std::int64_t due_ns(const StreamView& stream, std::int64_t event) const noexcept;
  void apply(Lane& lane, std::int32_t state_type, void* state, const Taken& taken);
  void leave(const Arrival& arrival, std::int32_t tree, std::span<Parker> parkers);
  void record_each(const StreamView& stream, std::int64_t begin, std::int64_t end, const Emit& emit,
                   std::int64_t outputs, std::int64_t taken_ns) noexcept;
  void give_back(Lane& lane, std::span<Parker> parkers);

  // By tag: dgs/mailbox_by_tag.cc, which calls what is inlined elsewhere by other names.
  bool step_by_tag(std::span<Parker> parkers);
  bool pass(Lane& lane, bool complete, std::span<Parker> parkers);
  [[gnu::noinline]] bool run_beside(Lane& lane, std::int64_t limit, std::span<Parker> parkers);
  bool settle(std::int32_t looks, std::span<Parker> parkers);
  bool release(std::int32_t member, std::span<Parker> parkers);
  bool release_next(std::int32_t member, std::span<Parker> parkers);
  void process_late(std::int32_t member, std::size_t lane, const EventKey& before);
  struct Late {
    std::int64_t begin, end;
    std::int64_t stamp_ns;
  };
  void run_late(Lane& lane, std::int32_t member, std::size_t number, const Late& late);
  void order_late(std::int32_t member, std::size_t lane, std::span<Parker> parkers);
  void processed_late(Lane& lane, std::int64_t events);
  [[gnu::noinline]] void park(std::int32_t tree);
  EventKey horizon_by_tag(Lane*& first, bool& progress, std::span<Parker> parkers);
  bool run_by_tag(Lane& lane, const EventKey& horizon, std::span<Parker> parkers);
  bool meet_late(Lane& lane, std::int32_t tree, std::int32_t owner, const Taken& taken, std::span<Parker> parkers);
  static std::int64_t first_behind(const Lane& lane, std::int64_t from, std::int64_t to,
                                   const EventKey& horizon) noexcept;

  std::int32_t id_;
  std::int32_t worker_;
  Forest& forest_;
  OutputBuffer& out_;
  Recorder& recorder_;
  Histogram& sync_;
  Counters& counters_;
  const std::atomic<bool>& stop_;

  bool parked_ = false;   // waits in a synchronization: in `crossing_`, or in a tree; or for good, `stopped_`
  bool stopped_ = false;  // came to a cut at which the plan is changed
  Arrival arrival_;
  std::int32_t parked_tree_ = -1;
  CrossingPart* crossing_ = nullptr;
  std::int64_t latest_stamp_ = 0;  // of all events processed so far: when due, or at full speed when published
  bool fresh_ = true;              // an ordering event has passed since the last output; see OutputBuffer::close
  // The next cut; equal: there is none.
  const Cut* cut_ = nullptr;
  const Cut* cuts_end_ = nullptr;
  Checkpoints* checkpoints_ = nullptr;
  std::int32_t part_ = -1;
  std::int64_t unstamped_ = 0;  // events that direct lanes may take before the clock is read again

  std::unique_ptr<TagBuffers> buffers_;  // null: it works by horizon
  std::int32_t first_number_ = 0;        // of what its trees emit late, a sequence each (run/sink.h)
  bool short_ = false;                   // of this step: a lane could not pass an event, for want of room
  std::int32_t idle_steps_ = 0;
};

}  // namespace lab
