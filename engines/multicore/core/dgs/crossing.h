// Crossing: synchronizes mailboxes (dgs/mailbox.h) for *events across trees*. Such an event updates the states of many
// trees at once, in place.
//
// Source: DGS paper, Definition 2.1: a tag may depend on the tags of many keys. Each key has a tree, and the crossing
// is the node above these trees. A fork by key only splits a map from keys to states. So the crossing's join and fork
// do nothing, and its own state, the *group state*, is not forked. Every mailbox with leaves in the trees is a
// participant. It climbs from each leaf towards the root, as for an event of the root (dgs/forest.h), and arrives at
// the crossing. The last participant to arrive holds all root states, updates them, and releases the other
// participants. Then the winner of each root forks that tree, and the leaves parked in the tree resume.
//
// Laws, for each event of a crossing:
//  - each participant arrives exactly once, after all its leaves have arrived in their trees; it then holds the roots
//    that it won; exactly one participant wins each tree with several leaves;
//  - `arrived` goes 0 -> participants -> 0; the last participant owns all root states and the group state until it
//    releases them;
//  - `epoch` grows by one at each release, after the update.
// All participants take events in the same order (dgs/mailbox.h). So no participant waits in one crossing for a
// participant that waits in another crossing.
#pragma once
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "dgs/forest.h"
#include "run/cacheline.h"
#include "run/kernel.h"
#include "run/parker.h"

namespace lab {

class Crossing {
 public:
  // `trees`: one per key in `keys`, which ascend. Call it after `place` for all leaves.
  Crossing(const Forest& forest, std::span<const std::int32_t> trees, std::span<const std::int32_t> keys,
           void* group_state, std::int64_t max_outputs);

  // Adds a participant on `worker` and returns its number. Call it before the run.
  std::int32_t add_participant(std::int32_t worker);

  std::span<const std::int32_t> trees() const noexcept { return trees_; }
  std::int64_t max_outputs() const noexcept { return max_outputs_; }

  // Returns whether the caller is the last participant to arrive; it then holds all states and must call `release`.
  // `latest_stamp`: the latest stamp (due time; at full speed, time of publication) of the events that the participant
  // has processed. `brought_bytes`: size of the root states that the participant holds.
  bool arrive(std::int32_t participant, std::int64_t latest_stamp, std::int64_t brought_bytes) noexcept;

  // Returns the number of bytes of root states that move from other workers and back. Only for the last to arrive.
  std::int64_t moved_bytes(std::int32_t participant) const noexcept;

  // Returns the latest stamp of all participants. Only for the last to arrive.
  std::int64_t latest_stamp() const noexcept;

  // Updates the states with an event. Returns false if the kernel raised an exception. Only for the last to arrive.
  bool update(AcrossKernel kernel, const void* const* columns, std::int64_t event, Emit* out) const {
    return kernel(group_state_, states_.data(), keys_.data(), static_cast<std::int64_t>(keys_.size()), columns, event,
                  out) == kDone;
  }

  // Releases the other participants.
  void release(std::span<Parker> parkers) noexcept;

  // Returns the epoch. A participant reads the epoch before it arrives, and is released when the epoch has changed.
  std::uint32_t epoch() const noexcept {
    return epoch_.load(std::memory_order_relaxed);  // relaxed: stable until the caller's own arrival
  }
  bool released(std::uint32_t before) const noexcept {
    // acquire: sees the updated states; seq_cst for a caller about to sleep. Pairs with the store in `release`.
    return epoch_.load(std::memory_order_seq_cst) != before;
  }

 private:
  struct alignas(kCacheLine) Participant {
    std::int32_t worker;
    std::int64_t latest_stamp = 0;   // written before the arrival, read by the last to arrive
    std::int64_t brought_bytes = 0;  // likewise
  };

  std::vector<std::int32_t> trees_;
  std::vector<std::int32_t> keys_;
  std::vector<void*> states_;  // states of the trees' roots, which never move
  void* group_state_;
  std::int64_t max_outputs_;
  std::vector<Participant> participants_;
  alignas(kCacheLine) std::atomic<std::uint32_t> arrived_{0};
  alignas(kCacheLine) std::atomic<std::uint32_t> epoch_{0};
};

// One participant's part in a crossing: its leaves in the trees, and its progress.
class CrossingPart {
 public:
  // A leaf of the participant in a tree of several nodes.
  struct Leaf {
    std::int32_t tree;
    std::int32_t leaf;
  };
  // `leaves`: the participant's leaves in trees of several nodes. `single_node_bytes`: size of the states of its trees
  // with one node.
  CrossingPart(Crossing& crossing, std::int32_t worker, std::vector<Leaf> leaves, std::int64_t single_node_bytes)
      : crossing_(&crossing),
        number_(crossing.add_participant(worker)),
        worker_(worker),
        single_node_bytes_(single_node_bytes),
        leaves_(std::move(leaves)) {}

  Crossing& crossing() const noexcept { return *crossing_; }

  // Climbs from all leaves towards their roots, with the joins on the way, and arrives at the crossing. Never waits.
  // Returns whether the participant is the last to arrive. Adds to `moved_bytes` the number of bytes that move between
  // workers. Throws as Forest::arrive.
  bool arrive(Forest& forest, std::int64_t latest_stamp, std::int64_t& moved_bytes);

  // Resumes after the event as far as possible. Returns false as long as other participants still have to act. Sets
  // `progress` if it resumed any leaf. Never waits.
  bool resume(Forest& forest, std::span<Parker> parkers, bool& progress);

 private:
  struct Parked {
    Leaf leaf;
    Arrival arrival;
  };

  Crossing* crossing_;
  std::int32_t number_;
  std::int32_t worker_;
  std::int64_t single_node_bytes_;
  std::vector<Leaf> leaves_;
  std::vector<Leaf> won_;       // leaves whose climb won the root
  std::vector<Parked> parked_;  // leaves whose climb was parked below the root
  std::uint32_t epoch_ = 0;
};

}  // namespace lab
