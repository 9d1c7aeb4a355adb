// Python bindings of runs with a synchronization plan: DgsRun (dgs/dgs_run.h) and MessageRun (dgs/message_run.h).
//
// A *tree* is the plan of some keys. A *mailbox* processes the events of several trees on one worker; a *lane* is the
// part of an input stream that it reads (dgs/mailbox.h). A *crossing* synchronizes mailboxes for events across trees;
// its own state is the state of a group of keys (dgs/crossing.h). A *cut* is a place in the total order at which a
// checkpoint is taken or the plan changes (dgs/checkpoints.h).
#include <cstring>

#include "convert.h"

#include "dgs/dgs_run.h"
#include "dgs/message_run.h"

namespace lab::python {
namespace {

// Cuts as arrays: timestamps, streams, positions.
using Cuts = std::tuple<Array<std::int64_t>, Array<std::int32_t>, Array<std::int64_t>>;
using States = nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <typename AnyRun>
std::int32_t add_stream(AnyRun& run, const Array<std::int64_t>& ts, const std::optional<Array<std::int32_t>>& tag,
                        const TupleColumns& payload, const Array<std::int64_t>& heartbeats, std::int32_t owner,
                        const Due& due, const Due& heartbeat_due) {
  if (tag && tag->shape(0) != ts.shape(0)) throw std::invalid_argument("the tag column's length differs from ts");
  StreamView stream = stream_of(run, ts, heartbeats, due, heartbeat_due);
  stream.tag = tag ? keep_alive(run, *tag) : nullptr;
  stream.columns.push_back(stream.tag);
  for (const auto& column : payload) {
    if (column) check_length(ts, column->shape(0));
  }
  add_columns(run, stream, payload);
  return run.add_stream(std::move(stream), owner);
}

// Adds a tree template; each list has one entry per node. Leaves have the children -1. Predicates have one byte per
// event kind.
template <typename AnyRun>
std::int32_t add_template(AnyRun& run, const std::vector<std::int32_t>& parent, const std::vector<std::int32_t>& first,
                          const std::vector<std::int32_t>& second, const std::vector<std::int32_t>& state_type,
                          const std::vector<Address>& fork, const std::vector<Address>& join,
                          const std::vector<std::vector<std::uint8_t>>& pred1,
                          const std::vector<std::vector<std::uint8_t>>& pred2) {
  const std::size_t n = parent.size();
  if (first.size() != n || second.size() != n || state_type.size() != n || fork.size() != n || join.size() != n ||
      pred1.size() != n || pred2.size() != n) {
    throw std::invalid_argument("all lists of a template need one entry for each node");
  }
  TreeTemplate shape;
  for (std::size_t i = 0; i < n; ++i) {
    TreeTemplate::Node node;
    node.parent = parent[i];
    node.first = first[i];
    node.second = second[i];
    node.state_type = state_type[i];
    node.fork = pointer_at<ForkKernel>(fork[i]);
    node.join = pointer_at<JoinKernel>(join[i]);
    node.pred1 = pred1[i];
    node.pred2 = pred2[i];
    shape.nodes.push_back(std::move(node));
  }
  return run.forest.add_template(std::move(shape));
}

// Makes state i of `storage`, at byte i * stride, the state of leaf leaves[i] in tree trees[i].
template <typename AnyRun>
void place(AnyRun& run, const Array<std::int32_t>& trees, const Array<std::int32_t>& leaves, const States& storage,
           std::int64_t stride) {
  if (trees.shape(0) != leaves.shape(0))
    throw std::invalid_argument("got " + std::to_string(leaves.shape(0)) + " leaves for " +
                                std::to_string(trees.shape(0)) + " trees");
  if (static_cast<std::int64_t>(storage.shape(0)) < static_cast<std::int64_t>(trees.shape(0)) * stride) {
    throw std::invalid_argument("storage has " + std::to_string(storage.shape(0)) + " bytes; expected " +
                                std::to_string(trees.shape(0)) + " states of " + std::to_string(stride));
  }
  auto* const first = reinterpret_cast<std::byte*>(keep_alive(run, storage));
  for (std::size_t i = 0; i < trees.shape(0); ++i) {
    run.forest.place(trees.data()[i], leaves.data()[i], first + static_cast<std::int64_t>(i) * stride);
  }
}

// Like `place`, and enters the leaf of each tree into the mailbox.
void place_in_mailbox(DgsRun& run, std::int32_t mailbox, const Array<std::int32_t>& trees,
                      const Array<std::int32_t>& leaves, const States& storage, std::int64_t stride) {
  place(run, trees, leaves, storage, stride);
  for (std::size_t i = 0; i < trees.shape(0); ++i) {
    run.mailbox(mailbox).leaf_of_tree.at(static_cast<std::size_t>(trees.data()[i])) = leaves.data()[i];
  }
}

std::int32_t add_crossing(DgsRun& run, const Array<std::int32_t>& trees, const Array<std::int32_t>& keys,
                          std::int64_t group_bytes, std::int64_t max_outputs) {
  return run.add_crossing({trees.data(), trees.shape(0)}, {keys.data(), keys.shape(0)}, group_bytes, max_outputs);
}

template <typename AnyRun>
void initialise(AnyRun& run, std::int32_t first_tree, std::int32_t count, const nb::bytes& initial, bool each) {
  const auto* data = reinterpret_cast<const std::byte*>(initial.c_str());
  const std::size_t size = each && count > 0 ? initial.size() / static_cast<std::size_t>(count) : initial.size();
  for (std::int32_t t = 0; t < count; ++t) {
    run.forest.initialise(first_tree + t, {data + (each ? static_cast<std::size_t>(t) * size : 0), size});
  }
}

void add_lane(DgsRun& run, std::int32_t mailbox, std::int32_t stream, Address kernel,
              const std::optional<Array<std::int32_t>>& slots, Address state,
              const std::optional<Array<std::int32_t>>& order_tree,
              const std::optional<Array<std::int32_t>>& order_node, const std::vector<Address>& update,
              const std::vector<Address>& across) {
  if (order_tree.has_value() != order_node.has_value())
    throw std::invalid_argument("give order_tree and order_node together");
  Lane lane;
  lane.run = pointer_at<RunKernel>(kernel);
  lane.state = pointer_at<void*>(state);
  if (slots) lane.slots = keep_alive(run, *slots);
  if (order_tree) {
    if (slots && slots->shape(0) != order_tree->shape(0))
      throw std::invalid_argument("slots and order_tree need one entry for each tag");
    lane.order_tree = keep_alive(run, *order_tree);
    lane.order_node = keep_alive(run, *order_node);
  }
  for (const Address address : update) lane.update.push_back(pointer_at<RunKernel>(address));
  for (const Address address : across) lane.across.push_back(pointer_at<AcrossKernel>(address));
  run.add_lane(mailbox, stream, std::move(lane));
}

// A thread that writes snapshots calls the `snapshot_` functions while another thread is in `run` (dgs/checkpoints.h).

std::vector<Cut> cuts_of(const Array<std::int64_t>& ts, const Array<std::int32_t>& stream,
                         const Array<std::int64_t>& position) {
  const std::size_t n = ts.shape(0);
  if (stream.shape(0) != n || position.shape(0) != n)
    throw std::invalid_argument("the arrays of cuts must have equal lengths");
  std::vector<Cut> cuts;
  for (std::size_t i = 0; i < n; ++i) cuts.push_back({{ts.data()[i], stream.data()[i]}, position.data()[i]});
  return cuts;
}

nb::bytes snapshot_states(DgsRun& run, std::int64_t nbytes) {
  std::vector<std::byte> roots(static_cast<std::size_t>(run.forest.size() * nbytes));
  {
    const nb::gil_scoped_release release;
    run.checkpoints().join(run.forest, nbytes, roots);
  }
  return nb::bytes(roots.data(), roots.size());
}

nb::bytes snapshot_group_state(DgsRun& run, std::int32_t crossing) {
  const auto state = run.checkpoints().group_state(crossing);
  return nb::bytes(state.data(), state.size());
}

void snapshot_outputs(DgsRun& run, const std::vector<Address>& columns) {
  std::vector<void*> targets;
  for (const Address address : columns) targets.push_back(pointer_at<void*>(address));
  const nb::gil_scoped_release release;
  run.checkpoints().collect(targets, run.output_itemsizes());
}

void set_group_state(DgsRun& run, std::int32_t crossing, const nb::bytes& state) {
  const auto own = run.group_state(crossing);
  if (own.size() != state.size())
    throw std::invalid_argument("the group state has " + std::to_string(state.size()) + " bytes; expected " +
                                std::to_string(own.size()));
  std::memcpy(own.data(), state.c_str(), own.size());
}

nb::bytes group_state(DgsRun& run, std::int32_t crossing) {
  const auto own = run.group_state(crossing);
  return nb::bytes(own.data(), own.size());
}

// A node: its worker, its flows as (stream, parent), and its tags as (flow, awaited tags, kernel).
using NodeTuple = std::tuple<std::int32_t, std::vector<std::pair<std::int32_t, std::int32_t>>,
                             std::vector<std::tuple<std::int32_t, std::vector<std::int32_t>, Address>>>;

// Converts a node. `crosses`: whether the kernels process events across keys.
NodeActor::Node node_of(NodeTuple tuple, bool crosses) {
  NodeActor::Node node;
  auto& [worker, flows, tags] = tuple;
  node.worker = worker;
  for (const auto& [stream, parent] : flows) node.flows.push_back({stream, parent});
  for (auto& [flow, waits, kernel] : tags) {
    node.tags.push_back({flow, std::move(waits), crosses ? nullptr : pointer_at<RunKernel>(kernel),
                         crosses ? pointer_at<AcrossKernel>(kernel) : nullptr});
  }
  return node;
}

std::int32_t add_actor_trees(MessageRun& run, std::int32_t shape, std::vector<NodeTuple> nodes, std::int32_t count) {
  std::vector<NodeActor::Node> actor_nodes;
  for (NodeTuple& node : nodes) actor_nodes.push_back(node_of(std::move(node), false));
  return run.add_trees(shape, std::move(actor_nodes), count);
}

std::int32_t add_actor_crossing(MessageRun& run, const Array<std::int32_t>& trees, const Array<std::int32_t>& keys,
                                std::int64_t group_bytes, std::int64_t max_outputs, NodeTuple tuple,
                                std::int32_t first_flow, std::int32_t first_tag) {
  NodeActor::Node node = node_of(std::move(tuple), true);
  node.first_flow = first_flow;
  node.first_tag = first_tag;
  return run.add_crossing({trees.data(), trees.shape(0)}, {keys.data(), keys.shape(0)}, group_bytes, max_outputs,
                          std::move(node));
}

void route(MessageRun& run, std::int32_t stream, const Array<std::int32_t>& actors, const Array<std::int32_t>& tags) {
  if (actors.shape(0) != tags.shape(0))
    throw std::invalid_argument("actors and tags need one entry for each tag of the stream");
  run.route(stream, keep_alive(run, actors), keep_alive(run, tags));
}

// Binds the methods that DgsRun and MessageRun share.
template <typename AnyRun>
void bind_forest(nb::class_<AnyRun, Run>& binding) {
  binding
      .def("add_stream", &add_stream<AnyRun>, "ts"_a.noconvert(), "tag"_a.none().noconvert(), "payload"_a,
           "heartbeats"_a.noconvert(), "owner"_a, "due"_a.none().noconvert() = nb::none(),
           "heartbeat_due"_a.none().noconvert() = nb::none())
      .def(
          "add_state_type", [](AnyRun& run, std::int64_t nbytes) { run.forest.add_state_type(nbytes); }, "nbytes"_a)
      .def("add_template", &add_template<AnyRun>, "parent"_a, "first"_a, "second"_a, "state_type"_a, "fork"_a, "join"_a,
           "pred1"_a, "pred2"_a)
      .def("initialise", &initialise<AnyRun>, "first_tree"_a, "count"_a, "initial"_a, nb::kw_only(), "each"_a = false,
           "Set the same initial state for all trees, or with `each` the states in `initial`, one after the other.")
      .def("sync", [](const AnyRun& run) { return sparse(run.sync_counts()); });
}

void bind_messages(nb::module_& m) {
  nb::class_<MessageRun, Run> binding(m, "MessageRun");
  bind_forest(binding);
  binding
      .def(
          "__init__",
          [](MessageRun* self, const RunSettings& settings, std::int64_t max_outputs_per_event,
             std::vector<std::int32_t> itemsizes, std::int64_t max_outputs_across) {
            new (self) MessageRun({settings, max_outputs_per_event, max_outputs_across, std::move(itemsizes)});
          },
          "settings"_a, nb::kw_only(), "max_outputs_per_event"_a, "itemsizes"_a, "max_outputs_across"_a = 0)
      .def("add_trees", &add_actor_trees, "shape"_a, "nodes"_a, "count"_a)
      .def("first_actor", &MessageRun::first_actor, "tree"_a)
      .def("place", &place<MessageRun>, "trees"_a, "leaves"_a, "storage"_a.noconvert(), "stride"_a)
      .def("add_crossing", &add_actor_crossing, "trees"_a, "keys"_a, "group_bytes"_a, "max_outputs"_a, "node"_a,
           "first_flow"_a, "first_tag"_a)
      .def("route", &route, "stream"_a, "actors"_a, "tags"_a)
      .def("sent_to_others", &MessageRun::sent_to_others,
           "Return, for each stream, the number of events that went to another worker.");
}

}  // namespace

void bind_dgs(nb::module_& m) {
  m.attr("CACHE_LINE") = kCacheLine;
  m.attr("ACROSS") = kAcross;
  m.attr("STATE_UNIT") = kStateUnit;
  m.attr("HANDOVERS") = list_of(kHandovers);
  bind_messages(m);
  nb::class_<DgsRun, Run> binding(m, "DgsRun");
  bind_forest(binding);
  binding
      .def(
          "__init__",
          [](DgsRun* self, const RunSettings& settings, std::int64_t max_outputs_per_event,
             std::vector<std::int32_t> itemsizes, std::int64_t max_outputs_across, bool gather,
             const std::string& handover, const std::optional<Cuts>& cuts, bool adaptive, bool checkpoints) {
            const auto gather_mode = gather ? DgsOptions::Gather::kQuicker : DgsOptions::Gather::kNever;
            new (self) DgsRun({settings, max_outputs_per_event, max_outputs_across, std::move(itemsizes), gather_mode,
                               index_of("handover", kHandovers, handover) == 0,
                               cuts ? std::optional(std::apply(cuts_of, *cuts)) : std::nullopt, adaptive, checkpoints});
          },
          "settings"_a, nb::kw_only(), "max_outputs_per_event"_a, "itemsizes"_a, "max_outputs_across"_a = 0,
          "gather"_a = true, "handover"_a = std::string(kHandovers.front()), "cuts"_a.none() = nb::none(),
          "adaptive"_a = false, "checkpoints"_a = true)
      .def(
          "add_trees",
          [](DgsRun& run, std::int32_t shape, std::int32_t count) { return run.forest.add_trees(shape, count); },
          "shape"_a, "count"_a)
      .def("add_mailbox", &DgsRun::add_mailbox, "worker"_a)
      .def("place", &place_in_mailbox, "mailbox"_a, "trees"_a, "leaves"_a, "storage"_a.noconvert(), "stride"_a)
      .def("add_crossing", &add_crossing, "trees"_a, "keys"_a, "group_bytes"_a, "max_outputs"_a)
      .def("join_crossing", &DgsRun::join_crossing, "mailbox"_a, "crossing"_a)
      .def("add_lane", &add_lane, "mailbox"_a, "stream"_a, "run"_a, "slots"_a.none(), "state"_a, "order_tree"_a.none(),
           "order_node"_a.none(), "update"_a, "across"_a = std::vector<Address>())
      .def("set_group_state", &set_group_state, "crossing"_a, "state"_a)
      .def("group_state", &group_state, "crossing"_a, "Return the group state, before or after the run.")
      .def(
          "wait_snapshot", [](DgsRun& run) { return run.checkpoints().wait(); },
          nb::call_guard<nb::gil_scoped_release>(), "Wait for a snapshot. Return False if none will come.")
      .def("snapshot_cut", [](DgsRun& run) { return run.checkpoints().cut(); })
      .def("snapshot_states", &snapshot_states, "nbytes"_a,
           "Return the states of all trees' roots, `nbytes` bytes each.")
      .def("snapshot_group_state", &snapshot_group_state, "crossing"_a)
      .def(
          "snapshot_rows", [](DgsRun& run) { return run.checkpoints().rows(); },
          "Return the number of outputs since the last snapshot.")
      .def("snapshot_outputs", &snapshot_outputs, "columns"_a,
           "Merge the outputs since the last snapshot, as `collect` does.")
      .def("free_snapshot", [](DgsRun& run) { run.checkpoints().free(); })
      .def(
          "close_snapshots", [](DgsRun& run, bool now) { run.checkpoints().close(now); }, "now"_a)
      .def(
          "cuts_decided", [](DgsRun& run) { return run.checkpoints().decided(); },
          "Return the number of cuts that mailboxes have reached. Any thread.")
      .def(
          "request_change", [](DgsRun& run, std::int64_t from) { run.checkpoints().stop_from(from); }, "from_cut"_a,
          "Make the run stop at a cut from `from_cut` on. Only the snapshot thread calls it.")
      .def("snapshot_stops", [](DgsRun& run) { return run.checkpoints().stops(); })
      .def("remove_plan", &DgsRun::remove_plan, nb::call_guard<nb::gil_scoped_release>(),
           "Remove the plan at a snapshot that stops. Return False if the run has ended early.")
      .def("set_stream_owner", &DgsRun::set_stream_owner, "stream"_a, "owner"_a,
           "Set the owner of a stream in a new plan.")
      .def("resume", &DgsRun::resume, nb::call_guard<nb::gil_scoped_release>(), "Continue the run with the new plan.")
      .def(
          "snapshot_rest", [](DgsRun& run) { run.checkpoints().snapshot_rest(); },
          "After the run, make the outputs since the last snapshot available.")
      .def("cancel", &DgsRun::cancel, "End `run` early. Any thread.");
}

}  // namespace lab::python
