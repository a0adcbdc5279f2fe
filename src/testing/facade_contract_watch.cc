// Contract cases for watches. Because other clients of a real cluster also write to the objects, the cases check only
// the order of their own steps, each of which changes the label `step`.

#include <fmt/ranges.h>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

#include "base/status_macros.h"
#include "testing/facade_contract_cases.h"

namespace driverupgrade::testing::internal {

namespace {

using Lines = std::vector<std::string>;

std::string Join(const Lines& lines) { return fmt::format("[{}]", fmt::join(lines, ", ")); }

const std::string& NameOf(const Node& node) { return node.name; }
const std::string& NameOf(const Pod& pod) { return pod.ref.name; }
template <class T>
const std::string& NameOf(const T& object) {
  return object.name;
}

// Records changes as lines until one of the lines in `last` appears; the line `list` matches any list. Ignores changes
// that do not alter the object's text, because such changes come from other clients.
template <class T>
class Notes final : public WatchSink<T> {
 public:
  explicit Notes(Lines last) : last_(std::move(last)) {}

  bool OnList(std::vector<T> objects, std::string_view version) override {
    std::string line = "list";
    for (const T& object : objects) {
      line += " " + Text(object);
      texts_[NameOf(object)] = Text(object);
    }
    return Note(std::move(line), version) && !IsLast("list");
  }
  bool OnChange(T object, std::string_view version) override {
    std::string& text = texts_[NameOf(object)];
    if (text == Text(object)) return OnBookmark(version);
    text = Text(object);
    return Note("change " + text, version);
  }
  bool OnDelete(T object, std::string_view version) override {
    texts_.erase(NameOf(object));
    return Note("delete " + NameOf(object), version);
  }
  bool OnBookmark(std::string_view version) override {
    std::lock_guard lock(mutex_);
    version_ = std::string(version);
    return true;
  }

  /// Sets the text of an object that was seen before this watch.
  void Know(const std::string& name, const std::string& text) { texts_[name] = text; }

  void End() {
    std::lock_guard lock(mutex_);
    ended_ = true;
    noted_.notify_all();
  }
  /// Blocks until a change has been recorded or the watch has ended.
  void AwaitFirst() {
    std::unique_lock lock(mutex_);
    noted_.wait(lock, [&] { return ended_ || !lines_.empty(); });
  }
  Lines lines() const {
    std::lock_guard lock(mutex_);
    return lines_;
  }
  std::string version() const {
    std::lock_guard lock(mutex_);
    return version_;
  }

 private:
  static std::string Text(const T& object) {
    if constexpr (requires { object.labels; }) {
      auto found = object.labels.find("step");
      if (found != object.labels.end()) return NameOf(object) + "=" + found->second;
    }
    return NameOf(object);
  }

  bool IsLast(const std::string& line) const { return std::find(last_.begin(), last_.end(), line) != last_.end(); }

  bool Note(std::string line, std::string_view version) {
    std::lock_guard lock(mutex_);
    const bool wants_more = !IsLast(line);
    version_ = std::string(version);
    lines_.push_back(std::move(line));
    noted_.notify_all();
    return wants_more;
  }

  const Lines last_;
  /// The last text of each object, by name. Used only by the watch's thread.
  std::map<std::string, std::string> texts_;
  mutable std::mutex mutex_;
  std::condition_variable noted_;
  Lines lines_;
  std::string version_;
  bool ended_ = false;
};

// Creates and changes the nodes of a single case, and formats the lines that Notes records about them.
struct Nodes {
  explicit Nodes(ContractWorld& the_world)
      : world(the_world),
        prefix(world.prefix()),
        shown(prefix + "shown"),
        selector(LabelSelector::FromMatchLabels({{"contract", shown}})) {}

