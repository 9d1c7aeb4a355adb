// Events across trees: those that concern the states of many trees at once, where they lie.
//
// Source: DGS paper, Definition 2.1: a tag may depend on the tags of many keys. Its fork by key is a projection of the
// map from keys to states, so the node above the trees has no state but its own, and its join and fork are nothing.
// Whoever has leaves of the trees takes part: it brings each of them to its root as for any event there (dgs/forest.h)
// and arrives. The last to arrive has all root states, updates them, and releases the others; then each tree is forked
// by whoever won its root, and those who are parked in it go on.
//
// Laws, for each event of a crossing:
//  - each participant arrives exactly once, when all its leaves have arrived in their trees, of which it then holds
//    those roots that it won; every tree with several leaves is won by one participant;
//  - `arrived` goes 0 -> participants -> 0; whoever makes it complete owns all root states and `own` until it releases;
//  - `epoch` grows by one at each release, after the update.
// Events are taken in one order by all (dgs/mailbox.h), so nobody waits in one crossing for somebody who waits in
// another.
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
  // `trees`: by key, ascending, as `keys`. All leaves have been placed. `own`: the group's own state.
  Crossing(const Forest& forest, std::span<const std::int32_t> trees, std::span<const std::int32_t> keys, void* own,
           std::int64_t most_outputs);

  // Before the run: one more participant, on that worker. Returns its number.
  std::int32_t add_participant(std::int32_t worker);

  std::span<const std::int32_t> trees() const noexcept { return trees_; }
  std::int64_t most_outputs() const noexcept { return most_outputs_; }

  // Returns whether the caller is the last: it then holds all states, and must `release`. `latest_stamp`: of the events
  // before this one that the participant knows. `brought_bytes`: of the root states that it has or won.
  bool arrive(std::int32_t participant, std::int64_t latest_stamp, std::int64_t brought_bytes) noexcept;

  // Of the last to arrive: the bytes of root states that come from other workers, and go back.
  std::int64_t moved_bytes(std::int32_t participant) const noexcept;

  // Of the last to arrive: the latest stamp of all.
  std::int64_t latest_stamp() const noexcept;

  // Calls the update. Returns whether it ran to its end. Of the last to arrive.
  bool update(AcrossKernel kernel, const void* const* columns, std::int64_t event, Emit* out) const {
    return kernel(own_, states_.data(), keys_.data(), static_cast<std::int64_t>(keys_.size()), columns, event, out) ==
           kDone;
  }

  // Lets the others go on.
  void release(std::span<Parker> parkers) noexcept;

  // What a participant that is about to arrive reads: it has been released once this has changed.
  std::uint32_t epoch() const noexcept {
    return epoch_.load(std::memory_order_relaxed);  // relaxed: stable until our own arrival
  }
  bool released(std::uint32_t before) const noexcept {
    // acquire: sees the updated states; seq_cst for a caller about to sleep. Pairs with the store in `release`.
    return epoch_.load(std::memory_order_seq_cst) != before;
  }

 private:
  struct alignas(kCacheLine) Participant {
    std::int32_t worker;
    std::int64_t latest_stamp = 0;   // written before it arrives, read by the last to arrive
    std::int64_t brought_bytes = 0;  // likewise
  };

  std::vector<std::int32_t> trees_;
  std::vector<std::int32_t> keys_;
  std::vector<void*> states_;  // of the trees' roots, which never move
  void* own_;
  std::int64_t most_outputs_;
  std::vector<Participant> participants_;
  alignas(kCacheLine) std::atomic<std::uint32_t> arrived_{0};
  alignas(kCacheLine) std::atomic<std::uint32_t> epoch_{0};
};

// One participant's part in crossings: the leaves that it has in their trees, and how far it is.
class CrossingPart {
 public:
  // Adds a crossing, and the trees of several nodes in which the participant has a leaf.
  struct Leaf {
    std::int32_t tree;
    std::int32_t leaf;
  };
  // `alone_bytes`: of the states of its trees of one node.
  CrossingPart(Crossing& crossing, std::int32_t worker, std::vector<Leaf> leaves, std::int64_t alone_bytes)
      : crossing_(&crossing),
        number_(crossing.add_participant(worker)),
        worker_(worker),
        alone_bytes_(alone_bytes),
        leaves_(std::move(leaves)) {}

  Crossing& crossing() const noexcept { return *crossing_; }

  // Brings all leaves to their roots, as far as that is the participant's to do, and arrives. Never waits. Returns
  // whether it is the last. Adds the bytes of states that it took from other workers. Throws as Forest::arrive.
  bool arrive(Forest& forest, std::int64_t latest_stamp, std::int64_t& moved_bytes);

  // Goes on behind the event as far as can be: false while others have not done their part. Never waits.
  bool go_on(Forest& forest, std::span<Parker> parkers);

 private:
  struct Parked {
    Leaf at;
    Arrival arrival;
  };

  Crossing* crossing_;
  std::int32_t number_;
  std::int32_t worker_;
  std::int64_t alone_bytes_;
  std::vector<Leaf> leaves_;
  std::vector<Leaf> won_;
  std::vector<Parked> parked_;
  std::uint32_t epoch_ = 0;
};

}  // namespace lab
