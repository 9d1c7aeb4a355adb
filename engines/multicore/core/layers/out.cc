// Implements LayerOut; see layers/out.h.
#include "layers/out.h"

#include <algorithm>
#include <bit>
#include <thread>
#include <utility>

namespace lab {

LayerOut::LayerOut(Parker& parker, const InstanceThreads& threads, Counters& counts,
                   std::vector<std::unique_ptr<LayerLink>> links, std::int64_t unit, bool eager)
    : parker_(parker),
      threads_(threads),
      counts_(counts),
      links_(std::move(links)),
      unit_(unit),
      eager_(eager),
      list_sizes_(links_.size(), 0),
      lists_(links_.size() * static_cast<std::size_t>(unit)) {}

void LayerOut::send(std::size_t to, const void* const* columns, std::int64_t from, std::int64_t rows) {
  LayerLink& link = *links_[to];
  const auto* ts = static_cast<const std::int64_t*>(columns[0]);
  while (rows > 0) {
    link.drain();
    std::int64_t count = std::min(rows, unit_);
    if (link.spilled_rows() != 0) {
      count = 0;
    } else {
      count = std::min(count, link.room(count));
    }
    if (count > 0) {
      link.append(columns, from, count);
      link.publish();
    } else if (link.may_wait(ts[from])) {
      if (!wait(link, ts[from])) return;
      continue;
    } else {
      count = 1;
      while (count < rows && ts[from + count] == ts[from]) ++count;
      link.spill(columns, from, count);
    }
    from += count;
    rows -= count;
  }
}

void LayerOut::distribute(const void* const* columns, std::int64_t from, std::int64_t rows, const std::int32_t* to) {
  while (rows > 0) {
    const std::int64_t count = std::min(rows, unit_);
    if (count == 1) {
      send(static_cast<std::size_t>(to[0]), columns, from, 1);
    } else {
      for (std::int64_t i = 0; i < count; ++i) add_to_list(static_cast<std::size_t>(to[i]), i);
      if (!send_lists(columns, from)) {
        // Send in order, so that while the thread waits to send a row, no later row has been sent.
        for (std::int64_t i = 0; i < count;) {
          std::int64_t end = i + 1;
          while (end < count && to[end] == to[i]) ++end;
          send(static_cast<std::size_t>(to[i]), columns, from + i, end - i);
          if (threads_.failed()) return;
          i = end;
        }
      }
    }
    from += count;
    rows -= count;
    to += count;
  }
}

void LayerOut::multicast(const void* const* columns, std::int64_t from, std::int64_t rows, const std::uint64_t* to) {
  const std::size_t stride = static_cast<std::size_t>(rows);
  // Calls `visit` with each link of row `i` until it returns false.
  const auto each_link = [&](std::int64_t i, auto visit) {
    for (std::size_t first = 0; first < links_.size(); first += 64) {
      for (std::uint64_t rest = to[first / 64 * stride + static_cast<std::size_t>(i)]; rest != 0; rest &= rest - 1) {
        if (!visit(first + static_cast<std::size_t>(std::countr_zero(rest)))) return false;
      }
    }
    return true;
  };
  while (rows > 0) {
    const std::int64_t count = std::min(rows, unit_);
    for (std::int64_t i = 0; i < count; ++i) {
      each_link(i, [&](std::size_t link) {
        add_to_list(link, i);
        return true;
      });
    }
    if (!send_lists(columns, from)) {
      for (std::int64_t i = 0; i < count; ++i) {  // in order, as in `distribute`
        const bool sent = each_link(i, [&](std::size_t link) {
          send(link, columns, from + i, 1);
          return !threads_.failed();
        });
        if (!sent) return;
      }
    }
    from += count;
    rows -= count;
    to += count;
  }
}

// Sends the listed rows if all of them fit; otherwise sends none. Returns whether it sent them.
bool LayerOut::send_lists(const void* const* columns, std::int64_t from) {
  bool fits = true;
  for (std::size_t l = 0; l < links_.size() && fits; ++l) fits = list_sizes_[l] == 0 || links_[l]->fits(list_sizes_[l]);
  for (std::size_t l = 0; l < links_.size(); ++l) {
    if (fits && list_sizes_[l] != 0) {
      links_[l]->append(columns, from, lists_.data() + l * static_cast<std::size_t>(unit_), list_sizes_[l]);
      links_[l]->publish();
    }
    list_sizes_[l] = 0;
  }
  return fits;
}

void LayerOut::announce() {
  unannounced_rows_ = 0;
  for (const auto& link : links_) link->wake(promised_, true);
}

bool LayerOut::settle() {
  std::int64_t moved = 0;
  for (const auto& link : links_) {
    if (link->spilled_rows() == 0) continue;
    link->announce_wait();
    moved += link->drain();
    if (link->spilled_rows() == 0) link->cancel_wait();
  }
  announce();
  return moved != 0;
}

bool LayerOut::closed() const noexcept {
  return std::all_of(links_.begin(), links_.end(), [](const auto& link) { return link->closed(); });
}

// Waits until a link has room for a row of time `ts`. Returns false if the run has failed.
bool LayerOut::wait(LayerLink& link, std::int64_t ts) {
  promise(ts);
  ++counts_.room_waits;
  Backoff backoff = threads_.backoff();
  // Wait for a quarter of the ring, so that one wake-up serves many rows.
  const std::int64_t wanted_room = std::max<std::int64_t>(1, link.size() / 4);
  announce();
  while (!threads_.failed()) {
    if (link.room(wanted_room) >= wanted_room) return true;
    switch (backoff.next()) {
      case Backoff::Step::kSpin:
        spin_pause();
        break;
      case Backoff::Step::kYield:
        ++counts_.yields;
        std::this_thread::yield();
        break;
      case Backoff::Step::kSleep: {
        const std::uint32_t ticket = parker_.prepare();
        link.announce_wait();
        // Consumers of other links may wait for spilled rows, or for the promise that spilled rows hold back.
        const bool has_progress = settle() || link.room(1) > 0;
        if (has_progress || threads_.failed()) {
          parker_.cancel();
        } else {
          ++counts_.sleeps;
          parker_.commit(ticket);
        }
        link.cancel_wait();
        if (link.room(1) > 0) return true;
        break;
      }
    }
  }
  return false;
}

}  // namespace lab
