#include "support/driver_maker.h"

#include <algorithm>
#include <set>
#include <utility>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "support/node_system.h"

namespace examples {
namespace {

using driverupgrade::CallContext;
using driverupgrade::ObjectKind;
using driverupgrade::Severity;

const ObjectKind kDaemonSets{.group_version = "apps/v1", .resource = "daemonsets"};
constexpr absl::Duration kRecheckInterval = absl::Seconds(30);
// Interval between two calls while the nodes have not been read yet.
constexpr absl::Duration kNodesInterval = absl::Seconds(1);
// Time for another operator to change its DaemonSet.
constexpr absl::Duration kOthersPatience = absl::Seconds(10);

// Returns the last part of an image's name, without the registry, because mirrors have other registries.
std::string WithoutRegistry(const std::string& image) { return image.substr(image.rfind('/') + 1); }

// Returns true if a DaemonSet's image is the image that a policy names. Operators append a suffix to the tag.
bool IsImage(const std::string& found, const std::string& named) {
  const std::string image = WithoutRegistry(found);
  const std::string wanted = WithoutRegistry(named);
  return image == wanted || image.starts_with(wanted + "-");
}

std::set<std::string> ImagesOf(const driverupgrade::ApiObject& daemon_set) {
  std::set<std::string> images;
  const absl::StatusOr<rapidjson::Document> json = ParseJson(daemon_set.json);
  if (!json.ok()) return images;
  for (const rapidjson::Value& container : Items(*json, {"spec", "template", "spec", "containers"})) {
    images.insert(Text(container, {"image"}));
  }
  return images;
}

// Returns why the DaemonSet must keep the operating system of its image: a DaemonSet with another one would be rolled out
// to every node. OK if the operating system may change.
absl::Status WhyNotChanged(const driverupgrade::ApiObject& found, const DriverDaemonSet& wish) {
  const std::set<std::string> images = ImagesOf(found);
  const bool is_same = std::any_of(images.begin(), images.end(),
                                   [&](const std::string& image) { return image.ends_with("-" + wish.system); });
  if (wish.unlabelled_node.empty() || is_same) return absl::OkStatus();
  return absl::FailedPreconditionError(fmt::format(
      "node {} has no labels {} and {}, so the operating system of its image is not changed to {}: check Node Feature "
      "Discovery",
      wish.unlabelled_node, kSystemIdLabel, kSystemVersionLabel, wish.system));
}

}  // namespace

DriverMaker::DriverMaker(std::shared_ptr<const driverupgrade::ObjectClient> objects,
                         std::shared_ptr<driverupgrade::Clock> clock, driverupgrade::LogSink log, DriverDaemonSets mode)
    : objects_(std::move(objects)), clock_(std::move(clock)), log_(std::move(log)), mode_(mode) {}

void DriverMaker::Wish(std::vector<DriverDaemonSet> wishes) {
  if (wishes == wishes_) return;
  for (const DriverDaemonSet& wish : wishes) {
    const bool is_known = std::find(wishes_.begin(), wishes_.end(), wish) != wishes_.end();
    if (!is_known) failures_.erase(wish.made_of);
  }
  wishes_ = std::move(wishes);
  again_ = mode_ == DriverDaemonSets::kMake ? absl::InfinitePast() : clock_->Now() + kOthersPatience;
}

absl::Time DriverMaker::Keep(const CallContext& context, const PlaceDriver& place) {
  if (wishes_.empty()) {
    failures_.clear();
    return absl::InfiniteFuture();
  }
  if (clock_->Now() < again_) return again_;
  const auto before = std::exchange(failures_, {});
  const absl::Duration pause =
      mode_ == DriverDaemonSets::kMake ? MakeAll(context, place, before) : LookForAll(context, before);
  return again_ = clock_->Now() + pause;
}

absl::Duration DriverMaker::MakeAll(const CallContext& context, const PlaceDriver& place, const Failures& before) {
  bool all_placed = true;
  for (const DriverDaemonSet& wish : wishes_) {
    const std::vector<DriverDaemonSet> sets = place ? place(wish) : std::vector{wish};
    all_placed = all_placed && !sets.empty();
    for (const DriverDaemonSet& set : sets) Note(set.made_of, Make(context, set), before);
  }
  return all_placed ? kRecheckInterval : kNodesInterval;
}

absl::Duration DriverMaker::LookForAll(const CallContext& context, const Failures& before) {
  bool all_there = true;
  for (const DriverDaemonSet& wish : wishes_) {
    absl::Status there = LookFor(context, wish);
    all_there = all_there && there.ok();
    const auto known = before.find(wish.made_of);
    // If a request failed, the previous result is kept.
    if (!there.ok() && !absl::IsNotFound(there)) there = known == before.end() ? absl::OkStatus() : known->second;
    Note(wish.made_of, there, before);
  }
  return all_there ? absl::InfiniteDuration() : kRecheckInterval;
}

// Stores the reason why the DaemonSet differs from the request, and logs it unless `before` contains the same reason.
void DriverMaker::Note(const std::string& made_of, const absl::Status& kept, const Failures& before) {
  if (kept.ok() || absl::IsAborted(kept)) return;
  const absl::Status failure = absl::UnavailableError(std::string(kept.message()));
  failures_[made_of] = failure;
  const auto told = before.find(made_of);
  if (told != before.end() && told->second == failure) return;
  log_({.severity = Severity::kWarning,
        .message = "the driver's DaemonSet does not match the policy",
        .fields = {{"policy", made_of}, {"error", std::string(failure.message())}}});
}

absl::Status DriverMaker::Failure(const std::string& made_of) const {
  const auto found = failures_.find(made_of);
  return found == failures_.end() ? absl::OkStatus() : found->second;
}

absl::Status DriverMaker::Make(const CallContext& context, const DriverDaemonSet& wish) {
  const absl::Status made = wish.pods.refusal.ok() ? CreateOrPatch(context, wish) : wish.pods.refusal;
  if (made.ok() || absl::IsAborted(made)) return made;
  return absl::UnavailableError(fmt::format("the driver's DaemonSet {}/{} does not match this policy: {}", wish.ns,
                                            wish.name, std::string(made.message())));
}

absl::Status DriverMaker::CreateOrPatch(const CallContext& context, const DriverDaemonSet& wish) {
  const auto found = objects_->Get(context, kDaemonSets, {wish.ns, wish.name});
  if (absl::IsNotFound(found.status())) {
    const absl::Status made =
        objects_->Create(context, kDaemonSets, {wish.ns, wish.name}, DaemonSetJson(wish)).status();
    if (made.ok()) Log(Severity::kInfo, "driver DaemonSet created", wish);
    return made;
  }
  if (!found.ok()) return found.status();
  const absl::StatusOr<rapidjson::Document> json = ParseJson(found->json);
  if (!json.ok()) return json.status();
  if (Text(*json, {"metadata", "labels", kManagedByLabel}) != kManagedBy) {
    return absl::AlreadyExistsError(fmt::format(
        "it belongs to another client (it lacks the label {}={}), and is not changed", kManagedByLabel, kManagedBy));
  }
  if (Text(*json, {"metadata", "annotations", kSpecDigestAnnotation}) == SpecDigest(wish)) return absl::OkStatus();
  if (absl::Status kept = WhyNotChanged(*found, wish); !kept.ok()) return kept;
  const absl::Status patched =
      objects_->MergePatch(context, kDaemonSets, {wish.ns, wish.name}, ChangeJson(*json, wish)).status();
  if (patched.ok()) Log(Severity::kInfo, "driver DaemonSet changed", wish);
  return patched;
}

absl::Status DriverMaker::LookFor(const CallContext& context, const DriverDaemonSet& wish) {
  if (wish.image.reference.empty()) return absl::OkStatus();
  const auto found = objects_->List(context, kDaemonSets, {.ns = wish.ns, .label_selector = wish.driver_labels});
  if (!found.ok()) return found.status();
  std::set<std::string> images;
  for (const driverupgrade::ApiObject& daemon_set : *found) images.merge(ImagesOf(daemon_set));
  const bool is_there = std::any_of(images.begin(), images.end(),
                                    [&](const auto& image) { return IsImage(image, wish.image.reference); });
  if (is_there) return absl::OkStatus();
  return absl::NotFoundError(
      fmt::format("no DaemonSet in namespace {} with the labels {} has the image {} (found: {}): the operator of the "
                  "vendor, or an administrator, creates these DaemonSets, because --driver-daemonsets is Leave; set it "
                  "to Make to let this operator create them",
                  wish.ns, wish.driver_labels.ToString(), wish.image.reference,
                  images.empty() ? "none" : fmt::format("{}", fmt::join(images, ", "))));
}

void DriverMaker::Log(Severity severity, const char* message, const DriverDaemonSet& wish) const {
  log_({.severity = severity,
        .message = message,
        .fields = {{"daemonset", wish.ns + "/" + wish.name}, {"image", wish.image.reference}}});
}

}  // namespace examples
