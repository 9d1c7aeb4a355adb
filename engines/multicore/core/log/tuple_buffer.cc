#include "log/tuple_buffer.h"

#include <stdexcept>
#include <string>

#include "log/order_log.h"
#include "log/scale_gate.h"

namespace lab {

std::unique_ptr<TupleBuffer> make_tuple_buffer(std::string_view name, const LogOptions& options) {
  if (name == "order") return std::make_unique<OrderLog>(options);
  if (name == "scalegate") return std::make_unique<ScaleGate>(options);
  throw std::invalid_argument("no tuple buffer '" + std::string(name) + "'; there are order, scalegate");
}

}  // namespace lab
