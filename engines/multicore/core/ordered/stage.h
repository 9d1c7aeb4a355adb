// OrderedStage: one operator of an OrderedRun, with its function and states. It processes units and groups
// (ordered/unit.h).
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "ordered/groups.h"
#include "ordered/scheduler.h"
#include "ordered/unit.h"
#include "ordered/worklist.h"
#include "run/errors.h"
#include "stages/spec.h"

namespace lab {

class OrderedStage final : public UnitProcessor {
 public:
  // The receiver of finished units. The records of a finished unit are this operator's outputs.
  class Next {
   public:
    virtual ~Next() = default;
    // Takes a finished unit; a later `hand_over` delivers it.
    virtual void take_finished(std::size_t stage, Unit& unit, OrderedWorker& worker) = 0;
    virtual void hand_over(std::size_t stage, OrderedWorker& worker) = 0;
  };

  // Throws std::invalid_argument on a specification out of range. `tracks_origins`: whether to store the number of the
  // input record with each output.
  OrderedStage(StageSpec spec, std::size_t index, bool tracks_origins, Next& next, const OrderedScheduler& scheduler,
               const std::atomic<bool>& stop);

  const StageSpec& spec() const noexcept { return spec_; }
  // Returns the state, or the states by partition, from which another run of this operator can resume.
  std::vector<std::span<const std::byte>> states() const;
  // Sets the states. Throws std::invalid_argument if their sizes are not those of this operator's states.
  void restore(std::span<const std::span<const std::byte>> states);
  bool partitioned() const noexcept { return spec_.kind == StageSpec::Kind::kPartitioned; }

  // For a partitioned operator: divides the unit's records into groups, at most one per bundle of partitions
  // (ordered/worklist.h). `bundles`: number of bundles. Any thread may call it.
  void group(Unit& unit, std::int32_t bundles, OrderedWorker& worker) const;

  void operate(Unit& unit, OrderedWorker& worker) override;
  void operate_group(Group& group, OrderedWorker& worker) override;
  void hand_over(OrderedWorker& worker) override { next_.hand_over(index_, worker); }
  bool stopped() const noexcept override {
    return stop_.load(std::memory_order_relaxed);
  }  // relaxed: the run ends soon enough

 private:
  // Calls `work`, and adds the operator's name to errors for lack of memory.
  template <typename Work>
  auto call_named(Work work) const {
    try {
      return work();
    } catch (const NoMemory&) {
      throw;
    } catch (const std::bad_alloc&) {
      spec_.fail_for_memory();
    }
  }
  std::int64_t fill(StageCall& call, std::int64_t begin, std::int64_t end, RecordBuffer& buffer, OrderedWorker& worker);
  std::int64_t room_for(std::int64_t records) const noexcept;
  std::int64_t run(const StageCall& call, std::int64_t begin, std::int64_t end, Emit& out, OrderedWorker& worker) const;
  void process_unit(Unit& unit, StageCall& call, OrderedWorker& worker);
  void process_part(Group& group, StageCall& call, OrderedWorker& worker);
  void complete(Unit& unit, std::int64_t outputs, OrderedWorker& worker);
  const StageSpec spec_;
  const std::size_t index_;
  const bool tracks_origins_;
  Next& next_;
  const OrderedScheduler& scheduler_;
  const std::atomic<bool>& stop_;
  std::vector<std::uint64_t> state_;  // state of a stateful operator; belongs to the only worker at the operator
  std::vector<KeyStates> keys_;       // by partition; belongs to the worker that the worklist admits to the partition
};

}  // namespace lab
