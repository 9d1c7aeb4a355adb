#include "oplus/key_router.h"

#include <stdexcept>

namespace lab {
namespace {

constexpr std::size_t kFirstKeys = 256;

}  // namespace

KeyRouter::KeyRouter() { grow(kFirstKeys); }

void KeyRouter::grow(std::size_t wanted) {
  keys_.resize(wanted + 1);  // one for scratch
  buckets_.resize(wanted + 1);
  hashes_.resize(wanted + 1);
}

std::int64_t KeyRouter::route(const OperatorStream& stream, std::int64_t begin, std::int64_t end,
                              const std::int32_t* owner, std::uint64_t* masks) {
  for (;;) {
    void* const columns[] = {keys_.data(), buckets_.data(), hashes_.data()};
    KeySet set{columns, 0, static_cast<std::int64_t>(keys_.size()) - 1, 0, owner, -1};
    const std::int64_t known = stream.route(&set, stream.view->columns.data(), begin, end, masks) - 1;
    if (known < begin) throw std::runtime_error("keys raised an exception");
    if (known > begin) return known;
    // More keys than there is room for.
    grow(static_cast<std::size_t>(2 * (set.count + set.refused)));
  }
}

}  // namespace lab
