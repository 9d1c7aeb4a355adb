#include "oplus/instance.h"

#include <algorithm>
#include <stdexcept>

#include "run/errors.h"

namespace lab {

OperatorSpec checked(OperatorSpec spec) {
  if (spec.window.advance < 1 || spec.window.size < spec.window.advance) {
    throw std::invalid_argument("a window advances by at least 1 and at most its size");
  }
  if (spec.buckets < 1) throw std::invalid_argument("buckets must be at least 1");
  const std::vector<std::int32_t>& fields = spec.stored_fields;
  if (!fields.empty() && fields[0] != sizeof(std::int64_t)) {
    throw std::invalid_argument("a stored tuple begins with a time of 8 bytes, not " + std::to_string(fields[0]));
  }
  const bool keeps = !fields.empty() && spec.window.single && spec.expire == nullptr;
  if (spec.matches_stored && (spec.inputs != 2 || !keeps)) {
    throw std::invalid_argument("a join by key stores tuples of two inputs in single windows that leave no trace");
  }
  spec.max_outputs = std::max<std::int64_t>(1, spec.max_outputs);
  return spec;
}

void check_owners(const OperatorSpec& spec, std::span<const std::int32_t> owner, std::int32_t instances) {
  if (owner.size() != static_cast<std::size_t>(spec.buckets)) throw std::invalid_argument("one owner per bucket");
  const bool mapped =
      std::all_of(owner.begin(), owner.end(), [instances](std::int32_t one) { return one >= 0 && one < instances; });
  if (!mapped) throw std::invalid_argument("a bucket of no active instance");
}

void rethrow_of(const OperatorSpec& spec) {
  const char* const operator_ = spec.name.empty() ? "" : "operator ";
  const char* const colon = spec.name.empty() ? "" : ": ";
  try {
    throw;
  } catch (const NoMemory& error) {
    throw NoMemory("%s%s%s%s", operator_, spec.name.c_str(), colon, error.what());
  } catch (const std::bad_alloc&) {
    throw NoMemory("%s%s%sout of memory", operator_, spec.name.c_str(), colon);
  } catch (const std::exception& error) {
    throw std::runtime_error(spec.called() + error.what());
  }
}

void check_refused(const OperatorSpec& spec, std::int64_t refused) {
  if (refused == 0) return;
  throw std::runtime_error(spec.called() + "functions emitted " + std::to_string(refused) +
                           " records beyond max_outputs; raise it in the operator");
}

}  // namespace lab
