#include "dataflow/spec.h"

#include <new>

namespace lab {

std::byte* FlowTable::make(void* table, std::int64_t key) {
  auto* of = static_cast<FlowTable*>(table);
  try {
    return of->table_.find(key, of->stride_).entry;
  } catch (const std::bad_alloc&) {  // must not pass through compiled code, which cannot be unwound
    of->starved_ = true;
    return nullptr;
  }
}

}  // namespace lab
