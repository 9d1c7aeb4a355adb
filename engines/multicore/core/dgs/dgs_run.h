// A run of synchronization plans: streams, trees, mailboxes and workers, put together and driven from start to end.
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

// By `DgsOptions::direct`, false last.
inline constexpr Names<2> kHandovers = {"direct", "ring"};

// By `DgsOptions::by_tag`, false first.
inline constexpr Names<2> kMailboxes = {"horizon", "tags"};

struct DgsOptions : RunSettings {
  std::int64_t max_outputs_per_event = 1;
  std::int64_t max_outputs_across = 0;  // of one event across trees
  std::vector<std::int32_t> output_itemsizes;
  // At full speed: the first worker may do the work of all where that is quicker (dgs/gathering.h). `kAlways`,
  // `kInTurn`: for tests.
  enum class Gather { kNever, kQuicker, kAlways, kInTurn } gather = Gather::kQuicker;
  bool direct = true;   // at full speed: lanes without a ring, where nobody else reads the stream (dgs/mailbox.h)
  bool by_tag = false;  // mailboxes: keys do not wait for each other (dgs/tag_buffers.h)
  static constexpr std::int64_t kMostRuns = std::int64_t{1} << 24;  // 24 bytes each
  std::int64_t buffer_runs = std::int64_t{1} << 16;                 // by tag: what a mailbox may put aside
  std::optional<std::vector<Cut>> cuts;  // at which snapshots may be taken; none: nobody asks for them
  bool adaptive = false;                 // the plan may be changed at cuts
  bool checkpoints = true;               // somebody writes snapshots; else they are for changes of the plan only
};

class DgsRun final : public Run {
 public:
  // Throws std::invalid_argument on options out of range.
  explicit DgsRun(DgsOptions options);

  Forest forest;

  // Adds a stream that `owner` replays; see Run::add_view. With a load the generator replays it, and `owner` says
  // nothing. Returns its index.
  std::int32_t add_stream(StreamView stream, std::int32_t owner);

  // Adds an empty mailbox to a worker; returns its index. All trees must have been added.
  std::int32_t add_mailbox(std::int32_t worker);
  Mailbox& mailbox(std::int32_t index) { return *mailboxes_.at(static_cast<std::size_t>(index)).mailbox; }

  // Adds events across trees, one for each of `keys`, with `own_bytes` of a zeroed state of their own. All leaves must
  // have been placed. Returns its index.
  std::int32_t add_crossing(std::span<const std::int32_t> trees, std::span<const std::int32_t> keys,
                            std::int64_t own_bytes, std::int64_t most_outputs);

  // Makes a mailbox with leaves in them take part in events across trees. Returns the number of its part in it; -1: it
  // has no leaf there.
  std::int32_t take_part(std::int32_t mailbox, std::int32_t crossing);

  // Adds a lane to a mailbox; `lane.source`, `lane.reader` and `lane.owner_worker` are filled in.
  void add_lane(std::int32_t mailbox, std::int32_t stream, Lane lane);

  // Before `start`, instead of zeroes; see add_crossing.
  std::span<std::byte> own_state(std::int32_t crossing);

  // Of a run with `cuts`; one thread beside `run` takes the snapshots.
  Checkpoints& checkpoints();

  // Of an adaptive run, at a snapshot that stops, by the thread that takes snapshots: takes the old plan away. False: the
  // run has ended before its time. Else that thread adds trees, mailboxes, crossings and lanes of the new plan, with
  // `own_stream` in place of `add_stream`, and then lets the run go on with it.
  bool take_plan_away();
  void own_stream(std::int32_t stream, std::int32_t owner);
  void go_on();

  std::span<const std::int32_t> output_itemsizes() const noexcept { return pool_->itemsizes(); }
  // Has `run` end before its time. Any thread.
  void call_off() noexcept {
    threads().fail();
    wake_others();
  }

  std::int64_t events() const noexcept override;  // that every reader has processed
  std::vector<std::int64_t> sync_counts() const;  // from the last leaf's arrival to its going on

 private:
  struct alignas(kCacheLine) Worker {
    std::vector<Mailbox*> mailboxes;
    struct Owned {
      Source* source = nullptr;
      std::vector<const Lane*> local;    // this worker's lanes on it
      std::vector<std::int32_t> remote;  // other workers that read it
    };
    std::vector<Owned> sources;
    std::vector<std::unique_ptr<OutputBuffer>> outs;  // one; with checkpoints, one for each mailbox of each plan
    WorkMeter* meter = nullptr;  // `recorder`: of the place, whoever works there; `counters`: of its thread
    Counters counters;           // of the place
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
  bool turn(std::int32_t place, std::span<Parker> parkers);
  static bool pump(Worker::Owned& owned, std::span<Parker> parkers);
  bool done(const Worker& worker) noexcept;

  DgsOptions options_;
  std::vector<std::int32_t> owners_;  // by stream
  std::vector<Entry> mailboxes_;
  std::int32_t mailboxes_before_ = 0;  // of plans that have been taken away
  std::vector<std::int64_t> begins_;   // by stream: the first event of this plan
  std::vector<std::unique_ptr<Crossing>> crossings_;
  struct OwnState {  // of a crossing
    std::unique_ptr<std::int64_t[]> memory;
    std::int64_t bytes;
    std::int32_t copied_by = -1;  // for snapshots: a mailbox that takes part
  };
  std::vector<OwnState> own_states_;
  std::unique_ptr<Checkpoints> checkpoints_;
  std::shared_ptr<OutputPool> pool_;
  std::vector<Worker> workers_;
  std::optional<Phases> phases_;  // none: the plan stays
  std::optional<Places> places_;  // none: each worker works at its own place, always
  std::vector<Parker> nobody_;    // at which nobody sleeps: for notifications while places are gathered

  // The first worker's.
  Gathering gathering_;
  FastClock clock_;
  std::int64_t unlooked_ = 0;
  std::int64_t gatherings_ = 0;
};

}  // namespace lab
