#include "log/tuple_buffer.h"

#include "log/order_log.h"
#include "log/scale_gate.h"

namespace lab {

std::unique_ptr<TupleBuffer> make_tuple_buffer(std::string_view name, const LogOptions& options) {
  if (index_of("tuple_buffer", kTupleBuffers, name) == 0) return std::make_unique<OrderLog>(options);
  return std::make_unique<ScaleGate>(options);
}

}  // namespace lab
