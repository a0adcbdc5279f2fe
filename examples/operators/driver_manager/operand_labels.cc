#include "driver_manager/operand_labels.h"

#include <functional>

#include "fmt/format.h"

namespace driver_manager {
namespace {

using driverupgrade::Node;
using driverupgrade::PatchNodeParams;

constexpr std::string_view kMarker = "paused-for-driver-upgrade";

constexpr const char* kOperands[] = {
    "operator-validator",
    "container-toolkit",
    "device-plugin",
    "gpu-feature-discovery",
    "dcgm-exporter",
    "dcgm",
    "nvsm",
    "mig-manager",
    "sandbox-validator",
    "sandbox-device-plugin",
    "vgpu-device-manager",
    "dra-validator",
    "dcgm-dra",
    "dcgm-exporter-dra",
    "client",
};

std::vector<std::string> OperandLabels(const std::string& custom_label) {
  std::vector<std::string> labels;
  for (const char* operand : kOperands) labels.push_back(fmt::format("nvidia.com/gpu.deploy.{}", operand));
  if (!custom_label.empty()) labels.push_back(custom_label);
  return labels;
}

using Rule = std::function<std::string(std::string_view)>;

PatchNodeParams Changed(const Node& node, const std::vector<std::string>& labels, const Rule& rule) {
  PatchNodeParams patch;
  for (const std::string& label : labels) {
    const auto found = node.labels.find(label);
    if (found == node.labels.end()) continue;
    std::string value = rule(found->second);
    if (value != found->second) patch.labels[label] = std::move(value);
  }
  return patch;
}

}  // namespace

std::string Pause(std::string_view value) {
  if (value.empty() || value == "false" || value.find(kMarker) != std::string_view::npos) return std::string(value);
  return value == "true" ? std::string(kMarker) : fmt::format("{}_{}", value, kMarker);
}

std::string Resume(std::string_view value) {
  if (value == kMarker) return "true";
  std::string text(value);
  for (std::size_t at; (at = text.find(kMarker)) != std::string::npos;) {
    std::size_t length = kMarker.size();
    if (text.substr(at + length, 1) == "_") ++length;
    text.erase(at, length);
  }
  // If nothing was removed, the value was never paused, and a `_` at its start or end is part of the value.
  if (text == value) return text;
  const std::size_t first = text.find_first_not_of('_');
  if (first == std::string::npos) return "true";
  return text.substr(first, text.find_last_not_of('_') - first + 1);
}

PatchNodeParams PauseOperands(const Node& node, const std::string& custom_label) {
  return Changed(node, OperandLabels(custom_label), Pause);
}

PatchNodeParams PauseKubeletPlugin(const Node& node) { return Changed(node, {kKubeletPluginLabel}, Pause); }

PatchNodeParams ResumeAll(const Node& node, const std::string& custom_label) {
  std::vector<std::string> labels = OperandLabels(custom_label);
  labels.emplace_back(kKubeletPluginLabel);
  return Changed(node, labels, Resume);
}

bool IsAnyOperandPaused(const Node& node, const std::string& custom_label) {
  return !Changed(node, OperandLabels(custom_label), Resume).labels.empty();
}

std::vector<std::string> AwaitedApps(const Node& node) {
  std::vector<std::string> apps = {
      "nvidia-operator-validator",      "nvidia-container-toolkit-daemonset",
      "nvidia-device-plugin-daemonset", "gpu-feature-discovery",
      "nvidia-dcgm-exporter",           "nvidia-dcgm",
      "nvidia-dcgm-exporter-dra",       "nvidia-dcgm-dra",
  };
  const auto add = [&](const char* operand, const char* app) {
    if (IsSet(node, fmt::format("nvidia.com/gpu.deploy.{}", operand))) apps.emplace_back(app);
  };
  add("mig-manager", "nvidia-mig-manager");
  add("sandbox-validator", "nvidia-sandbox-validator");
  add("sandbox-device-plugin", "nvidia-sandbox-device-plugin-daemonset");
  add("vgpu-device-manager", "nvidia-vgpu-device-manager");
  return apps;
}

bool IsSet(const Node& node, const std::string& key) {
  const auto found = node.labels.find(key);
  return found != node.labels.end() && !found->second.empty();
}

}  // namespace driver_manager
