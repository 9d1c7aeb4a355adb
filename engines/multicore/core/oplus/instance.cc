// Implements the functions of oplus/instance.h that all kinds of instances share.
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
  const bool stores_tuples = !fields.empty() && spec.window.single && spec.expire == nullptr;
  if (spec.matches_stored && (spec.inputs != 2 || !stores_tuples)) {
    throw std::invalid_argument("a join by key stores tuples of two inputs in single windows that leave no trace");
  }
  spec.max_outputs = std::max<std::int64_t>(1, spec.max_outputs);
  return spec;
}

void check_assignment(const OperatorSpec& spec, const InstanceMapping& assignment, std::int32_t max_instances) {
  const std::vector<std::int32_t>& instances = assignment.instances;
  if (instances.empty()) throw std::invalid_argument(spec.called() + "no active instance; give at least one");
  for (std::size_t i = 0; i < instances.size(); ++i) {
    if (instances[i] < 0 || instances[i] >= max_instances) {
      throw std::invalid_argument(spec.called() + "instance " + std::to_string(instances[i]) +
                                  " does not exist; give instances from 0 to " + std::to_string(max_instances - 1));
    }
    if (i != 0 && instances[i] <= instances[i - 1]) {
      throw std::invalid_argument(spec.called() + "instance " + std::to_string(instances[i]) + " follows instance " +
                                  std::to_string(instances[i - 1]) + "; give each once, in ascending order");
    }
  }
  if (assignment.owner.size() != static_cast<std::size_t>(spec.buckets)) {
    throw std::invalid_argument(spec.called() + "there are " + std::to_string(assignment.owner.size()) +
                                " owners; give one for each of " + std::to_string(spec.buckets) + " buckets");
  }
  for (const std::int32_t owner : assignment.owner) {
    if (assignment.has(owner)) continue;
    throw std::invalid_argument(spec.called() + "a bucket belongs to instance " + std::to_string(owner) +
                                ", which is not active; give each bucket an active instance");
  }
}

void rethrow_of(const OperatorSpec& spec) {
  const char* const prefix = spec.name.empty() ? "" : "operator ";
  const char* const colon = spec.name.empty() ? "" : ": ";
  try {
    throw;
  } catch (const NoMemory& error) {
    throw NoMemory("%s%s%s%s", prefix, spec.name.c_str(), colon, error.what());
  } catch (const std::bad_alloc&) {
    throw NoMemory("%s%s%sout of memory", prefix, spec.name.c_str(), colon);
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