  absl::Status Make(const std::string& letter) {
    return world.MakeNode({.name = prefix + letter, .labels = {{"contract", shown}, {"step", "0"}}}).status();
  }
  absl::Status Step(const std::string& letter, const std::string& step) {
    return PatchNow(world, {.name = prefix + letter, .labels = {{"step", step}}}).status();
  }
  /// Changes the node's label so that the selector matches the node only if `show` is true.
  absl::Status Show(const std::string& letter, bool show) {
    return PatchNow(world, {.name = prefix + letter, .labels = {{"contract", show ? shown : "hidden"}}}).status();
  }
  WatchParams Params(std::string version = {}) const {
    return {.label_selector = selector, .resource_version = std::move(version)};
  }
  std::string Change(const std::string& letter, const std::string& step) const {
    return "change " + prefix + letter + "=" + step;
  }
  std::string Delete(const std::string& letter) const { return "delete " + prefix + letter; }
  /// Returns the current resource version.
  absl::StatusOr<std::string> Version() {
    Notes<Node> notes({"list"});
    WatchParams params = Params();
    params.list = false;
    DRIVERUPGRADE_RETURN_IF_ERROR(world.facade().WatchNodes(world.context(), params, notes));
    EXPECT_THAT(notes.lines() == Lines{"list"}, Join(notes.lines()));
    EXPECT_THAT(!notes.version().empty(), "no version");
    return notes.version();
  }

  ContractWorld& world;
  const std::string prefix;
  const std::string shown;
  const LabelSelector selector;
};

// Runs a watch on nodes in its own thread.
class RunningWatch {
 public:
  RunningWatch(ContractWorld& world, WatchParams params, Notes<Node>& notes)
      : thread_(
            [this, &facade = world.facade(), context = world.context(), params = std::move(params), &notes]() mutable {
              context.stop = stop_.get_token();
              status_ = facade.WatchNodes(context, params, notes);
              notes.End();
            }) {}
  ~RunningWatch() {
    stop_.request_stop();
    if (thread_.joinable()) thread_.join();
  }
  void RequestStop() { stop_.request_stop(); }
  absl::Status Join() {
    thread_.join();
    return status_;
  }

 private:
  std::stop_source stop_;
  absl::Status status_;
  std::thread thread_;
};

absl::Status WatchFollowsItsList(ContractWorld& world) {
  Nodes nodes(world);
  DRIVERUPGRADE_RETURN_IF_ERROR(nodes.Make("a"));
  Notes<Node> notes({nodes.Change("z", "0")});
  RunningWatch watch(world, nodes.Params(), notes);
  notes.AwaitFirst();
  DRIVERUPGRADE_RETURN_IF_ERROR(nodes.Step("a", "1"));
  DRIVERUPGRADE_RETURN_IF_ERROR(nodes.Make("b"));
  DRIVERUPGRADE_RETURN_IF_ERROR(nodes.Step("a", "2"));
  DRIVERUPGRADE_RETURN_IF_ERROR(nodes.Make("z"));
  DRIVERUPGRADE_RETURN_IF_ERROR(watch.Join());

  const Lines expected = {"list " + nodes.prefix + "a=0", nodes.Change("a", "1"), nodes.Change("b", "0"),
                          nodes.Change("a", "2"), nodes.Change("z", "0")};
  EXPECT_THAT(notes.lines() == expected, Join(notes.lines()));
  return absl::OkStatus();
}

absl::Status WatchGivesDeletions(ContractWorld& world) {
  Nodes nodes(world);
  DRIVERUPGRADE_RETURN_IF_ERROR(nodes.Make("a"));
  Notes<Node> notes({nodes.Change("z", "0")});
  RunningWatch watch(world, nodes.Params(), notes);
  notes.AwaitFirst();
  DRIVERUPGRADE_RETURN_IF_ERROR(world.RemoveNode(nodes.prefix + "a"));
  DRIVERUPGRADE_RETURN_IF_ERROR(nodes.Make("z"));
  DRIVERUPGRADE_RETURN_IF_ERROR(watch.Join());
  EXPECT_THAT((notes.lines() == Lines{"list " + nodes.prefix + "a=0", nodes.Delete("a"), nodes.Change("z", "0")}),
              Join(notes.lines()));
  return absl::OkStatus();
}

absl::Status WatchGoesOnFromAVersion(ContractWorld& world) {
  Nodes nodes(world);
  DRIVERUPGRADE_RETURN_IF_ERROR(nodes.Make("a"));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::string version, nodes.Version());
  for (const char* step : {"1", "2", "3"}) DRIVERUPGRADE_RETURN_IF_ERROR(nodes.Step("a", step));
  DRIVERUPGRADE_RETURN_IF_ERROR(nodes.Make("z"));

