// A native program for the tests: for each key, value events add up, and a read event emits the sum and resets it.
// Kind 0 adds, kind 1 reads; tag = kind + 2 * key. It has the dependence relation of the general case. With groups of
// keys, tag 2 * keys + g reads all keys of group g and changes them: an event across keys.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <tuple>
#include <vector>

#include "streams.h"

#include "dgs/bench/sum_kernels.h"
#include "dgs/dgs_run.h"

namespace lab::test {

struct KeyedSum {
  static std::int64_t run(void* states, const std::int32_t* slots, const void* const* columns, std::int64_t begin,
                          std::int64_t end, Emit* out) {
    const auto* ts = static_cast<const std::int64_t*>(columns[0]);
    const auto* tag = static_cast<const std::int32_t*>(columns[1]);
    const auto* value = static_cast<const std::int64_t*>(columns[2]);
    const std::int64_t n = std::min(end - begin, out->capacity - out->count);
    for (std::int64_t i = begin; i < begin + n; ++i) {
      const std::int32_t slot = slots != nullptr ? slots[tag[i]] : 0;
      if (slot < 0) continue;
      std::int64_t& sum = static_cast<std::int64_t*>(states)[slot];
      if (tag[i] % 2 == 0) {
        sum += value[i];
        continue;
      }
      static_cast<std::int64_t*>(out->columns[0])[out->count] = ts[i];
      static_cast<std::int32_t*>(out->columns[1])[out->count] = tag[i] / 2;
      static_cast<std::int64_t*>(out->columns[2])[out->count] = sum;
      ++out->count;
      sum = 0;
    }
    return begin + n;
  }

  // Emits each sum and halves it.
  static std::int64_t across(void*, void* const* states, const std::int32_t* keys, std::int64_t count,
                             const void* const* columns, std::int64_t event, Emit* out) {
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t& sum = *static_cast<std::int64_t*>(states[i]);
      static_cast<std::int64_t*>(out->columns[0])[out->count] = static_cast<const std::int64_t*>(columns[0])[event];
      static_cast<std::int32_t*>(out->columns[1])[out->count] = keys[i];
      static_cast<std::int64_t*>(out->columns[2])[out->count] = sum;
      ++out->count;
      sum /= 2;
    }
    return kDone;
  }

  static std::int64_t fork(const void* state, const std::uint8_t*, const std::uint8_t* pred2, void* first,
                           void* second) {
    const std::int64_t sum = *static_cast<const std::int64_t*>(state);
    *static_cast<std::int64_t*>(first) = pred2[1] != 0 ? 0 : sum;
    *static_cast<std::int64_t*>(second) = pred2[1] != 0 ? sum : 0;
    return kDone;
  }
};

struct Events : Times {
  Events() = default;
  Events(std::vector<std::int64_t> times, std::vector<std::int32_t> tags, std::vector<std::int64_t> values)
      : Times{std::move(times)}, tag(std::move(tags)), value(std::move(values)) {}

  void add(std::int64_t event_ts, int event_tag, std::int64_t event_value) {
    ts.push_back(event_ts);
    tag.push_back(event_tag);
    value.push_back(event_value);
  }

  std::vector<std::int32_t> tag;
  std::vector<std::int64_t> value;
};

using Output = std::tuple<std::int64_t, std::int32_t, std::int64_t>;  // ts, key, sum

// Streams with ties, gaps and silent stretches; reads are in every stream or in the last one only.
inline std::vector<Events> random_streams(std::mt19937& random, int streams, int keys, int events, bool mixed,
                                          int groups = 0) {
  std::vector<Events> all(static_cast<std::size_t>(streams));
  for (int s = 0; s < streams; ++s) {
    std::int64_t now = 0;
    const bool reads = mixed || s == streams - 1;
    const bool values = mixed || s != streams - 1;
    const int n = random() % 5 == 0 ? 0 : std::uniform_int_distribution<int>(0, events)(random);
    for (int i = 0; i < n; ++i) {
      if (random() % 3 != 0) now += static_cast<std::int64_t>(random() % 5);
      const bool read = reads && (!values || random() % 8 == 0);
      const int key = static_cast<int>(random() % static_cast<unsigned>(keys));
      const bool across = groups > 0 && random() % 16 == 0;
      const int group = across ? static_cast<int>(random() % static_cast<unsigned>(groups)) : 0;
      all[static_cast<std::size_t>(s)].add(now, across ? 2 * keys + group : (read ? 1 : 0) + 2 * key,
                                           static_cast<std::int64_t>(random() % 100));
    }
  }
  return all;
}

