// Contract cases for the object kinds of Dynamic Resource Allocation. The device taint rules in these cases name a
// driver that does not exist, so they do not affect real devices.

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "base/status_macros.h"
#include "testing/facade_contract_cases.h"

namespace driverupgrade::testing::internal {
namespace {

// Creates a rule for the pool of a new node.
absl::StatusOr<DeviceTaintRule> MakeRule(ContractWorld& world) {
  const std::string name = world.prefix() + "a";
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Node node, world.MakeNode({.name = name}));
  const DeviceTaintRule rule{.name = name,
                             .labels = {{"contract", "checked"}},
                             .node_name = node.name,
                             .node_uid = node.uid,
                             .driver = "contract.example.com",
                             .pool = node.name,
                             .key = "contract.example.com/upgrade",
                             .value = "checked"};
  return world.facade().CreateDeviceTaintRule(world.context(), {.object = rule});
}

absl::StatusOr<DeviceTaintRule> ReadRule(ContractWorld& world, const std::string& name) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::vector<DeviceTaintRule> rules,
                                 world.facade().ListDeviceTaintRules(world.context(), {}));
  const auto found = std::find_if(rules.begin(), rules.end(), [&](const auto& rule) { return rule.name == name; });
  if (found == rules.end()) return absl::NotFoundError(fmt::format("{} is not listed", name));
  return *found;
}

struct RulePatch {
  DeviceTaintRule before = {};
  DeviceTaintRule after = {};
};

// Patches the rule at its current version. Retries, because a controller may write the rule's conditions in the
// meantime.
absl::StatusOr<RulePatch> PatchRuleNow(ContractWorld& world, const std::string& name, DeviceTaintEffect effect) {
  absl::Status status;
  for (int i = 0; i < 5; ++i) {
    DRIVERUPGRADE_ASSIGN_OR_RETURN(const DeviceTaintRule rule, ReadRule(world, name));
    const absl::StatusOr<DeviceTaintRule> patched = world.facade().PatchDeviceTaintRule(
        world.context(), {.name = name, .uid = rule.uid, .resource_version = rule.resource_version, .effect = effect});
    if (patched.ok()) return RulePatch{.before = rule, .after = *patched};
    status = patched.status();
    if (!absl::IsAborted(status)) break;
  }
  return status;
}

// Compares all fields that neither the server nor the controller changes.
bool HaveOneSpec(const DeviceTaintRule& a, const DeviceTaintRule& b) {
  return a.uid == b.uid && a.labels == b.labels && a.node_name == b.node_name && a.node_uid == b.node_uid &&
         a.driver == b.driver && a.pool == b.pool && a.key == b.key && a.value == b.value;
}

absl::Status RuleIsReadAsCreated(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const DeviceTaintRule made, MakeRule(world));
  EXPECT_THAT(!made.uid.empty() && !made.resource_version.empty(), "no UID or resource version");
  EXPECT_THAT(made.generation > 0, made.generation);
  EXPECT_THAT(made.time_added.has_value(), "no time");
  EXPECT_THAT(*made.time_added == absl::FromUnixSeconds(absl::ToUnixSeconds(*made.time_added)), "part of a second");
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const DeviceTaintRule rule, ReadRule(world, made.name));
  EXPECT_THAT(HaveOneSpec(rule, made), "another spec");
  EXPECT_THAT(rule.effect == DeviceTaintEffect::kNone, ToString(rule.effect));
  EXPECT_THAT(rule.driver == "contract.example.com" && rule.pool == rule.node_name, rule.driver);
  EXPECT_THAT(rule.key == "contract.example.com/upgrade" && rule.value == "checked", rule.key);
  EXPECT_THAT(Holds(rule.labels, "contract", "checked"), Describe(rule.labels));
  EXPECT_THAT(!rule.node_uid.empty(), "no owner");
  return absl::OkStatus();
}

absl::Status RuleOfATakenNameExists(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const DeviceTaintRule made, MakeRule(world));
  DeviceTaintRule other = made;
  other.value = "other";
  const absl::Status status = world.facade().CreateDeviceTaintRule(world.context(), {.object = other}).status();
  EXPECT_THAT(absl::IsAlreadyExists(status), Describe(status));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const DeviceTaintRule after, ReadRule(world, made.name));
  EXPECT_THAT(HaveOneSpec(after, made), after.value);
  return absl::OkStatus();
}

