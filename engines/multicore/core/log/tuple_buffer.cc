#include "log/tuple_buffer.h"

#include <stdexcept>
#include <string>

#include "log/order_log.h"
#include "log/scale_gate.h"

namespace lab {

std::unique_ptr<TupleBuffer> make_tuple_buffer(std::string_view name, const LogOptions& options) {
  if (index_of("tuple_buffer", kTupleBuffers, name) == 0) {
    if (options.acknowledged_rows != 0) {
      throw std::invalid_argument("acknowledged_rows is " + std::to_string(options.acknowledged_rows) +
                                  ", wanted 0: only ScaleGate has watermark tuples that readers acknowledge");
    }
    return std::make_unique<OrderLog>(options);
  }
  return std::make_unique<ScaleGate>(options);
}

}  // namespace lab
