#include "oplus/chain_log.h"

namespace lab {

void ChainLog::start(std::int32_t most, std::int32_t active) {
  published_->start(most, active);
  for (std::int32_t i = 0; i < most; ++i) {
    const OutputLog::Ring& ring = published_->ring(0, i);
    streams_.push_back({&ring.view, 0, process_, nullptr, ring.memory.mask()});
  }
  for (std::int32_t i = 0; i < active; ++i) published_->log().add_reader();
}

}  // namespace lab