absl::Status RulePatchChangesTheEffect(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const DeviceTaintRule made, MakeRule(world));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const RulePatch patch, PatchRuleNow(world, made.name, DeviceTaintEffect::kNoSchedule));
  EXPECT_THAT(patch.after.effect == DeviceTaintEffect::kNoSchedule, ToString(patch.after.effect));
  EXPECT_THAT(patch.after.generation == made.generation + 1, patch.after.generation);
  EXPECT_THAT(patch.after.time_added >= made.time_added, "an earlier time");
  EXPECT_THAT(HaveOneSpec(patch.after, made), "another spec");
  return absl::OkStatus();
}

// The engine uses such a patch to confirm that a rule is unchanged.
absl::Status RulePatchWithoutChangesKeepsTheVersion(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const DeviceTaintRule made, MakeRule(world));
  DRIVERUPGRADE_RETURN_IF_ERROR(PatchRuleNow(world, made.name, DeviceTaintEffect::kNoSchedule).status());
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const RulePatch patch, PatchRuleNow(world, made.name, DeviceTaintEffect::kNoSchedule));
  EXPECT_THAT(patch.after.resource_version == patch.before.resource_version, patch.after.resource_version);
  EXPECT_THAT(patch.after.generation == patch.before.generation, patch.after.generation);
  EXPECT_THAT(patch.after.time_added == patch.before.time_added, "another time");
  return absl::OkStatus();
}

absl::Status RulePatchOfAnotherVersionIsAborted(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const DeviceTaintRule made, MakeRule(world));
  DRIVERUPGRADE_RETURN_IF_ERROR(PatchRuleNow(world, made.name, DeviceTaintEffect::kNoSchedule).status());
  PatchDeviceTaintRuleParams patch{.name = made.name, .uid = made.uid, .resource_version = made.resource_version};
  const absl::Status stale = world.facade().PatchDeviceTaintRule(world.context(), patch).status();
  EXPECT_THAT(absl::IsAborted(stale), Describe(stale));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const DeviceTaintRule rule, ReadRule(world, made.name));
  patch.uid = kOtherUid;
  patch.resource_version = rule.resource_version;
  const absl::Status other = world.facade().PatchDeviceTaintRule(world.context(), patch).status();
  EXPECT_THAT(absl::IsAborted(other), Describe(other));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const DeviceTaintRule after, ReadRule(world, made.name));
  EXPECT_THAT(after.effect == DeviceTaintEffect::kNoSchedule, ToString(after.effect));
  patch.name = made.name + "-none";
  const absl::Status missing = world.facade().PatchDeviceTaintRule(world.context(), patch).status();
  EXPECT_THAT(absl::IsNotFound(missing), Describe(missing));
  return absl::OkStatus();
}

absl::Status RuleDeletionIsOfThatRuleOnly(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const DeviceTaintRule made, MakeRule(world));
  DeleteDeviceTaintRuleParams params{made.name, kOtherUid};
  DRIVERUPGRADE_RETURN_IF_ERROR(world.facade().DeleteDeviceTaintRule(world.context(), params));
  DRIVERUPGRADE_RETURN_IF_ERROR(ReadRule(world, made.name).status());
  params.uid = made.uid;
  for (int i = 0; i < 2; ++i) {
    DRIVERUPGRADE_RETURN_IF_ERROR(world.facade().DeleteDeviceTaintRule(world.context(), params));
  }
  const absl::Status after = ReadRule(world, made.name).status();
  EXPECT_THAT(absl::IsNotFound(after), Describe(after));
  return absl::OkStatus();
}

// Records the changes to one rule until the rule is deleted.
class RuleNotes final : public WatchSink<DeviceTaintRule> {
 public:
  explicit RuleNotes(std::string name) : name_(std::move(name)) {}
  bool OnList(std::vector<DeviceTaintRule> rules, std::string_view) override {
    listed = std::any_of(rules.begin(), rules.end(), [&](const auto& rule) { return rule.name == name_; });
    return true;
  }
  bool OnChange(DeviceTaintRule rule, std::string_view) override {
    if (rule.name == name_) effect = rule.effect;
    return true;
  }
  bool OnDelete(DeviceTaintRule rule, std::string_view) override {
    deleted = deleted || rule.name == name_;
    return !deleted;
  }
  bool OnBookmark(std::string_view) override { return true; }

  bool listed = false;
  bool deleted = false;
  std::optional<DeviceTaintEffect> effect = std::nullopt;

 private:
  const std::string name_;
};

