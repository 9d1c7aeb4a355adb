// The keyed sum (keyed_sum.h) in the published form, for tests.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "dgs/message_run.h"
#include "dgs/tests/keyed_sum.h"

namespace lab::test {

// Sorts outputs by key. Those of different keys are independent, so any order of them is right.
inline std::vector<Output> by_key(std::vector<Output> outputs) {
  std::ranges::stable_sort(outputs, {}, [](const Output& output) { return std::get<1>(output); });
  return outputs;
}

// A run with one tree for each key. Leaf i owns the values of the streams i, i + leaves, ... and belongs to worker i
// mod workers. The inner nodes form a path or a balanced tree; their workers take turns. Reads belong to the roots, and
// events across the keys g, g + groups, ... to crossing g.
class MessageSumRun {
 public:
  struct Shape {
    std::int32_t leaves = 1;
    bool deep = false;  // a path of inner nodes instead of a balanced tree
  };

  // `streams` must outlive the run; they have due times if `options` have a load.
  MessageSumRun(const std::vector<Events>& streams, int keys, MessageOptions options, Shape shape, int groups = 0)
      : streams_(streams),
        keys_(keys),
        groups_(groups),
        shape_(shape),
        workers_(options.workers),
        load_(options.load.has_value()),
        runtime_(with_outputs(std::move(options))) {
    for (std::size_t s = 0; s < streams.size(); ++s) add_stream(s);
    runtime_.forest.add_state_type(8);
    grow(-1, 0, shape_.leaves);
    for (TreeTemplate::Node& node : template_.nodes) {
      if (node.leaf()) continue;
      node.fork = &KeyedSum::fork;
      node.join = &sums::join;
      node.pred1 = node.pred2 = {1, 0};
    }
    runtime_.forest.add_template(template_);
    std::vector<NodeActor::Node> nodes;
    for (std::size_t n = 0; n < template_.nodes.size(); ++n) nodes.push_back(actor_of(static_cast<std::int32_t>(n)));
    runtime_.add_trees(0, std::move(nodes), keys);
    states_ = std::vector<std::array<std::int64_t, kLine>>(static_cast<std::size_t>(keys * shape_.leaves));
    for (std::int32_t key = 0; key < keys; ++key) {
      for (std::int32_t leaf = 0; leaf < shape_.leaves; ++leaf) {
        runtime_.forest.place(key, leaf_node_[static_cast<std::size_t>(leaf)],
                              &states_[static_cast<std::size_t>(key * shape_.leaves + leaf)]);
      }
    }
    for (std::int32_t group = 0; group < groups; ++group) add_crossing(group);
    const std::int64_t zero = 0;
    for (std::int32_t key = 0; key < keys; ++key) {
      runtime_.forest.initialise(key, std::as_bytes(std::span(&zero, 1)));
    }
    for (std::int32_t s = 0; s < count(); ++s) add_route(s);
  }

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

  MessageRun& runtime() noexcept { return runtime_; }

  // The kernels of the values and of the reads.
  static inline RunKernel update = &KeyedSum::run;

 private:
  static constexpr std::size_t kLine = kCacheLine / sizeof(std::int64_t);

  MessageOptions with_outputs(MessageOptions options) const {
    options.output_itemsizes = {8, 4, 8};
    options.max_outputs_across = keys_;
    options.grid_steps = 50;  // sanitizers pay for all steps
    return options;
  }

  std::int32_t count() const noexcept { return static_cast<std::int32_t>(streams_.size()); }
  std::int32_t leaf_of(std::int32_t stream) const noexcept { return stream % shape_.leaves; }
  std::int32_t node_of(std::int32_t stream) const noexcept {
    return leaf_node_[static_cast<std::size_t>(leaf_of(stream))];
  }

  std::int32_t grow(std::int32_t parent, std::int32_t from, std::int32_t to) {
    const auto index = static_cast<std::int32_t>(template_.nodes.size());
    template_.nodes.emplace_back();
    template_.nodes.back().parent = parent;
    if (to - from == 1) {
      leaf_node_.push_back(index);
      return index;
    }
    const std::int32_t middle = shape_.deep ? from + 1 : from + (to - from) / 2;
    const std::int32_t first = grow(index, from, middle);
    const std::int32_t second = grow(index, middle, to);
    template_.nodes[static_cast<std::size_t>(index)].first = first;
    template_.nodes[static_cast<std::size_t>(index)].second = second;
    return index;
  }

