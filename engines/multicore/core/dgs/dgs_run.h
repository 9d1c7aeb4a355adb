// DgsRun: runs a synchronization plan in the lab's own form, with mailboxes that process runs of events. `MessageRun`
// (dgs/message_run.h) runs the form that the DGS paper published. A DgsRun connects streams, trees, mailboxes and
// workers, and runs the workers until all events are processed.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "dgs/checkpoints.h"
#include "dgs/forest.h"
#include "dgs/gathering.h"
#include "dgs/mailbox.h"
#include "dgs/phases.h"
#include "dgs/places.h"
#include "run/cacheline.h"
#include "run/fast_clock.h"
#include "run/names.h"
#include "run/parker.h"
#include "run/run.h"

namespace lab {

// Names of the values of `DgsOptions::direct`: true, false.
inline constexpr Names<2> kHandovers = {"direct", "ring"};

struct DgsOptions : RunSettings {
  std::int64_t max_outputs_per_event = 1;
  std::int64_t max_outputs_across = 0;  // maximum number of outputs per event across trees
  std::vector<std::int32_t> output_itemsizes;
  // Whether the first worker may do the work of all workers at full speed, if that is quicker (dgs/gathering.h).
  // `kAlways` and `kInTurn` are for tests.
  enum class Gather { kNever, kQuicker, kAlways, kInTurn } gather = Gather::kQuicker;
  // Whether, at full speed, a lane that is the only reader of its stream has no ring (dgs/mailbox.h).
  bool direct = true;
  std::optional<std::vector<Cut>> cuts;  // possible positions of snapshots; nullopt without snapshots
  bool adaptive = false;                 // whether the plan may change at cuts
  bool checkpoints = true;               // whether a writer stores snapshots; otherwise only plan changes use them
};

class DgsRun final : public Run {
 public:
  // Throws std::invalid_argument on options out of range.
  explicit DgsRun(DgsOptions options);

  Forest forest;

  // Adds a stream that `owner` replays, and returns its index; see Run::add_view. With a load the generator replays the
  // stream, and `owner` has no effect.
  std::int32_t add_stream(StreamView stream, std::int32_t owner);

  // Adds an empty mailbox to a worker and returns its index. Call it after the last tree is added.
  std::int32_t add_mailbox(std::int32_t worker);
  Mailbox& mailbox(std::int32_t index) { return *mailboxes_.at(static_cast<std::size_t>(index)).mailbox; }

  // Adds a crossing for the events across `trees`, one tree per key in `keys`. The crossing's group state has
  // `group_bytes` bytes, all zero. Returns the crossing's index. Call it after `place` for all leaves.
  std::int32_t add_crossing(std::span<const std::int32_t> trees, std::span<const std::int32_t> keys,
                            std::int64_t group_bytes, std::int64_t max_outputs);

  // Makes a mailbox a participant of a crossing if the mailbox has leaves in the crossing's trees. Returns the number
  // of the mailbox's part, or -1 without leaves.
  std::int32_t join_crossing(std::int32_t mailbox, std::int32_t crossing);

  // Adds a lane to a mailbox. The run sets `lane.source`, `lane.reader` and `lane.owner_worker`.
  void add_lane(std::int32_t mailbox, std::int32_t stream, Lane lane);

  // Returns the group state of a crossing, to be filled before `start`; see add_crossing.
  std::span<std::byte> group_state(std::int32_t crossing);

  // Returns the run's snapshots. The *snapshot thread*, which takes them, must not be the caller of `run`. Throws
  // std::logic_error without `cuts`.
  Checkpoints& checkpoints();

  // Removes the current plan of an adaptive run. The snapshot thread calls it at a snapshot that stops. Returns false
  // if the run has ended early. Otherwise the snapshot thread adds trees, mailboxes, crossings and lanes of the new
  // plan, with `set_stream_owner` in place of `add_stream`. Then it calls `resume`, and the run continues with the new
  // plan.
  bool remove_plan();
  void set_stream_owner(std::int32_t stream, std::int32_t owner);
  void resume();

  std::span<const std::int32_t> output_itemsizes() const noexcept { return pool_->itemsizes(); }
  // Cancels `run`. Any thread may call it.
  void cancel() noexcept {
    threads().fail();
    wake_others();
  }

  std::int64_t events() const noexcept override;  // number of events that all readers of their stream have processed
  // Histogram counts of the times from the arrival of the last leaf until this leaf resumes.
  std::vector<std::int64_t> sync_counts() const;

 private:
  struct alignas(kCacheLine) Worker {
    std::vector<Mailbox*> mailboxes;
    struct Owned {
      Source* source = nullptr;
      std::vector<const Lane*> local;    // lanes of this worker that read the source
      std::vector<std::int32_t> remote;  // other workers that read the source
    };
    std::vector<Owned> sources;
    std::vector<std::unique_ptr<OutputBuffer>> outs;  // one buffer; with checkpoints, one per mailbox of each plan
    // `meter->recorder` belongs to the place (dgs/places.h), whichever thread serves it. `meter->counters` count for the
    // thread.
    WorkMeter* meter = nullptr;
    Counters counters;  // counters of the place
    Histogram sync;
  };
  struct Entry {
    std::unique_ptr<Mailbox> mailbox;
    std::int32_t worker;
  };

  const RunSettings& settings() const noexcept override { return options_; }
  void wake_others() noexcept override {
    if (phases_) phases_->wake();
  }
  void prepare() override;
  void work(std::int32_t index) override;
  void check_end() const override;
  std::vector<const OutputBuffer*> outputs() const override;
  void count(Counts& into) const override;
  std::vector<std::int32_t> readers_of(std::size_t stream) const override;
  bool is_direct(const Lane& lane, std::int32_t worker) const noexcept;
  void reserve();
  void add_parts();
  void connect();
  void take_back_counts();
  bool publish_again();
  bool step(std::int32_t index);
  bool work_for_all();
  bool ended(std::int32_t index);
  void decide();
  bool take_turn(std::int32_t place, std::span<Parker> parkers);
  static bool pump(Worker::Owned& owned, std::span<Parker> parkers);
  bool is_done(const Worker& worker) noexcept;

  DgsOptions options_;
  std::vector<std::int32_t> owners_;  // by stream
  std::vector<Entry> mailboxes_;
  std::int32_t removed_mailboxes_ = 0;  // number of mailboxes of removed plans
  std::vector<std::int64_t> begins_;    // by stream: the first event of this plan
  std::vector<std::unique_ptr<Crossing>> crossings_;
  // The group state of a crossing.
  struct GroupState {
    std::unique_ptr<std::int64_t[]> memory;
    std::int64_t bytes;
    std::int32_t copied_by = -1;  // the participating mailbox that copies the state for snapshots
  };
  std::vector<GroupState> group_states_;
  std::unique_ptr<Checkpoints> checkpoints_;
  std::shared_ptr<OutputPool> pool_;
  std::vector<Worker> workers_;
  std::optional<Phases> phases_;        // nullopt if the plan never changes
  std::optional<Places> places_;        // nullopt if each worker always serves its place
  std::vector<Parker> unused_parkers_;  // no thread sleeps on them; notified while places are gathered

  // Only the first worker uses these fields.
  Gathering gathering_;
  FastClock clock_;
  std::int64_t work_since_look_ = 0;  // work since the last reading of the clock, in events
  std::int64_t gatherings_ = 0;
};

}  // namespace lab
