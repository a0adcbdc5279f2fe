#include "driver_manager/environment.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "driver_manager/status_text.h"
#include "fmt/format.h"

namespace driver_manager {
namespace {

using driverupgrade::LabelSelector;

class Reader {
 public:
  explicit Reader(const std::map<std::string, std::string>& environment) : environment_(environment) {}

  const absl::Status& status() const { return status_; }
  std::vector<std::string>& warnings() { return warnings_; }

  /// Returns nullptr if the variable is not set.
  const std::string* Find(const char* name) const {
    const auto found = environment_.find(name);
    return found == environment_.end() ? nullptr : &found->second;
  }

  void Text(const char* name, std::string& into) const {
    const std::string* value = Find(name);
    if (value != nullptr && !value->empty()) into = *value;
  }

  // Accepts the spellings of Go's strconv.ParseBool. An empty variable is false, regardless of its default.
  void Flag(const char* name, bool& into) {
    const std::string* value = Find(name);
    if (value == nullptr) return;
    static constexpr std::string_view kTrue[] = {"1", "t", "T", "true", "TRUE", "True"};
    static constexpr std::string_view kFalse[] = {"", "0", "f", "F", "false", "FALSE", "False"};
    const auto is = [&](std::string_view spelling) { return *value == spelling; };
    into = std::any_of(std::begin(kTrue), std::end(kTrue), is);
    if (!into && std::none_of(std::begin(kFalse), std::end(kFalse), is)) Refuse(name, "is neither true nor false");
  }

  void Selector(const char* name, LabelSelector& into) {
    const std::string* value = Find(name);
    if (value == nullptr || value->empty()) return;
    absl::StatusOr<LabelSelector> selector = LabelSelector::Parse(*value);
    if (!selector.ok()) return Refuse(name, fmt::format("is not a label selector: {}", Message(selector.status())));
    into = *std::move(selector);
  }

  // Accepts `key=value`, as some users write it, and uses only the key. NVIDIA's older program does the same; the newer
  // one uses the entire text as the key.
  void LabelKey(const char* name, std::string& into) {
    const std::string* value = Find(name);
    if (value == nullptr || value->empty()) return;
    into = value->substr(0, value->find('='));
    const bool is_key = into.find_first_of(",!() ") == std::string::npos && LabelSelector::Parse(into).ok();
    if (into.empty() || !is_key) return Refuse(name, "is not a label key");
    if (into != *value) warnings_.push_back(fmt::format("{}: only the key of `{}` is used", name, *value));
  }

  void Timeout(const char* name, absl::Duration& into) {
    const std::string* value = Find(name);
    if (value == nullptr || value->empty()) return;
    absl::Duration timeout;
    const bool plain = std::all_of(value->begin(), value->end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!absl::ParseDuration(plain ? *value + "s" : *value, &timeout) || timeout < absl::ZeroDuration() ||
        timeout == absl::InfiniteDuration()) {
      return Refuse(name, "is not a duration such as 300s or 5m");
    }
    if (plain && *value != "0") {
      warnings_.push_back(fmt::format("{}: `{}` is read as {}s; write it with a unit", name, *value, *value));
    }
    into = timeout == absl::ZeroDuration() ? absl::InfiniteDuration() : timeout;
  }

  // Stores an error for the variable. Only the first error is reported.
  void Refuse(const char* name, std::string_view why) {
    if (!status_.ok()) return;
    const std::string* value = Find(name);
    status_ = absl::InvalidArgumentError(
        fmt::format("environment variable {}: `{}` {}", name, value == nullptr ? "" : *value, why));
  }

 private:
  const std::map<std::string, std::string>& environment_;
  absl::Status status_;
  std::vector<std::string> warnings_;
};

}  // namespace

const std::vector<Variable>& Variables() {
  static const std::vector<Variable> kVariables = {
      {"NODE_NAME", "", "name of the node; required"},
      {"OPERATOR_NAMESPACE", "gpu-operator", "namespace of the operand pods that must terminate first"},
      {"ENABLE_GPU_POD_EVICTION", "true", "evict pods that use a GPU before the driver is unloaded"},
      {"ENABLE_AUTO_DRAIN", "true", "drain the node if the eviction or the unloading fails"},
      {"DRAIN_USE_FORCE", "false", "also evict pods that no controller will replace"},
      {"DRAIN_POD_SELECTOR_LABEL", "",
       "selector of the pods that the drain evicts (default: all pods); not used for the eviction of GPU pods"},
      {"DRAIN_TIMEOUT_SECONDS", "0s",
       "timeout for the eviction of GPU pods and, separately, for the drain, such as 300s; 0: no limit"},
      {"DRAIN_DELETE_EMPTYDIR_DATA", "false", "also evict pods with emptyDir volumes, whose data is lost"},
      {"NODE_LABEL_FOR_GPU_POD_EVICTION", "",
       "key of an additional node label to pause, which your own operand uses to select nodes"},
      {"GPU_DIRECT_RDMA_ENABLED", "false", "wait for the driver of a Mellanox network card, if the node has one"},
      {"USE_HOST_MOFED", "false", "the network driver belongs to the host, not to a container"},
      {"FORCE_REINSTALL", "false", "replace the loaded driver even if it could be kept"},
      {"DRIVER_CONFIG_DIGEST", "", "keep the loaded driver if it was installed with this digest"},
      {"KUBECONFIG", "", "kubeconfig file (default: the cluster in which this pod runs)"},
  };
  return kVariables;
}

absl::StatusOr<ParsedEnvironment> ParseEnvironment(const std::map<std::string, std::string>& environment) {
  Reader read(environment);
  ParsedEnvironment parsed;
  Settings& settings = parsed.settings;
  read.Text("NODE_NAME", settings.node_name);
  if (settings.node_name.empty())
    read.Refuse("NODE_NAME", "is not the name of a node; set it through the downward API");
  read.Text("OPERATOR_NAMESPACE", settings.operator_namespace);
  read.Flag("ENABLE_GPU_POD_EVICTION", settings.evict_gpu_pods);
  read.Flag("ENABLE_AUTO_DRAIN", settings.auto_drain);
  read.Flag("DRAIN_USE_FORCE", settings.drain_force);
  read.Selector("DRAIN_POD_SELECTOR_LABEL", settings.drain_selector);
  read.Timeout("DRAIN_TIMEOUT_SECONDS", settings.drain_timeout);
  read.Flag("DRAIN_DELETE_EMPTYDIR_DATA", settings.delete_empty_dir);
  read.LabelKey("NODE_LABEL_FOR_GPU_POD_EVICTION", settings.custom_label);
  read.Flag("GPU_DIRECT_RDMA_ENABLED", settings.gpu_direct_rdma);
  read.Flag("USE_HOST_MOFED", settings.use_host_mofed);
  read.Flag("FORCE_REINSTALL", settings.force_reinstall);
  read.Text("DRIVER_CONFIG_DIGEST", settings.config_digest);
  read.Text("KUBECONFIG", settings.kubeconfig);
  if (!read.status().ok()) return read.status();
  parsed.warnings = std::move(read.warnings());
  return parsed;
}

}  // namespace driver_manager
