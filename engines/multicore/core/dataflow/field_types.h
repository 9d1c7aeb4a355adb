// with_type: dispatches on the type of a column; SORT uses it to compare and pack fields.
#pragma once
#include <cstdint>

#include "dataflow/spec.h"

namespace lab {

// Calls f.template operator()<T>() with the type of a column.
template <typename F>
auto with_type(FlowSpec::Field field, std::int32_t size, F f) {
  using Field = FlowSpec::Field;
  if (field == Field::kFloat) return size == 4 ? f.template operator()<float>() : f.template operator()<double>();
  if (field == Field::kUnsigned) {
    if (size == 1) return f.template operator()<std::uint8_t>();
    if (size == 2) return f.template operator()<std::uint16_t>();
    return size == 4 ? f.template operator()<std::uint32_t>() : f.template operator()<std::uint64_t>();
  }
  if (size == 1) return f.template operator()<std::int8_t>();
  if (size == 2) return f.template operator()<std::int16_t>();
  return size == 4 ? f.template operator()<std::int32_t>() : f.template operator()<std::int64_t>();
}

}  // namespace lab