// Returns cuts before some of the events of all streams.
inline std::vector<Cut> random_cuts(std::mt19937& random, const std::vector<Events>& streams, unsigned every) {
  std::vector<Cut> cuts;
  for (std::size_t s = 0; s < streams.size(); ++s) {
    for (std::size_t i = 0; i < streams[s].ts.size(); ++i) {
      if (random() % every != 0) continue;
      cuts.push_back({{streams[s].ts[i], static_cast<std::int32_t>(s)}, static_cast<std::int64_t>(i)});
    }
  }
  std::sort(cuts.begin(), cuts.end(),
            [](const Cut& a, const Cut& b) { return a.key != b.key ? a.key < b.key : a.position < b.position; });
  return cuts;
}

// Returns the outputs of sequential execution.
inline std::vector<Output> oracle(const std::vector<Events>& streams, int keys, int groups = 0) {
  std::vector<std::int64_t> sums(static_cast<std::size_t>(keys), 0);
  std::vector<Output> out;
  for (const auto& [ts, s, i] : total_order(streams)) {
    const std::int32_t tag = streams[s].tag[i];
    if (tag >= 2 * keys) {
      for (std::int32_t key = tag - 2 * keys; key < keys; key += groups) {
        std::int64_t& sum = sums[static_cast<std::size_t>(key)];
        out.emplace_back(ts, key, sum);
        sum /= 2;
      }
      continue;
    }
    std::int64_t& sum = sums[static_cast<std::size_t>(tag / 2)];
    if (tag % 2 == 0) {
      sum += streams[s].value[i];
    } else {
      out.emplace_back(ts, tag / 2, sum);
      sum = 0;
    }
  }
  return out;
}

// A run with one tree for each key. Worker s mod workers reads stream s. Reads belong to the roots, and events across
// keys to no tree. Group g has the keys g, g + groups, ... `replan` changes the number of leaves and the workers of
// streams.
class KeyedSumRun {
 public:
  // `streams` must outlive the run; they have due times if `options` have a load.
  KeyedSumRun(const std::vector<Events>& streams, int keys, DgsOptions options, int groups = 0)
      : streams_(streams),
        keys_(keys),
        groups_(groups),
        load_(options.load.has_value()),
        runtime_(with_outputs(std::move(options))) {
    const auto count = static_cast<std::int32_t>(streams.size());
    leaves_ = std::min(count, workers_);
    for (std::int32_t s = 0; s < count; ++s) add_stream(s);
    add_plan(std::vector<std::int64_t>(static_cast<std::size_t>(keys)));
  }

  // Changes the plan at a snapshot at which the run stops. `sums` are its root states.
  void replan(std::int32_t leaves, std::int32_t shift, const std::vector<std::int64_t>& sums) {
    leaves_ = leaves;
    shift_ = shift;
    for (std::int32_t s = 0; s < static_cast<std::int32_t>(streams_.size()); ++s) {
      runtime_.set_stream_owner(s, worker_of(leaf_of(s)));
    }
    states_.clear();
    add_plan(sums);
  }

  std::int32_t max_leaves() const noexcept { return std::min(static_cast<std::int32_t>(streams_.size()), workers_); }

  std::vector<Output> run() {
    runtime_.run();
    const auto rows = static_cast<std::size_t>(runtime_.rows());
    std::vector<std::int64_t> ts(rows);
    std::vector<std::int32_t> key(rows);
    std::vector<std::int64_t> sum(rows);
    std::vector<void*> columns{ts.data(), key.data(), sum.data()};
    runtime_.collect(columns);
    std::vector<Output> out;
    for (std::size_t i = 0; i < rows; ++i) out.emplace_back(ts[i], key[i], sum[i]);
    return out;
  }

  DgsRun& runtime() noexcept { return runtime_; }

 private:
  DgsOptions with_outputs(DgsOptions options) {
    workers_ = options.workers;
    options.output_itemsizes = {8, 4, 8};
    options.max_outputs_across = keys_;
    options.grid_steps = 50;  // sanitizers pay for all steps
    return options;
  }

  void add_plan(const std::vector<std::int64_t>& sums) {
    runtime_.forest.add_state_type(8);
    runtime_.forest.add_template(shape());
    runtime_.forest.add_trees(0, keys_);
    for (std::int32_t leaf = 0; leaf < leaves_; ++leaf) add_mailbox(leaf);
    for (std::int32_t group = 0; group < groups_; ++group) add_crossing(group);
    for (std::int32_t leaf = 0; leaf < leaves_; ++leaf) add_lanes(leaf);
    for (std::int32_t key = 0; key < keys_; ++key) {
      runtime_.forest.initialise(key, std::as_bytes(std::span(sums).subspan(static_cast<std::size_t>(key), 1)));
    }
  }

  std::int32_t leaf_of(std::int32_t stream) const noexcept { return (stream + shift_) % leaves_; }
  std::int32_t worker_of(std::int32_t leaf) const noexcept { return (leaf + shift_) % workers_; }

