// One operator of a pipeline: its function, its states, and what it does with a unit or a group.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pipeline_groups.h"
#include "pipeline_scheduler.h"
#include "pipeline_unit.h"
#include "pipeline_worklist.h"
#include "stage_spec.h"

namespace lab {

class PipelineStage final : public Operate {
 public:
  // What is done with a unit whose records this operator has processed; the unit holds its outputs then.
  class Next {
   public:
    virtual ~Next() = default;
    // A unit is finished; it is handed over later.
    virtual void completed(std::size_t stage, Unit& unit, PipelineWorker& worker) = 0;
    virtual void hand_over(std::size_t stage, PipelineWorker& worker) = 0;
  };

  // Throws std::invalid_argument on a specification out of range. `track`: origins of records are kept.
  PipelineStage(StageSpec spec, std::size_t index, bool track, Next& next, const PipelineScheduler& scheduler,
                const std::atomic<bool>& stop);

  const StageSpec& spec() const noexcept { return spec_; }
  bool partitioned() const noexcept { return spec_.kind == StageSpec::Kind::kPartitioned; }

  // Partitioned operators: takes a unit with records apart for this operator. Any thread.
  void group(Unit& unit, PipelineWorker& worker) const;

  void operate(Unit& unit, PipelineWorker& worker) override;
  void operate_group(Group& group, PipelineWorker& worker) override;
  void hand_over(PipelineWorker& worker) override { next_.hand_over(index_, worker); }
  bool stopped() const noexcept override { return stop_.load(std::memory_order_relaxed); }  // relaxed: seen soon enough

 private:
  std::int64_t fill(StageCall& call, std::int64_t begin, std::int64_t end, RecordBuffer& buffer,
                    PipelineWorker& worker);
  std::int64_t room_for(std::int64_t records) const noexcept;
  std::int64_t run(const StageCall& call, std::int64_t begin, std::int64_t end, Emit& out,
                   PipelineWorker& worker) const;
  void whole(Unit& unit, StageCall& call, PipelineWorker& worker);
  void part(Group& group, StageCall& call, PipelineWorker& worker);
  void complete(Unit& unit, std::int64_t made, PipelineWorker& worker);
  const StageSpec spec_;
  const std::size_t index_;
  const bool track_;
  Next& next_;
  const PipelineScheduler& scheduler_;
  const std::atomic<bool>& stop_;
  std::vector<std::uint64_t> state_;  // stateful; belongs to the one worker
  std::vector<KeyStates> keys_;       // by partition; each belongs to whoever the worklist lets at it
};

}  // namespace lab
