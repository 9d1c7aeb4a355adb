// What a mailbox by tag has passed and not processed: for each of its trees the events that wait, lane by lane.
//
// Source: DGS paper, section 3.4: "an event buffer and a timer for each implementation tag". Here all tags of a tree wait
// together, as they wait for one state. A lane's events are ordered, so its bound is the timer of all of its tags. What
// waits is no copy but runs of positions in the columns, which stay where they are: so a block goes back to its source
// once it is passed, whatever waits of it.
//
// Laws:
//  - A tree is *open*, or it waits: for a synchronization (it is parked), or for a lane that has not come as far as an
//    ordering event of it. All events of an open tree that lie before the mailbox's lanes are processed.
//  - While a tree waits, the slots of its tags say "not mine" to the kernels of lanes; its events are put into buffers.
//  - There is memory for `most_runs` runs, and one for each lane, which it may use when there is no other. So whatever is
//    buffered, the first event of all that are left can be passed: see docs/decisions/0029-mailboxes-by-tag.md.
// Of the thread that works at the mailbox's place.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dgs/forest.h"
#include "run/cacheline.h"

namespace lab {

struct Lane;

class TagBuffers {
 public:
  // Consecutive positions of one lane: ordinary events of one tree, or one ordering event.
  struct Run {
    std::int64_t begin;
    std::int64_t stamp_ns;  // of its block
    std::uint32_t count : 31;
    std::uint32_t ordering : 1;
    std::int32_t next;
    std::int64_t end() const noexcept { return begin + count; }
  };
  static_assert(sizeof(Run) == 24);

  // A tree of one lane.
  struct Buffer {
    std::int32_t first = -1;
    std::int32_t last = -1;
    bool ordinary = false;  // whether the lane has such tags of the tree
    bool ordering = false;
    bool empty() const noexcept { return first < 0; }
  };

  // A tree that the mailbox has a leaf of.
  struct Member {
    std::int32_t tree;
    bool waits = false;
    bool parked = false;
    bool fresh = false;             // its next ordinary outputs come behind an ordering event
    Arrival arrival{};              // parked: where
    std::int64_t latest_stamp = 0;  // waits: of its events that are processed
  };

  // Before the run, all leaves placed. The lanes' slots are replaced by copies. Throws std::invalid_argument where a lane
  // does not say how many tags it has.
  TagBuffers(std::span<Lane> lanes, std::span<const std::int32_t> leaf_of_tree, const Forest& forest,
             std::int64_t most_runs);

  std::int32_t members() const noexcept { return static_cast<std::int32_t>(members_.size()); }
  Member& member(std::int32_t m) noexcept { return members_[static_cast<std::size_t>(m)]; }
  std::int32_t member_of_tree(std::int32_t tree) const noexcept {
    return member_of_tree_[static_cast<std::size_t>(tree)];
  }
  Buffer& buffer(std::int32_t m, std::size_t lane) noexcept {
    return buffers_[static_cast<std::size_t>(m) * lanes_ + lane];
  }
  Run& run(std::int32_t index) noexcept { return runs_[static_cast<std::size_t>(index)]; }
  const std::int32_t* slots(std::size_t lane) const noexcept { return tags_[lane].slots; }  // of all trees, open or not

  bool empty() const noexcept { return waiting_ == 0; }  // all trees are open
  std::int32_t waiting() const noexcept { return waiting_; }

  // From here on the tree waits.
  void close(std::int32_t m, std::int64_t latest_stamp) noexcept;
  // It has nothing left to wait for.
  void open(std::int32_t m) noexcept;
  // Trees that wait, in turn: each `take` is followed by `close_again` or `open`.
  std::int32_t take() noexcept;
  void close_again(std::int32_t m) noexcept;

  // Puts those of a lane's ordinary events that belong to trees that wait into their buffers. Returns the first position
  // for which there was no room, else `end`. `buffered`: how many it was.
  std::int64_t put(Lane& lane, std::size_t number, std::int64_t end, std::int64_t stamp_ns,
                   std::int64_t& buffered) noexcept;
  // One ordering event. Returns whether there was room.
  bool put_ordering(std::int32_t m, std::size_t lane, std::int64_t event, std::int64_t stamp_ns) noexcept;
  // The first run of a buffer has been processed up to `begin`.
  void pop(Buffer& buffer, std::int64_t begin) noexcept;

  std::int64_t events() const noexcept { return events_; }   // ever buffered
  std::int64_t peak_runs() const noexcept { return peak_; }  // at a time

 private:
  struct LaneTags {
    const std::int32_t* slots = nullptr;   // the lane's own
    std::vector<std::int32_t> open_slots;  // what kernels get: -1 for trees that wait, too
    std::vector<std::int32_t> member;      // by tag: whose ordinary event it is, or -1
    std::int32_t only = -1;                // no slots: whose all ordinary events are
  };
  struct Tag {
    std::int32_t lane;
    std::int32_t tag;
  };

  bool append(std::int32_t m, std::size_t lane, std::int64_t begin, std::int64_t count, std::int64_t stamp_ns) noexcept;
  bool add(Buffer& buffer, std::size_t lane, const Run& run) noexcept;
  std::int32_t take_run(std::size_t lane) noexcept;
  void give_run(std::int32_t index) noexcept;

  std::size_t lanes_;
  std::vector<Member> members_;
  std::vector<std::int32_t> member_of_tree_;
  std::vector<Buffer> buffers_;            // by member, then lane
  std::vector<LaneTags> tags_;             // by lane
  std::vector<std::vector<Tag>> tags_of_;  // by member: ordinary ones with a slot
  std::vector<std::int32_t> in_turn_;      // a ring of the members that wait
  std::size_t turn_ = 0;                   // its first
  std::size_t turn_end_ = 0;               // modulo its size: behind its last
  std::int32_t waiting_ = 0;

  std::unique_ptr<Run[]> runs_;  // `most_` for all, then one for each lane
  std::int32_t most_;
  std::int32_t fresh_ = 0;  // runs of those for all that were never used; memory that nobody touched costs nothing
  std::int32_t free_ = -1;
  std::vector<bool> own_used_;  // by lane
  std::int64_t used_ = 0;
  std::int64_t peak_ = 0;
  std::int64_t events_ = 0;
};

}  // namespace lab
