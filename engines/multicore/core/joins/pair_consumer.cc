// Implements PairConsumer; see joins/pair_consumer.h.
#include "joins/pair_consumer.h"

namespace lab {

void PairConsumer::emit(std::vector<Pair>& pairs) {
  const auto *x = inputs_.column<std::int32_t>(0, 1), *a = inputs_.column<std::int32_t>(1, 1);
  const auto *y = inputs_.column<float>(0, 2), *b = inputs_.column<float>(1, 2);
  const auto* c = inputs_.column<double>(1, 3);
  const auto* d = inputs_.column<std::int8_t>(1, 4);
  const std::size_t total = pairs.size();
  for (std::size_t begin = 0; begin < total;) {
    Emit* out = out_.open(1);
    const std::size_t end = std::min(total, begin + static_cast<std::size_t>(out->capacity - out->count));
    for (std::size_t k = begin; k < end; ++k, ++out->count) {
      const auto [i, j] = pairs[k];
      const std::int64_t row = out->count;
      static_cast<std::int64_t*>(out->columns[0])[row] = std::max(inputs_.ts(0, i), inputs_.ts(1, j)) + 1;
      static_cast<std::int32_t*>(out->columns[1])[row] = x[i];
      static_cast<float*>(out->columns[2])[row] = y[i];
      static_cast<std::int32_t*>(out->columns[3])[row] = a[j];
      static_cast<float*>(out->columns[4])[row] = b[j];
      static_cast<double*>(out->columns[5])[row] = c[j];
      static_cast<std::int8_t*>(out->columns[6])[row] = d[j];
    }
    out_.close(index_, index_, 0, false);
    if (recorder_.on()) {
      recorder_.tick();
      if (inputs_.view[0]->due.empty() && inputs_.view[1]->due.empty())
        recorder_.made(static_cast<std::int64_t>(end - begin));
      for (std::size_t k = begin; k < end; ++k) {
        const std::size_t input = later(pairs[k]);
        const std::span<const std::int64_t> due = inputs_.view[input]->due;
        const std::int64_t row = input == 0 ? pairs[k].left : pairs[k].right;
        if (!due.empty()) recorder_.output(recorder_.start() + due[static_cast<std::size_t>(row)], 1);
      }
    }
    begin = end;
  }
  pairs.clear();
}

}  // namespace lab
