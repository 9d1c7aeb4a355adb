// Implements the log between two operators of a query: it is TB_out of the first (oplus/output_log.h) and TB_in of the
// next. All instances of the next operator read it.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "oplus/handover.h"
#include "oplus/output_log.h"

namespace lab {

class ChainLog final : public Handover {
 public:
  // `process` and `state` belong to the next operator.
  ChainLog(std::unique_ptr<OutputLog> output_log, ProcessKernel process, std::unique_ptr<WindowState> state)
      : output_log_(std::move(output_log)), process_(process), state_(std::move(state)) {}

  OutputLog& output_log() noexcept { return *output_log_; }

  void start(std::int32_t max_instances, const InstanceMapping& initial) override {
    output_log_->start(max_instances, initial.instances);  // all operators start with the same instances
    for (std::int32_t i = 0; i < max_instances; ++i) {
      const OutputLog::Ring& ring = output_log_->ring(0, i);
      streams_.push_back({&ring.view, 0, process_, nullptr, ring.memory.mask()});
    }
    for (std::int32_t i = 0; i < initial.count(); ++i) output_log_->log().add_reader();
  }
  TupleBuffer& log(std::int32_t) override { return output_log_->log(); }
  int reader(std::int32_t instance) override { return instance; }
  std::span<const OperatorStream> streams(std::int32_t) override { return streams_; }
  WindowState* state(std::int32_t) override { return state_.get(); }
  bool feed(Recorder&, const InstanceMapping&) override { return output_log_->advance(); }
  bool append_switch(std::int64_t number) override { return append_switch_to(output_log_->log(), number); }
  bool has_switch_time() const noexcept override { return false; }
  bool switch_time(std::int64_t*) const noexcept override { return false; }
  std::int64_t delivered() const noexcept override { return -1; }
  std::int64_t change(const Change& change, std::span<OperatorInstance* const> instances) override {
    change_readers(output_log_->log(), change, instances);
    return 0;
  }

 private:
  const std::unique_ptr<OutputLog> output_log_;
  const ProcessKernel process_;
  std::unique_ptr<WindowState> state_;
  std::vector<OperatorStream> streams_;
};

}  // namespace lab