  Notes<Node> first({nodes.Change("a", "2"), nodes.Change("z", "0")});
  first.Know(nodes.prefix + "a", nodes.prefix + "a=0");
  DRIVERUPGRADE_RETURN_IF_ERROR(world.facade().WatchNodes(world.context(), nodes.Params(version), first));
  EXPECT_THAT((first.lines() == Lines{nodes.Change("a", "1"), nodes.Change("a", "2")}), Join(first.lines()));
  Notes<Node> second({nodes.Change("z", "0")});
  second.Know(nodes.prefix + "a", nodes.prefix + "a=2");
  DRIVERUPGRADE_RETURN_IF_ERROR(world.facade().WatchNodes(world.context(), nodes.Params(first.version()), second));
  EXPECT_THAT((second.lines() == Lines{nodes.Change("a", "3"), nodes.Change("z", "0")}), Join(second.lines()));
  return absl::OkStatus();
}

absl::Status WatchSeesWhatMatches(ContractWorld& world) {
  Nodes nodes(world);
  DRIVERUPGRADE_RETURN_IF_ERROR(nodes.Make("a"));
  DRIVERUPGRADE_RETURN_IF_ERROR(nodes.Make("b"));
  DRIVERUPGRADE_RETURN_IF_ERROR(nodes.Show("b", false));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::string version, nodes.Version());
  DRIVERUPGRADE_RETURN_IF_ERROR(nodes.Show("b", true));
  DRIVERUPGRADE_RETURN_IF_ERROR(nodes.Show("a", false));
  DRIVERUPGRADE_RETURN_IF_ERROR(nodes.Step("a", "1"));
  DRIVERUPGRADE_RETURN_IF_ERROR(nodes.Make("z"));

  Notes<Node> notes({nodes.Change("z", "0")});
  notes.Know(nodes.prefix + "a", nodes.prefix + "a=0");
  DRIVERUPGRADE_RETURN_IF_ERROR(world.facade().WatchNodes(world.context(), nodes.Params(version), notes));
  EXPECT_THAT((notes.lines() == Lines{nodes.Change("b", "0"), nodes.Delete("a"), nodes.Change("z", "0")}),
              Join(notes.lines()));
  return absl::OkStatus();
}

absl::Status SinkEndsAWatch(ContractWorld& world) {
  Nodes nodes(world);
  DRIVERUPGRADE_RETURN_IF_ERROR(nodes.Make("a"));
  Notes<Node> notes({"list"});
  const absl::Status status = world.facade().WatchNodes(world.context(), nodes.Params(), notes);
  EXPECT_THAT(status.ok(), Describe(status));
  EXPECT_THAT(notes.lines() == Lines{"list " + nodes.prefix + "a=0"}, Join(notes.lines()));
  EXPECT_THAT(!notes.version().empty(), "no version");
  return absl::OkStatus();
}

absl::Status StopEndsAWatch(ContractWorld& world) {
  Nodes nodes(world);
  Notes<Node> notes({});
  RunningWatch watch(world, nodes.Params(), notes);
  notes.AwaitFirst();
  watch.RequestStop();
  const absl::Status status = watch.Join();
  EXPECT_THAT(absl::IsCancelled(status), Describe(status));
  EXPECT_THAT(notes.lines() == Lines{"list"}, Join(notes.lines()));
  return absl::OkStatus();
}

