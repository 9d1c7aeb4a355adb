// A mailbox by *tag*: the counterpart of dgs/mailbox.h for trees that do not wait for each other.
//
// The mailbox passes lanes in the order of the horizon, as a mailbox by horizon does. When it passes an event of a
// waiting tree, ordinary or ordering, it puts the event into the buffer of the tree. It processes all other events in
// place. Once a tree is released, or its lanes have advanced far enough, it processes the tree's buffered events in
// total order, as far as possible. A cut or an event across trees waits until no tree waits.
#pragma once
#include <cstdint>
#include <memory>
#include <span>

#include "dgs/mailbox.h"
#include "dgs/tag_buffers.h"

namespace lab {

class alignas(kCacheLine) TagMailbox final : public Mailbox {
 public:
  using Mailbox::Mailbox;

  // Makes its buffers, for at most `most_runs` runs. Before the run, after the last lane and leaf. `first_number`: the
  // first of a sequence of numbers, one a tree, that no mailbox has. Returns the count of these numbers. With one tree
  // there are no buffers and it works by horizon: no other tree could continue while it waits.
  std::int32_t make_buffers(std::int64_t most_runs, std::int32_t first_number);
  const TagBuffers* buffers() const noexcept { return buffers_.get(); }  // null: by horizon

  bool step(std::span<Parker> parkers) override;

 private:
  struct Late {
    std::int64_t begin, end;
    std::int64_t stamp_ns;
  };
  void park(std::int32_t tree) override;
  bool run_while_trees_wait(Lane& lane, std::int64_t limit, std::span<Parker> parkers) override;
  void wait(std::int32_t member);
  bool pass(Lane& lane, bool complete, std::span<Parker> parkers);
  bool settle(std::int32_t looks, std::span<Parker> parkers);
  bool release(std::int32_t member, std::span<Parker> parkers);
  bool release_next(std::int32_t member, std::span<Parker> parkers);
  void process_late(std::int32_t member, std::size_t lane, const EventKey& before);
  void run_late(Lane& lane, std::int32_t member, std::size_t number, const Late& late);
  void order_late(std::int32_t member, std::size_t lane, std::span<Parker> parkers);
  void processed_late(Lane& lane, std::int64_t events);

  std::unique_ptr<TagBuffers> buffers_;
  std::int32_t first_number_ = 0;  // first number of its trees' late output sequences (run/sink.h)
  bool short_ = false;             // in this step a lane could not pass an event, for lack of room
  std::int32_t idle_steps_ = 0;
};

}  // namespace lab
