#include "service/reported_options.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/rapidjson.h"
#include "driverupgrade/engine_options.h"
#include "driverupgrade/label_selector.h"
#include "driverupgrade/validation_manager.h"
#include "service/web_server.h"

namespace driverupgrade::internal {
namespace {

namespace json = ::driverupgrade_rapidjson;

// Writes JSON objects, and leaves out members without a value.
class Report {
 public:
  void Member(std::string_view key, std::string_view value) {
    if (value.empty()) return;
    Key(key);
    String(value);
  }
  void Member(std::string_view key, const std::vector<std::string>& values) {
    if (values.empty()) return;
    Key(key);
    writer_.StartArray();
    for (const std::string& value : values) String(value);
    writer_.EndArray();
  }
  void Flag(std::string_view key, bool value) {
    if (!value) return;
    Key(key);
    writer_.Bool(true);
  }
  void Number(std::string_view key, int value) {
    if (value == 0) return;
    Key(key);
    writer_.Int(value);
  }
  template <typename F>
  void Object(F&& members) {
    writer_.StartObject();
    std::forward<F>(members)();
    writer_.EndObject();
  }
  template <typename F>
  void Object(std::string_view key, F&& members) {
    Key(key);
    Object(std::forward<F>(members));
  }
  std::string Take() const { return {buffer_.GetString(), buffer_.GetSize()}; }

 private:
  void Key(std::string_view key) { writer_.Key(key.data(), static_cast<json::SizeType>(key.size())); }
  void String(std::string_view value) { writer_.String(value.data(), static_cast<json::SizeType>(value.size())); }

  json::StringBuffer buffer_;
  json::Writer<json::StringBuffer> writer_{buffer_};
};

// Returns the requirements that the driver labels of all engines have in common.
LabelSelector SharedLabels(const std::vector<EngineSpec>& specs) {
  if (specs.empty()) return {};
  std::vector<LabelSelector::Requirement> shared = specs.front().driver_labels.requirements();
  for (const EngineSpec& spec : specs) {
    const std::vector<LabelSelector::Requirement>& others = spec.driver_labels.requirements();
    std::erase_if(shared, [&](const LabelSelector::Requirement& requirement) {
      return std::find(others.begin(), others.end(), requirement) == others.end();
    });
  }
  return LabelSelector::FromRequirements(std::move(shared)).value_or(LabelSelector());
}

// Returns the requestor's options if they are the same for all engines. Otherwise each engine is a separate requestor,
// with its own id suffix.
std::optional<RequestorOptions> SharedRequestor(const EngineOptions& common, const std::vector<EngineSpec>& specs) {
  const auto same_suffix = [&](const EngineSpec& spec) {
    return spec.requestor_suffix == specs.front().requestor_suffix;
  };
  if (specs.empty() || !std::all_of(specs.begin(), specs.end(), same_suffix)) return std::nullopt;
  std::optional<RequestorOptions> requestor = EngineOptionsOf(common, specs.front()).state_machine.requestor;
  return requestor && requestor->enabled ? requestor : std::nullopt;
}

std::string SharedPolicyResource(const std::vector<EngineSpec>& specs) {
  const auto is_same = [&](const EngineSpec& spec) { return spec.policy_resource == specs.front().policy_resource; };
  return specs.empty() || !std::all_of(specs.begin(), specs.end(), is_same) ? "" : specs.front().policy_resource;
}

}  // namespace

std::string FormatReportedOptions(const ServiceOptions& options, const std::vector<EngineSpec>& specs) {
  const EngineOptions& engine = options.engine;
  Report report;
  report.Object([&] {
    report.Member("namespace", engine.snapshot.ns);
    report.Member("driverLabels", SharedLabels(specs).ToString());
    if (engine.ledger) {
      report.Object("ledger", [&] {
        report.Member("namespace", engine.ledger->ns);
        report.Member("name", engine.ledger->name);
      });
    }
    if (engine.state_machine.validation_selector) {
      report.Object("validation", [&] {
        report.Member("selector", engine.state_machine.validation_selector->ToString());
        report.Member("early", ToString(engine.state_machine.early_validation));
      });
    }
    if (const std::optional<RequestorOptions> requestor = SharedRequestor(engine, specs)) {
      report.Object("requestor", [&] {
        report.Member("id", requestor->id);
        report.Member("namespace", requestor->ns);
        report.Member("namePrefix", requestor->name_prefix);
      });
    }
    report.Member("resources", options.reported.resources);
    report.Flag("gpuPods", options.reported.gpu_pods);
    report.Member("defaults", options.reported.defaults);
    report.Member("policyResource", SharedPolicyResource(specs));
    report.Number("rolloutPort", PortOf(options.rollout_secure_address));
  });
  return report.Take();
}

}  // namespace driverupgrade::internal
