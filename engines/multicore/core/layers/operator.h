// An instance of an operator O+ in a query graph: keyed windows, or a join of all pairs.
//
// Rows reach it by number, since tuples may have lists, and kernels read them where they are. Of a keyed operator each of
// several instances gets those that have one of its keys; of a join all, and it compares those pairs whose earlier tuple is its to keep.
// Its windows are its own, as those of shared-nothing instances.
//
// Stamps. An output is due with the tuple, or the promise, that brought it about (Causes). It counts as handed over with
// the last tuple that was read before it was made, or, when time alone ended its window, as it is made.
//
// Time. What an instance still emits when its input is done with all times before t ends a window that reaches beyond
// t. It promises the end of the earliest of these. To promise t alone would not be enough to go on for ever: an output
// that `update` emits at t is timed as the end of its window, and in a link of such outputs a sink may wait for
// another instance to promise that time, while that one waits for an injector, the injector for room at the first
// instance, and that one for room in the link. With the end of the window the argument of layers/out.h holds: a row
// that an instance has taken at t was ready, so all injectors promise t or more to everybody, before they sleep; hence
// every instance that waits for rows promises the end of t's window or more, and no sink waits for it with earlier rows.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "layers/node.h"
#include "oplus/causes.h"
#include "oplus/instance.h"

namespace lab {

// The operator of a query graph.
struct LayersOperator {
  OperatorSpec spec;
  std::vector<std::int32_t> owner;      // of each bucket of keys, the instance
  std::vector<std::int32_t> itemsizes;  // of its outputs
  std::optional<std::int64_t> end;      // up to where time has passed at the end, if beyond the last tuple
};

class LayerOperator final : public LayerRelay {
 public:
  // `of` and `streams` must outlive it. `end`: up to where time has passed at the end; none: there are no tuples.
  // `stop`: see run/stopped.h; `spill_rows`: that may wait to be sent.
  LayerOperator(WorkMeter& meter, std::size_t stamps, std::int64_t unit, bool every_time, std::int32_t index,
                const LayersOperator& of, std::span<const OperatorStream> streams, std::optional<std::int64_t> end,
                const std::atomic<bool>& stop, std::int64_t spill_rows);

  std::int64_t compared() const noexcept { return instance_->compared(); }  // pairs
  std::int64_t refused() const noexcept { return made_.refused(); }         // records beyond `max_outputs`

 private:
  void process(const LayerPiece& piece) override;
  bool pass_time(std::int64_t frontier) override;
  // No more than before while rows wait to be processed.
  std::int64_t promised(std::int64_t frontier) const noexcept override;

  template <typename Work>
  void guarded(Work work);
  bool process_runs();
  bool send_made();

  const LayersOperator& of_;
  const std::span<const OperatorStream> streams_;
  const std::optional<std::int64_t> end_;
  std::unique_ptr<WindowState> state_;  // null for joins
  const Spill spill_;
  OutputBuffer made_;
  Causes causes_;  // of what was made, with a load
  std::unique_ptr<OperatorInstance> instance_;
  // Read, and not processed yet: a log's pieces end where another source's rows begin, and a unit is cheaper at once.
  std::vector<LogRun> runs_;
  std::int64_t rows_ = 0;             // of them
  std::int64_t taken_ns_ = 0;         // when an injector handed over what was read last
  std::vector<const void*> columns_;  // of what is sent
  std::vector<std::int64_t> due_, taken_;
};

}  // namespace lab
