#include "oplus/handover.h"

namespace lab {

void SharedLog::start(std::int32_t, std::int32_t active) {
  feeder_.start();
  for (std::int32_t i = 0; i < active; ++i) log_->add_reader();
}

bool SharedLog::call(std::int64_t number) {
  if (!log_->control(number)) return false;
  log_->advance();
  return true;
}

std::int64_t SharedLog::change(const Change& change, std::span<OperatorInstance* const> instances) {
  const auto performer = static_cast<std::size_t>(change.performer);
  for (std::int32_t i = change.after; i < change.before; ++i) log_->remove_reader(i);
  for (std::int32_t i = change.before; i < change.after; ++i) {
    instances[static_cast<std::size_t>(i)]->stand_like(*instances[performer]);
    log_->add_reader_at(i, change.performer);
  }
  return 0;
}

}  // namespace lab