absl::Status PodsAreWatchedInTheirNamespace(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::string ns, world.MakeNamespace());
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::string other, world.MakeNamespace());
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Node node, world.MakeNode({.name = world.prefix() + "a"}));
  const auto make = [&](const std::string& the_ns, const std::string& name) {
    return world.MakePod({.ref = {.ns = the_ns, .name = name}, .node_name = node.name}).status();
  };
  DRIVERUPGRADE_RETURN_IF_ERROR(make(ns, "first"));
  Notes<Pod> begin({"list"});
  DRIVERUPGRADE_RETURN_IF_ERROR(world.facade().WatchPods(world.context(), {.ns = ns}, begin));
  EXPECT_THAT(begin.lines() == Lines{"list first"}, Join(begin.lines()));
  DRIVERUPGRADE_RETURN_IF_ERROR(make(other, "foreign"));
  DRIVERUPGRADE_RETURN_IF_ERROR(make(ns, "last"));
  Notes<Pod> rest({"change last"});
  rest.Know("first", "first");
  DRIVERUPGRADE_RETURN_IF_ERROR(
      world.facade().WatchPods(world.context(), {.ns = ns, .resource_version = begin.version()}, rest));
  EXPECT_THAT(rest.lines() == Lines{"change last"}, Join(rest.lines()));
  return absl::OkStatus();
}

absl::Status WatchesOfNothingBeginWithAnEmptyList(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::string ns, world.MakeNamespace());
  Notes<DaemonSet> sets({"list"});
  DRIVERUPGRADE_RETURN_IF_ERROR(world.facade().WatchDaemonSets(world.context(), {.ns = ns}, sets));
  EXPECT_THAT(sets.lines() == Lines{"list"}, Join(sets.lines()));
  Notes<ControllerRevision> revisions({"list"});
  DRIVERUPGRADE_RETURN_IF_ERROR(world.facade().WatchControllerRevisions(world.context(), {.ns = ns}, revisions));
  EXPECT_THAT(revisions.lines() == Lines{"list"}, Join(revisions.lines()));
  return absl::OkStatus();
}

absl::Status MaintenancesAreWatched(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::string ns, world.MakeNamespace());
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Node node, world.MakeNode({.name = world.prefix() + "a"}));
  Notes<NodeMaintenance> begin({"list"});
  DRIVERUPGRADE_RETURN_IF_ERROR(world.facade().WatchNodeMaintenances(world.context(), {.ns = ns}, begin));
  EXPECT_THAT(begin.lines() == Lines{"list"}, Join(begin.lines()));
  for (const char* name : {"one", "two"}) {
    const NodeMaintenance object{
        .ns = ns, .name = name, .requestor_id = "contract.requestor", .node_name = node.name, .cordon = false};
    DRIVERUPGRADE_RETURN_IF_ERROR(world.facade().CreateNodeMaintenance(world.context(), {.object = object}).status());
  }
  Notes<NodeMaintenance> rest({"change two"});
  DRIVERUPGRADE_RETURN_IF_ERROR(
      world.facade().WatchNodeMaintenances(world.context(), {.ns = ns, .resource_version = begin.version()}, rest));
  EXPECT_THAT((rest.lines() == Lines{"change one", "change two"}), Join(rest.lines()));
  return absl::OkStatus();
}

}  // namespace

std::vector<NeededCase> WatchCases() {
  using enum Operation;
  return {
      {"a watch first delivers the list, and then each later change in order",
       {{kWatchNodes}, {kPatchNode}, NodeReads()},
       WatchFollowsItsList},
      {"a watch reports deleted objects", {{kWatchNodes}}, WatchGivesDeletions},
      {"a watch continues from a version", {{kWatchNodes}, {kPatchNode}, NodeReads()}, WatchGoesOnFromAVersion},
      {"a watch shows when objects start or stop matching",
       {{kWatchNodes}, {kPatchNode}, NodeReads()},
       WatchSeesWhatMatches},
      {"a sink that stops ends a watch with OK", {{kWatchNodes}}, SinkEndsAWatch},
      {"a stop ends a watch", {{kWatchNodes}}, StopEndsAWatch},
      {"pods are watched in their namespace", {{kWatchPods}}, PodsAreWatchedInTheirNamespace},
      {"watches without objects start with an empty list",
       {{kWatchDaemonSets}, {kWatchControllerRevisions}},
       WatchesOfNothingBeginWithAnEmptyList},
      {"node maintenances are watched", {{kWatchNodeMaintenances}, {kCreateNodeMaintenance}}, MaintenancesAreWatched},
  };
}

}  // namespace driverupgrade::testing::internal
