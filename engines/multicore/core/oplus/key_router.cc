#include "oplus/key_router.h"

#include <stdexcept>

namespace lab {
namespace {

constexpr std::size_t kFirstKeys = 256;

}  // namespace

KeyRouter::KeyRouter() : keys_(kFirstKeys), buckets_(kFirstKeys) {}

std::int64_t KeyRouter::route(const OperatorStream& stream, std::int64_t begin, std::int64_t end,
                              const std::int32_t* owner, std::uint64_t* masks) {
  for (;;) {
    void* const columns[] = {keys_.data(), buckets_.data()};
    KeySet set{columns, 0, static_cast<std::int64_t>(keys_.size()), 0, owner, -1};
    const std::int64_t known = stream.route(&set, stream.view->columns.data(), begin, end, masks) - 1;
    if (known < begin) throw std::runtime_error("keys raised an exception");
    if (known > begin) return known;
    // More keys than there is room for.
    const auto wanted = static_cast<std::size_t>(2 * (set.count + set.refused));
    keys_.resize(wanted);
    buckets_.resize(wanted);
  }
}

}  // namespace lab
