// The buffers of a mailbox by tag: the events that it has passed and not processed, for each tree and lane.
//
// Source: DGS paper, section 3.4: "an event buffer and a timer for each implementation tag". Here all tags of a tree
// wait together, since they wait for one state. The events of a lane are ordered, so its bound is the timer of all of
// its tags. Buffers hold no copies. They hold runs of positions in the columns, which stay in place. So a block returns
// to its source once it is passed, even if some of its events wait.
//
// Laws:
//  - A tree is *open*, or it waits: for a synchronization (it is parked), or for a lane that has not reached an
//    ordering event of the tree. All events of an open tree before the mailbox's lanes are processed.
//  - While a tree waits, the slots of its tags are -1, so kernels skip its events, and the mailbox puts them
//    into buffers.
//  - The memory holds `most_runs` runs, and one more for each lane, for use when no other run is free. So the mailbox
//    can always pass the first of all remaining events: see docs/decisions/0029-mailboxes-by-tag.md.
// Only the thread that serves the mailbox's place uses this class.
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
    std::int64_t stamp_ns;  // stamp of its block
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
    bool ordinary = false;  // whether the lane has ordinary tags of the tree
    bool ordering = false;  // likewise for ordering tags
    bool empty() const noexcept { return first < 0; }
  };

  // A tree in which the mailbox has a leaf.
  struct Member {
    std::int32_t tree;
    bool waits = false;
    bool parked = false;
    bool fresh = false;             // its next ordinary outputs follow an ordering event
    Arrival arrival{};              // where it is parked
    std::int64_t latest_stamp = 0;  // of its processed events, while it waits
  };

  // Before the run, after `place` for all leaves. Replaces the slots of the lanes by copies. Throws
  // std::invalid_argument if a lane does not state its number of tags.
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
  const std::int32_t* slots(std::size_t lane) const noexcept {
    return tags_[lane].slots;
  }  // slots of all trees, open or not

  bool empty() const noexcept { return waiting_ == 0; }  // all trees are open
  std::int32_t waiting() const noexcept { return waiting_; }

  // Makes the tree wait.
  void close(std::int32_t m, std::int64_t latest_stamp) noexcept;
  // Ends the wait of the tree.
  void open(std::int32_t m) noexcept;
  // Takes the waiting trees in turn. `close_again` or `open` follows each `take`.
  std::int32_t take() noexcept;
  void close_again(std::int32_t m) noexcept;

  // Puts the lane's ordinary events of waiting trees, up to `end`, into their buffers. Returns the first position
  // without room, or `end`. `buffered`: the number of buffered events.
  std::int64_t put(Lane& lane, std::size_t number, std::int64_t end, std::int64_t stamp_ns,
                   std::int64_t& buffered) noexcept;
  // Puts one ordering event into a buffer. Returns whether there was room.
  bool put_ordering(std::int32_t m, std::size_t lane, std::int64_t event, std::int64_t stamp_ns) noexcept;
  // Removes the first run of a buffer up to `begin`, which is processed.
  void pop(Buffer& buffer, std::int64_t begin) noexcept;

  std::int64_t events() const noexcept { return events_; }   // buffered in total
  std::int64_t peak_runs() const noexcept { return peak_; }  // most runs at a time

 private:
  struct LaneTags {
    const std::int32_t* slots = nullptr;   // the original slots of the lane
    std::vector<std::int32_t> open_slots;  // slots for kernels: -1 also for waiting trees
    std::vector<std::int32_t> member;      // by tag: the member that owns its ordinary events, or -1
    std::int32_t only = -1;                // without slots: the member that owns all ordinary events
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
  std::vector<std::vector<Tag>> tags_of_;  // by member: ordinary tags with a slot
  std::vector<std::int32_t> in_turn_;      // a ring of the waiting members
  std::size_t turn_ = 0;                   // position of its first member
  std::size_t turn_end_ = 0;               // position after its last member, modulo its size
  std::int32_t waiting_ = 0;

  std::unique_ptr<Run[]> runs_;  // `most_` shared runs, then one a lane
  std::int32_t most_;
  std::int32_t fresh_ = 0;  // first shared run that was never used; untouched memory costs nothing
  std::int32_t free_ = -1;
  std::vector<bool> own_used_;  // by lane
  std::int64_t used_ = 0;
  std::int64_t peak_ = 0;
  std::int64_t events_ = 0;
};

}  // namespace lab