  // Returns a balanced tree over the leaves; one leaf is a tree by itself. Leaf i is node leaf_node_[i].
  TreeTemplate shape() {
    TreeTemplate result;
    leaf_node_.assign(static_cast<std::size_t>(leaves_), -1);
    grow(result, -1, 0, leaves_);
    for (TreeTemplate::Node& node : result.nodes) {
      if (node.leaf()) continue;
      node.fork = &KeyedSum::fork;
      node.join = &sums::join;
      node.pred1 = {1, 0};
      node.pred2 = {1, 0};
    }
    return result;
  }

  std::int32_t grow(TreeTemplate& tree, std::int32_t parent, std::int32_t from, std::int32_t to) {
    const auto index = static_cast<std::int32_t>(tree.nodes.size());
    tree.nodes.emplace_back();
    tree.nodes.back().parent = parent;
    if (to - from == 1) {
      leaf_node_[static_cast<std::size_t>(from)] = index;
      return index;
    }
    const std::int32_t middle = from + (to - from) / 2;
    const std::int32_t first = grow(tree, index, from, middle);
    const std::int32_t second = grow(tree, index, middle, to);
    tree.nodes[static_cast<std::size_t>(index)].first = first;
    tree.nodes[static_cast<std::size_t>(index)].second = second;
    return index;
  }

  void add_stream(std::int32_t s) {
    const Events& events = streams_[static_cast<std::size_t>(s)];
    StreamView view;
    if (load_) events.show_in(view);
    view.ts = events.ts;
    view.tag = events.tag.data();
    view.columns = {events.ts.data(), events.tag.data(), events.value.data()};
    runtime_.add_stream(std::move(view), worker_of(leaf_of(s)));
  }

  void add_mailbox(std::int32_t leaf) {
    const std::int32_t node = leaf_node_[static_cast<std::size_t>(leaf)];
    const std::int32_t index = runtime_.add_mailbox(worker_of(leaf));
    states_.push_back(std::make_unique<std::int64_t[]>(static_cast<std::size_t>(keys_)));
    std::int64_t* states = states_.back().get();
    for (std::int32_t key = 0; key < keys_; ++key) {
      runtime_.mailbox(index).leaf_of_tree[static_cast<std::size_t>(key)] = node;
      runtime_.forest.place(key, node, states + key);
    }
  }

  void add_crossing(std::int32_t group) {
    std::vector<std::int32_t> keys;  // also the numbers of the trees
    for (std::int32_t key = group; key < keys_; key += groups_) keys.push_back(key);
    const std::int32_t crossing = runtime_.add_crossing(keys, keys, 8, keys_);
    for (std::int32_t leaf = 0; leaf < leaves_; ++leaf) runtime_.join_crossing(leaf, crossing);
  }

  void add_lanes(std::int32_t leaf) {
    std::int64_t* states = states_[static_cast<std::size_t>(leaf)].get();
    for (std::int32_t s = 0; s < static_cast<std::int32_t>(streams_.size()); ++s) {
      const bool is_own = leaf_of(s) == leaf;
      const std::vector<std::int32_t>& tags = streams_[static_cast<std::size_t>(s)].tag;
      const bool reads =
          std::any_of(tags.begin(), tags.end(), [this](std::int32_t tag) { return tag % 2 == 1 || tag >= 2 * keys_; });
      if (!is_own && !reads) continue;  // neither for this leaf nor for a node above it
      slots_.emplace_back();
      order_tree_.emplace_back();
      order_node_.emplace_back();
      for (std::int32_t key = 0; key < keys_; ++key) {
        slots_.back().insert(slots_.back().end(), {is_own ? key : -1, -1});
        order_tree_.back().insert(order_tree_.back().end(), {-1, key});
        order_node_.back().insert(order_node_.back().end(), {-1, 0});
      }
      for (std::int32_t group = 0; group < groups_; ++group) {
        slots_.back().push_back(-1);
        order_tree_.back().push_back(group);
        order_node_.back().push_back(kAcross);
      }
      Lane lane;
      lane.run = is_own ? &KeyedSum::run : nullptr;
      lane.slots = slots_.back().data();
      lane.state = states;
      if (reads) {
        lane.order_tree = order_tree_.back().data();
        lane.order_node = order_node_.back().data();
      }
      lane.update = {&KeyedSum::run};
      lane.across = {&KeyedSum::across};
      runtime_.add_lane(leaf, s, std::move(lane));
    }
  }

  const std::vector<Events>& streams_;
  std::int32_t keys_;
  std::int32_t groups_;
  bool load_;
  std::int32_t workers_ = 0;
  std::int32_t leaves_ = 0;
  std::int32_t shift_ = 0;
  DgsRun runtime_;
  std::vector<std::int32_t> leaf_node_;
  std::vector<std::unique_ptr<std::int64_t[]>> states_;
  std::deque<std::vector<std::int32_t>> slots_, order_tree_, order_node_;  // deque: lanes hold pointers
};

}  // namespace lab::test
