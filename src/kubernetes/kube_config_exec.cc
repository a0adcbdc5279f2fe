#include "kubernetes/kube_config_exec.h"

#include <filesystem>
#include <utility>

#include "base/status_macros.h"
#include "fmt/format.h"

namespace driverupgrade {
namespace {

absl::Status Invalid(const std::string& path, std::string_view why) {
  return YamlError(absl::StatusCode::kInvalidArgument, path, why);
}

// Returns the unchecked items of a list; empty if the list is missing.
absl::StatusOr<std::vector<YamlEntry>> Items(const YamlEntry& entry, const char* key) {
  std::vector<YamlEntry> items;
  if (!entry.Has(key)) return items;
  const YAML::Node& map = entry.node;
  const YAML::Node list = map[key];
  if (!list.IsSequence()) return Invalid(entry.PathOf(key), "must be a list");
  for (std::size_t i = 0; i < list.size(); ++i) {
    items.push_back({.node = list[i], .path = fmt::format("{}[{}]", entry.PathOf(key), i)});
  }
  return items;
}

absl::Status ReadArguments(const YamlEntry& exec, ExecPlugin& plugin) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::vector<YamlEntry> arguments, Items(exec, "args"));
  for (const YamlEntry& argument : arguments) {
    if (!argument.node.IsScalar()) return Invalid(argument.path, "must be text");
    const std::string& text = argument.node.Scalar();
    if (text.find('\0') != std::string::npos) return Invalid(argument.path, "has a control character");
    plugin.args.push_back(text);
  }
  return absl::OkStatus();
}

absl::Status ReadEnvironment(const YamlEntry& exec, ExecPlugin& plugin) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::vector<YamlEntry> variables, Items(exec, "env"));
  for (const YamlEntry& variable : variables) {
    if (!variable.node.IsMap()) return Invalid(variable.path, "must be a mapping");
    DRIVERUPGRADE_ASSIGN_OR_RETURN(std::string name, variable.Text("name"));
    DRIVERUPGRADE_ASSIGN_OR_RETURN(std::string value, variable.Text("value"));
    if (name.empty() || name.find('=') != std::string::npos) {
      return Invalid(variable.PathOf("name"), "not a name that a variable can have");
    }
    plugin.env.emplace_back(std::move(name), std::move(value));
  }
  return absl::OkStatus();
}

absl::Status RefuseUnsupported(const YamlEntry& exec) {
  const auto unsupported = [&](const char* key, std::string_view why) {
    return YamlError(absl::StatusCode::kUnimplemented, exec.PathOf(key), why);
  };
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const bool cluster_info, exec.Flag("provideClusterInfo"));
  if (cluster_info) return unsupported("provideClusterInfo", "not supported");
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::string mode, exec.Text("interactiveMode"));
  if (mode == "Always")
    return unsupported("interactiveMode", "Always is not supported, because plugins run without a terminal");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ExecPlugin> ReadExecPlugin(const YamlEntry& exec, const std::string& base_dir) {
  ExecPlugin plugin;
  DRIVERUPGRADE_ASSIGN_OR_RETURN(plugin.api_version, exec.Text("apiVersion"));
  if (plugin.api_version != "client.authentication.k8s.io/v1" &&
      plugin.api_version != "client.authentication.k8s.io/v1beta1") {
    return Invalid(exec.PathOf("apiVersion"), "must be client.authentication.k8s.io/v1 or v1beta1");
  }
  DRIVERUPGRADE_ASSIGN_OR_RETURN(plugin.command, exec.Text("command"));
  if (plugin.command.empty()) return Invalid(exec.PathOf("command"), "not set");
  if (plugin.command.find('/') != std::string::npos) {
    plugin.command = (std::filesystem::path(base_dir) / plugin.command).string();
  }
  DRIVERUPGRADE_RETURN_IF_ERROR(ReadArguments(exec, plugin));
  DRIVERUPGRADE_RETURN_IF_ERROR(ReadEnvironment(exec, plugin));
  DRIVERUPGRADE_RETURN_IF_ERROR(RefuseUnsupported(exec));
  return plugin;
}

}  // namespace driverupgrade
