#include "upgradectl/options.h"

#include <cstdint>
#include <initializer_list>
#include <sstream>

#include "CLI/CLI.hpp"
#include "driverupgrade/version.h"
#include "fmt/format.h"
#include "support/parse_arguments.h"

namespace upgradectl {
namespace {

// Adds a subcommand with an example below its help.
CLI::App& Add(CLI::App& app, const std::string& name, const std::string& what, const std::string& example) {
  CLI::App* verb = app.add_subcommand(name, what);
  verb->footer("Example:\n  " + example);
  return *verb;
}

void AddSource(CLI::App& verb, Options& options) {
  auto* source = verb.add_option_group(
      "Cluster", "Cluster to read or change (default: the kubeconfig file that KUBECONFIG names)");
  source->add_option(
      "--cluster", options.source.cluster,
      "file with the output of kubectl get nodes,pods,daemonsets,controllerrevisions,nodemaintenances,leases -A -o "
      "json; - for standard input");
  source->add_option("--kubeconfig", options.source.kubeconfig, "kubeconfig file");
  source->add_flag("--in-cluster", options.source.in_cluster, "use the cluster in which this pod runs");
  source->require_option(0, 1);
  verb.add_option("--context", options.source.context, "context of the kubeconfig (default: its current context)");
  verb.add_flag("--allow-exec", options.source.allow_exec, "run the credential plugin that the kubeconfig names");
}

void AddDriver(CLI::App& verb, Options& options) {
  verb.add_option(
      "--driver", options.driver,
      "name of the driver, such as gpu or ofed (default: gpu, or the only driver whose operator reports its "
      "options in its Lease)");
  verb.add_option("--domain", options.domain,
                  "domain of the driver's labels and annotations (default: nvidia.com, or the domain of that driver)");
  verb.add_option(
      "--namespace", options.ns,
      "namespace of the driver's DaemonSets (default: found by the driver's labels, or its operator's usual one)");
  verb.add_option(
      "--driver-labels", options.driver_labels,
      "selector of the driver's DaemonSets and pods, such as app=driver (default: the labels that its operator uses)");
  verb.add_option("--validation-selector", options.validation_selector,
                  "selector of pods that must be ready before a node returns to service; \"\" for none (default: "
                  "app=nvidia-operator-validator for nvidia.com/gpu, none for other drivers)");
  verb.add_option(
          "--early-validation", options.early_validation,
          "treatment of validation pods that became ready before the new driver pod: Restart deletes them; Ask "
          "waits until an administrator restarts them; Count accepts them (default: Restart for gpu and ofed of "
          "nvidia.com, Ask for other drivers)")
      ->check(CLI::IsMember({"Restart", "Ask", "Count"}));
  verb.add_flag_function(
      "--gpu-pods,!--no-gpu-pods", [&options](std::int64_t count) { options.gpu_pods = count > 0; },
      "treat pods that request a GPU as users of the driver (default for nvidia.com/gpu); with --no-gpu-pods, and for "
      "other drivers, only the policy's podDeletion.podSelector selects pods");
  verb.add_option("--resource", options.resources,
                  "name of a resource, such as example.com/fpga; pods that request it use the driver, and pod deletion "
                  "evicts them; repeat the option for several resources")
      ->allow_extra_args(false);
}

void AddPolicyResource(CLI::App& verb, Options& options) {
  verb.add_option("--policy-resource", options.policy_resource,
                  "custom resource and field of the policy, such as "
                  "nvidia.com/v1/clusterpolicies/cluster-policy:spec.driver.upgradePolicy");
}

void AddDefaults(CLI::App& verb, Options& options) {
  verb.add_option(
          "--defaults", options.defaults,
          "default values of fields that the policy does not set (default: the values of the driver's operator)")
      ->check(CLI::IsMember({"plain", "gpu-operator", "network-operator"}));
}

void AddPolicy(CLI::App& verb, Options& options) {
  verb.add_option(
      "--policy", options.policy,
      "YAML or JSON file with the upgradePolicy section; live: the policy that the operator reports in its Lease; "
      "live:NAME: the policy of one of its engines (default: the policy of the custom resource, otherwise live)");
  AddPolicyResource(verb, options);
  AddDefaults(verb, options);
}

void AddLedger(CLI::App& verb, Options& options) {
  verb.add_option("--ledger-namespace", options.ledger_ns,
                  "namespace of the operator's ledger (default: the value of --namespace)");
  verb.add_option("--ledger-name", options.ledger_name,
                  "name of the ConfigMap with the record of a rollout in stages (default: the usual name of the "
                  "driver's operator)");
}

void AddLease(CLI::App& verb, Options& options) {
  verb.add_option("--lease-namespace", options.lease_ns,
                  "namespace of the operator's Lease (default: the value of --namespace)");
  verb.add_option("--lease-name", options.lease_name,
                  "name of the operator's Lease (default: the Lease whose name ends in DRIVER-driver-upgrade)");
}

void AddWhen(CLI::App& verb, Options& options) {
  verb.add_option("--at", options.at, "time of the pass (default: now)")->type_name("RFC3339");
  verb.add_option("--active-since", options.active_since,
                  "time since which the engine has been running without a break (default: long ago)")
      ->type_name("RFC3339");
}

void AddOutput(CLI::App& verb, Options& options, const std::vector<std::string>& kinds) {
  verb.add_option("-o,--output", options.output, "output format")->check(CLI::IsMember(kinds))->capture_default_str();
}

void AddRequestor(CLI::App& verb, Options& options) { examples::AddRequestorArguments(verb, options.requestor); }

void AddReading(CLI::App& verb, Options& options) {
  AddSource(verb, options);
  AddDriver(verb, options);
  AddPolicy(verb, options);
  AddLease(verb, options);
  AddLedger(verb, options);
  AddWhen(verb, options);
  AddRequestor(verb, options);
}

void AddNodes(CLI::App& verb, Options& options) {
  verb.add_option("NODE", options.nodes, "names of nodes")->required();
}

void AddPlan(CLI::App& app, Options& options) {
  CLI::App& plan = Add(app, "plan", "Show what one pass over all nodes would do",
                       "upgradectl plan --cluster dump.json --policy policy.yaml --driver gpu");
  AddReading(plan, options);
  AddOutput(plan, options, {"table", "json"});
}

void AddStatus(CLI::App& app, Options& options) {
  CLI::App& status = Add(app, "status", "Show the progress of the rollout and the state of each node",
                         "upgradectl status --driver gpu -w");
  AddReading(status, options);
  status.add_flag("-w,--watch", options.watch,
                  "continue until the rollout is done, or has failed and cannot continue without an administrator");
  AddOutput(status, options, {"table", "wide", "json", "yaml"});
}

void AddExplain(CLI::App& app, Options& options) {
  CLI::App& explain = Add(app, "explain", "Explain why a node is not upgraded, and what helps",
                          "upgradectl explain gpu-7 --driver gpu");
  AddReading(explain, options);
  AddNodes(explain, options);
}

void AddDashboard(CLI::App& app, Options& options) {
  CLI::App& dashboard = Add(app, "dashboard", "Serve the operator's live rollout page on this machine",
                            "upgradectl dashboard --driver gpu");
  AddReading(dashboard, options);
  dashboard.add_option("--port", options.port, "port on 127.0.0.1 (default: any free port)")
      ->check(CLI::Range(0, 65535));
}

// Makes the verb accept options that only other verbs need, so that every verb accepts the same options. The verb's
// help does not list these options.
void Accept(CLI::App& verb, Options& options, std::initializer_list<void (*)(CLI::App&, Options&)> others) {
  CLI::App& group = *verb.add_option_group("Not needed");
  for (const auto add : others) add(group, options);
  for (CLI::Option* option : group.get_options()) option->group("");
  group.group("");
}

void AddPolicyFile(CLI::App& verb, Options& options) {
  verb.add_option(
      "--policy", options.policy,
      "YAML or JSON file with the upgradePolicy section, or live (default: the policy of the custom resource)");
}

void AddWriting(CLI::App& verb, Options& options) {
  AddSource(verb, options);
  AddDriver(verb, options);
  AddPolicyResource(verb, options);
  verb.add_flag("-y,--yes", options.yes, "write without confirmation");
  verb.add_option("--dry-run", options.dry_run,
                  "client: only show the changes; server: let the API server validate them without storing them")
      ->check(CLI::IsMember({"none", "client", "server"}))
      ->capture_default_str();
}

void AddChanges(CLI::App& app, Options& options) {
  struct Verb {
    const char* name;
    const char* what;
  };
  for (const Verb& verb : {Verb{"pause", "Pause the rollout: no further node starts, nodes in progress finish"},
                           Verb{"resume", "Resume a paused rollout"}}) {
    CLI::App& command = Add(app, verb.name, verb.what, fmt::format("upgradectl {} --driver gpu", verb.name));
    AddWriting(command, options);
    Accept(command, options, {AddPolicyFile, AddDefaults, AddLease, AddLedger, AddWhen, AddRequestor});
  }
  CLI::App& approve = Add(app, "approve", "Approve a stage: start the next stage, or lift the halt of this stage",
                          "upgradectl approve canary --driver gpu");
  AddWriting(approve, options);
  AddLease(approve, options);
  AddLedger(approve, options);
  AddPolicyFile(approve, options);
  Accept(approve, options, {AddDefaults, AddWhen, AddRequestor});
  approve
      .add_option("STAGE", options.stage,
                  "name of the stage; `rest` is the last stage, with all nodes that no other stage selects")
      ->required();
  for (const Verb& verb :
       {Verb{"skip", "Exclude nodes from the rollout before they start"},
        Verb{"unskip", "Include nodes in the rollout again"}, Verb{"retry", "Retry the upgrade on failed nodes"},
        Verb{"request", "Upgrade nodes even if their driver pods are up to date"},
        Verb{"allow-load", "Allow the driver to load on nodes that are already evacuated"}}) {
    CLI::App& command = Add(app, verb.name, verb.what, fmt::format("upgradectl {} gpu-7 --driver gpu", verb.name));
    AddWriting(command, options);
    Accept(command, options, {AddPolicyFile, AddDefaults, AddLease, AddLedger, AddWhen, AddRequestor});
    AddNodes(command, options);
    if (verb.name == std::string_view("allow-load")) command.alias("release");  // its name in the first versions
  }
}

void AddPreflight(CLI::App& app, Options& options) {
  CLI::App& preflight =
      Add(app, "preflight", "Find obstacles to a rollout before it starts", "upgradectl preflight --driver gpu");
  AddReading(preflight, options);
  preflight.add_option("--fail-on", options.fail_on, "lowest severity that causes exit code 4")
      ->check(CLI::IsMember({"error", "warning"}))
      ->capture_default_str();
  preflight.add_option(
      "--rights", options.rights,
      "also check the permissions of the operator: NAMESPACE/SERVICEACCOUNT, or self for your own permissions");
  AddOutput(preflight, options, {"table", "json"});
}

void AddDurations(CLI::App& verb, Options& options) {
  verb.add_option("--driver-start", options.driver_start,
                  "time until a new driver pod is ready (default: measured on the existing driver pods)");
  verb.add_option("--driver-stop", options.driver_stop,
                  "time until an old driver pod has terminated (default: measured from Events, or 2s)");
  verb.add_option("--pod-start", options.pod_start,
                  "time until the replacement of an evicted pod is ready (default: measured on the existing pods)");
  verb.add_option("--validation", options.validation,
                  "duration of the validation after the driver is ready (default: measured from Events, or 0s)");
  verb.add_option("--pod-stop", options.pod_stop,
                  "time until an evicted pod has terminated (default: measured from Events, or 30s)");
  verb.add_option("--jitter", options.jitter, "maximum relative deviation of these times")
      ->check(CLI::Range(0.0, 0.9))
      ->capture_default_str();
}

void AddSimulate(CLI::App& app, Options& options) {
  CLI::App& simulate = Add(app, "simulate", "Predict the duration and the cost of a rollout under one or more policies",
                           "upgradectl simulate --driver gpu --try slow.yaml --try fast.yaml");
  AddReading(simulate, options);
  simulate.add_option("--try", options.policies,
                      "policy to simulate; repeat the option to compare policies (default: the current policy)");
  AddDurations(simulate, options);
  simulate.add_option("--seeds", options.seeds, "number of simulated rollouts of each policy")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  AddOutput(simulate, options, {"table", "json"});
}

void AddTimeline(CLI::App& app, Options& options) {
  CLI::App& timeline = Add(app, "timeline", "Write a page with a bar for each node, from Events or from a simulation",
                           "upgradectl timeline --driver gpu > rollout.html");
  AddReading(timeline, options);
  timeline.add_flag("--simulate", options.simulated, "show a simulated rollout instead of the past one");
  AddDurations(timeline, options);
  // `output` has the default of the other verbs, which is not a picture format.
  timeline.add_option("-o,--output", options.output, "output format (default: html)")
      ->check(CLI::IsMember({"html", "svg", "json"}));
}

void AddCompletion(CLI::App& app, Options& options) {
  CLI::App& completion =
      Add(app, "completion", "Print a completion script or the manual page", "source <(upgradectl completion bash)");
  completion
      .add_option(
          "SHELL", options.shell,
          "bash, zsh, fish; kubectl: the file kubectl_complete-driverupgrade of its plugin; man: the manual page")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish", "kubectl", "man"}));
}

}  // namespace

void Describe(CLI::App& app, Options& options) {
  app.name("upgradectl");
  app.set_version_flag("--version", DRIVERUPGRADE_VERSION_STRING);
  app.set_help_all_flag("--help-all", "print help for every command");
  app.require_subcommand(1);
  AddStatus(app, options);
  AddExplain(app, options);
  AddDashboard(app, options);
  AddPlan(app, options);
  AddPreflight(app, options);
  AddSimulate(app, options);
  AddTimeline(app, options);
  AddChanges(app, options);
  AddCompletion(app, options);
}

bool TakesOption(const std::string& verb, const std::string& name) {
  Options ignored;
  CLI::App app;
  Describe(app, ignored);
  const CLI::Option* option = app.get_subcommand(verb)->get_option_no_throw(name);
  return option != nullptr && !option->get_group().empty();
}

std::variant<Options, Ending> ParseOptions(int argc, const char* const* argv) {
  Options options;
  CLI::App app{
      "Shows the progress of a driver upgrade, why a node waits, and what would happen next. Also makes the changes "
      "that an administrator would make by hand.\n"
      "Exit codes: 0 success; 1 the output could not be written; 2 the command line, the cluster or the policy is "
      "invalid; 3 in progress; 4 failed, or a simulated rollout would not finish."};
  Describe(app, options);
  try {
    examples::ParseArguments(app, argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) return Ending{.failed = true, .text = error.what()};
    std::ostringstream text;
    app.exit(error, text, text);
    return Ending{.text = text.str()};
  }
  const CLI::App& verb = *app.get_subcommands().front();
  const auto is_given = [&](const std::string& name) {
    const CLI::Option* option = verb.get_option_no_throw(name);
    return option != nullptr && option->count() > 0;
  };
  options.verb = verb.get_name();
  options.driver_named = is_given("--driver");
  options.domain_named = is_given("--domain");
  return options;
}

}  // namespace upgradectl