  void add_stream(std::size_t s) {
    const Events& events = streams_[s];
    StreamView view;
    if (load_) events.show_in(view);
    view.ts = events.ts;
    view.tag = events.tag.data();
    view.columns = {events.ts.data(), events.tag.data(), events.value.data()};
    runtime_.add_stream(std::move(view), static_cast<std::int32_t>(s) % workers_);
  }

  // Every node has, for each stream, the tag of the crossing's events (if there are groups), then that of the reads. A
  // leaf also has the tags of the values of its streams. Each tag has its own flow.
  NodeActor::Node actor_of(std::int32_t index) const {
    const bool root = index == 0;
    NodeActor::Node node;
    const auto leaf = std::find(leaf_node_.begin(), leaf_node_.end(), index);
    node.worker = (leaf != leaf_node_.end() ? static_cast<std::int32_t>(leaf - leaf_node_.begin()) : index) % workers_;
    for (std::int32_t s = 0; groups_ > 0 && s < count(); ++s) add_tag(node, {s, 0}, nullptr);
    for (std::int32_t s = 0; s < count(); ++s) add_tag(node, {s, root ? -1 : 0}, update);
    for (std::int32_t s = 0; s < count(); ++s) {
      if (node_of(s) == index) add_tag(node, {s, -1}, update);
    }
    const auto is_from_parent = [&](std::size_t tag) { return node.flows[tag].parent >= 0; };
    for (std::size_t tag = 0; tag < node.tags.size(); ++tag) {
      const bool is_value = tag >= first_value();
      for (std::size_t other = 0; other < node.tags.size(); ++other) {
        if (tag == other || (is_from_parent(tag) && is_from_parent(other)) || (is_value && other >= first_value()))
          continue;
        node.tags[tag].waits.push_back(static_cast<std::int32_t>(other));
      }
    }
    return node;
  }

  std::size_t first_value() const noexcept { return streams_.size() * (groups_ > 0 ? 2 : 1); }

  static void add_tag(NodeActor::Node& node, NodeActor::Flow flow, RunKernel kernel) {
    node.tags.push_back({static_cast<std::int32_t>(node.flows.size()), {}, kernel, &KeyedSum::across});
    node.flows.push_back(flow);
  }

  void add_crossing(std::int32_t group) {
    NodeActor::Node node;
    node.worker = group % workers_;
    for (std::int32_t s = 0; s < count(); ++s) add_tag(node, {s, -1}, nullptr);
    for (std::int32_t tag = 0; tag < count(); ++tag) {
      for (std::int32_t other = 0; other < count(); ++other) {
        if (tag != other) node.tags[static_cast<std::size_t>(tag)].waits.push_back(other);
      }
    }
    std::vector<std::int32_t> keys;  // also the numbers of the trees
    for (std::int32_t key = group; key < keys_; key += groups_) keys.push_back(key);
    crossings_.push_back(runtime_.add_crossing(keys, keys, 8, keys_, std::move(node)));
  }

  void add_route(std::int32_t s) {
    std::vector<std::int32_t>& actors = routes_.emplace_back();
    std::vector<std::int32_t>& tags = routes_.emplace_back();
    const auto first = static_cast<std::int32_t>(first_value());
    const std::int32_t reads = groups_ > 0 ? count() : 0;
    std::int32_t own = first;  // the tag of the stream's values at its leaf
    for (std::int32_t other = 0; other < s; ++other) own += node_of(other) == node_of(s) ? 1 : 0;
    for (std::int32_t key = 0; key < keys_; ++key) {
      const std::int32_t root = runtime_.first_actor(key);
      actors.insert(actors.end(), {root + node_of(s), root});
      tags.insert(tags.end(), {own, reads + s});
    }
    for (const std::int32_t crossing : crossings_) {
      actors.push_back(crossing);
      tags.push_back(s);
    }
    runtime_.route(s, actors.data(), tags.data());
  }

  const std::vector<Events>& streams_;
  std::int32_t keys_;
  std::int32_t groups_;
  Shape shape_;
  std::int32_t workers_;
  bool load_;
  MessageRun runtime_;
  TreeTemplate template_;
  std::vector<std::int32_t> leaf_node_;
  std::vector<std::array<std::int64_t, kLine>> states_;  // by key, then leaf
  std::vector<std::int32_t> crossings_;
  std::deque<std::vector<std::int32_t>> routes_;  // deque: producers hold pointers
};

}  // namespace lab::test