absl::Status RulesAreWatched(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const DeviceTaintRule made, MakeRule(world));
  DRIVERUPGRADE_RETURN_IF_ERROR(PatchRuleNow(world, made.name, DeviceTaintEffect::kNoSchedule).status());
  DRIVERUPGRADE_RETURN_IF_ERROR(world.facade().DeleteDeviceTaintRule(world.context(), {made.name, made.uid}));
  RuleNotes notes(made.name);
  DRIVERUPGRADE_RETURN_IF_ERROR(
      world.facade().WatchDeviceTaintRules(world.context(), {.resource_version = made.resource_version}, notes));
  EXPECT_THAT(notes.deleted && !notes.listed, "no deletion");
  EXPECT_THAT(notes.effect == DeviceTaintEffect::kNoSchedule, "no change of the effect");
  return absl::OkStatus();
}

// Records the initial list, then ends the watch.
template <class T>
class ListNotes final : public WatchSink<T> {
 public:
  bool OnList(std::vector<T> objects, std::string_view at) override {
    list = std::move(objects);
    version = std::string(at);
    return false;
  }
  bool OnChange(T, std::string_view) override { return false; }
  bool OnDelete(T, std::string_view) override { return false; }
  bool OnBookmark(std::string_view) override { return true; }

  std::vector<T> list = {};
  std::string version = {};
};

absl::Status ClaimsOfANewNamespaceAreNone(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::string ns, world.MakeNamespace());
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::vector<ResourceClaim> claims,
                                 world.facade().ListResourceClaims(world.context(), {.ns = ns}));
  EXPECT_THAT(claims.empty(), claims.size());
  ListNotes<ResourceClaim> notes;
  DRIVERUPGRADE_RETURN_IF_ERROR(world.facade().WatchResourceClaims(world.context(), {.ns = ns}, notes));
  EXPECT_THAT(notes.list.empty() && !notes.version.empty(), notes.list.size());
  return world.facade().ListResourceClaims(world.context(), {}).status();
}

absl::Status SlicesOfANewNodeAreNone(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Node node, world.MakeNode({.name = world.prefix() + "a"}));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::vector<ResourceSlice> slices,
                                 world.facade().ListResourceSlices(world.context(), {.node_name = node.name}));
  EXPECT_THAT(slices.empty(), slices.size());
  ListNotes<ResourceSlice> notes;
  DRIVERUPGRADE_RETURN_IF_ERROR(world.facade().WatchResourceSlices(world.context(), {}, notes));
  EXPECT_THAT(!notes.version.empty(), "no version");
  return world.facade().ListResourceSlices(world.context(), {}).status();
}

}  // namespace

std::vector<NeededCase> DeviceCases() {
  using enum Operation;
  return {
      {"a device taint rule is read as it was created",
       {{kCreateDeviceTaintRule}, {kListDeviceTaintRules}},
       RuleIsReadAsCreated},
      {"a second device taint rule with the same name is AlreadyExists",
       {{kCreateDeviceTaintRule}, {kListDeviceTaintRules}},
       RuleOfATakenNameExists},
      {"a patch of a device taint rule changes its effect and nothing else",
       {{kCreateDeviceTaintRule}, {kListDeviceTaintRules}, {kPatchDeviceTaintRule}},
       RulePatchChangesTheEffect},
      {"a patch without changes keeps the version of a device taint rule",
       {{kCreateDeviceTaintRule}, {kListDeviceTaintRules}, {kPatchDeviceTaintRule}},
       RulePatchWithoutChangesKeepsTheVersion},
      {"a patch that names another version or UID of a device taint rule is Aborted",
       {{kCreateDeviceTaintRule}, {kListDeviceTaintRules}, {kPatchDeviceTaintRule}},
       RulePatchOfAnotherVersionIsAborted},
      {"a deletion deletes only the device taint rule with the given UID",
       {{kCreateDeviceTaintRule}, {kListDeviceTaintRules}, {kDeleteDeviceTaintRule}},
       RuleDeletionIsOfThatRuleOnly},
      {"device taint rules are watched",
       {{kCreateDeviceTaintRule}, {kPatchDeviceTaintRule}, {kDeleteDeviceTaintRule}, {kWatchDeviceTaintRules}},
       RulesAreWatched},
      {"a new namespace has no resource claims",
       {{kListResourceClaims}, {kWatchResourceClaims}},
       ClaimsOfANewNamespaceAreNone},
      {"a new node has no resource slices", {{kListResourceSlices}, {kWatchResourceSlices}}, SlicesOfANewNodeAreNone},
  };
}

}  // namespace driverupgrade::testing::internal
