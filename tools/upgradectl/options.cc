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
  auto* source = verb.add_option_group("Cluster", "Which cluster; the file that KUBECONFIG names if absent");
  source->add_option("--cluster", options.source.cluster,
                     "file with the output of kubectl get nodes,pods,daemonsets,controllerrevisions,nodemaintenances,"
                     "leases -A -o json; - is standard input");
  source->add_option("--kubeconfig", options.source.kubeconfig, "kubeconfig file");
  source->add_flag("--in-cluster", options.source.in_cluster, "the cluster whose pod this is");
  source->require_option(0, 1);
  verb.add_option("--context", options.source.context, "context of the kubeconfig; its current one if absent");
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
                  "pods that must be ready before a node is given back; \"\" is none. If absent, "
                  "app=nvidia-operator-validator for nvidia.com/gpu, none for other drivers");
  verb.add_option(
          "--early-validation", options.early_validation,
          "treatment of validation pods that became ready before the new driver pod: Restart deletes them; Ask "
          "waits until an administrator restarts them; Count accepts them (default: Restart for gpu and ofed of "
          "nvidia.com, Ask for other drivers)")
      ->check(CLI::IsMember({"Restart", "Ask", "Count"}));
  verb.add_flag_function(
      "--gpu-pods,!--no-gpu-pods", [&options](std::int64_t count) { options.gpu_pods = count > 0; },
      "pods that ask for a GPU use the driver, as for nvidia.com/gpu if absent; with --no-gpu-pods, and for other "
      "drivers, the policy's podDeletion.podSelector alone chooses");
  verb.add_option("--resource", options.resources,
                  "name of a resource, such as example.com/fpga; pods that request it use the driver, and pod deletion "
                  "evicts them; repeat the option for several resources")
      ->allow_extra_args(false);
}

void AddPolicyResource(CLI::App& verb, Options& options) {
  verb.add_option("--policy-resource", options.policy_resource,
                  "where the policy stands: nvidia.com/v1/clusterpolicies/cluster-policy:spec.driver.upgradePolicy");
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
      "YAML or JSON file: the upgradePolicy section; live: what the operator reports by its Lease, live:NAME "
      "for one of its engines; if absent, the custom resource's, and where that has none, live");
  AddPolicyResource(verb, options);
  AddDefaults(verb, options);
}

void AddLedger(CLI::App& verb, Options& options) {
  verb.add_option("--ledger-namespace", options.ledger_ns, "of the operator's ledger; that of --namespace if absent");
  verb.add_option("--ledger-name", options.ledger_name,
                  "the ConfigMap with the record of a rollout in stages; its operator's usual one if absent");
}

void AddLease(CLI::App& verb, Options& options) {
  verb.add_option("--lease-namespace", options.lease_ns, "of the operator's Lease; that of --namespace if absent");
  verb.add_option("--lease-name", options.lease_name,
                  "name of the operator's Lease; the one that ends in DRIVER-driver-upgrade if absent");
}

void AddWhen(CLI::App& verb, Options& options) {
  verb.add_option("--at", options.at, "the time of the pass; now if absent")->type_name("RFC3339");
  verb.add_option("--active-since", options.active_since,
                  "since when the engine has been at work without a break; long ago if absent")
      ->type_name("RFC3339");
}

void AddOutput(CLI::App& verb, Options& options, const std::vector<std::string>& kinds) {
  verb.add_option("-o,--output", options.output, "how to print it")->check(CLI::IsMember(kinds))->capture_default_str();
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
  CLI::App& plan = Add(app, "plan", "What one pass over all nodes would do",
                       "upgradectl plan --cluster dump.json --policy policy.yaml --driver gpu");
  AddReading(plan, options);
  AddOutput(plan, options, {"table", "json"});
}

void AddStatus(CLI::App& app, Options& options) {
  CLI::App& status = Add(app, "status", "Where the rollout stands, and each node", "upgradectl status --driver gpu -w");
  AddReading(status, options);
  status.add_flag("-w,--watch", options.watch,
                  "go on until the rollout is done, or has failed and nothing moves without a person");
  AddOutput(status, options, {"table", "wide", "json", "yaml"});
}

void AddExplain(CLI::App& app, Options& options) {
  CLI::App& explain =
      Add(app, "explain", "Why one node does not move, and what helps", "upgradectl explain gpu-7 --driver gpu");
  AddReading(explain, options);
  AddNodes(explain, options);
}

void AddDashboard(CLI::App& app, Options& options) {
  CLI::App& dashboard = Add(app, "dashboard", "The operator's live page of the rollout, on this machine",
                            "upgradectl dashboard --driver gpu");
  AddReading(dashboard, options);
  dashboard.add_option("--port", options.port, "port of 127.0.0.1; any that is free if absent")
      ->check(CLI::Range(0, 65535));
}

// Makes the verb accept options that only other verbs need, so that the same options suit every verb. The help does not
// list them.
void Accept(CLI::App& verb, Options& options, std::initializer_list<void (*)(CLI::App&, Options&)> others) {
  CLI::App& group = *verb.add_option_group("Not needed");
  for (const auto add : others) add(group, options);
  for (CLI::Option* option : group.get_options()) option->group("");
  group.group("");
}

void AddPolicyFile(CLI::App& verb, Options& options) {
  verb.add_option("--policy", options.policy,
                  "YAML or JSON file with the upgradePolicy section, or live; the custom resource's if absent");
}

void AddWriting(CLI::App& verb, Options& options) {
  AddSource(verb, options);
  AddDriver(verb, options);
  AddPolicyResource(verb, options);
  verb.add_flag("-y,--yes", options.yes, "write without asking");
  verb.add_option("--dry-run", options.dry_run, "client: only show; server: the server checks it and writes nothing")
      ->check(CLI::IsMember({"none", "client", "server"}))
      ->capture_default_str();
}

void AddChanges(CLI::App& app, Options& options) {
  struct Verb {
    const char* name;
    const char* what;
  };
  for (const Verb& verb : {Verb{"pause", "Start no further node; nodes in progress finish"},
                           Verb{"resume", "Let further nodes start again"}}) {
    CLI::App& command = Add(app, verb.name, verb.what, fmt::format("upgradectl {} --driver gpu", verb.name));
    AddWriting(command, options);
    Accept(command, options, {AddPolicyFile, AddDefaults, AddLease, AddLedger, AddWhen, AddRequestor});
  }
  CLI::App& approve = Add(app, "approve", "Let the stage after this one begin, or lift the halt of this one",
                          "upgradectl approve canary --driver gpu");
  AddWriting(approve, options);
  AddLease(approve, options);
  AddLedger(approve, options);
  AddPolicyFile(approve, options);
  Accept(approve, options, {AddDefaults, AddWhen, AddRequestor});
  approve.add_option("STAGE", options.stage, "name of a stage; `rest` for the nodes that no stage names")->required();
  for (const Verb& verb :
       {Verb{"skip", "Leave nodes out of the rollout, until they are admitted"},
        Verb{"unskip", "Take nodes into the rollout again"}, Verb{"retry", "Begin anew on nodes that have failed"},
        Verb{"request", "Upgrade nodes although their driver pods are up to date"},
        Verb{"release", "Let a driver load that waits on evacuated nodes"}}) {
    CLI::App& command = Add(app, verb.name, verb.what, fmt::format("upgradectl {} gpu-7 --driver gpu", verb.name));
    AddWriting(command, options);
    Accept(command, options, {AddPolicyFile, AddDefaults, AddLease, AddLedger, AddWhen, AddRequestor});
    AddNodes(command, options);
  }
}

void AddPreflight(CLI::App& app, Options& options) {
  CLI::App& preflight = Add(app, "preflight", "What will be in the way of a rollout that has not begun",
                            "upgradectl preflight --driver gpu");
  AddReading(preflight, options);
  preflight.add_option("--fail-on", options.fail_on, "the least severity for exit code 4")
      ->check(CLI::IsMember({"error", "warning"}))
      ->capture_default_str();
  preflight.add_option("--rights", options.rights,
                       "whether the operator may do what it has to: NAMESPACE/SERVICEACCOUNT, or self for who asks");
  AddOutput(preflight, options, {"table", "json"});
}

void AddDurations(CLI::App& verb, Options& options) {
  verb.add_option("--driver-start", options.driver_start,
                  "how long a new driver pod takes to be ready; measured on those there are if absent");
  verb.add_option("--driver-stop", options.driver_stop,
                  "how long an old driver pod takes to end; if absent, measured by Events, or 2s");
  verb.add_option("--pod-start", options.pod_start,
                  "how long a pod in the place of an evicted one takes to be ready; measured if absent");
  verb.add_option("--validation", options.validation,
                  "how long validation takes once the driver is ready; if absent, measured by Events, or 0s");
  verb.add_option("--pod-stop", options.pod_stop,
                  "how long an evicted pod takes to end; if absent, measured by Events, or 30s");
  verb.add_option("--jitter", options.jitter, "by which part these times differ at most")
      ->check(CLI::Range(0.0, 0.9))
      ->capture_default_str();
}

void AddSimulate(CLI::App& app, Options& options) {
  CLI::App& simulate = Add(app, "simulate", "How long a rollout would take, and what it would cost, by policy",
                           "upgradectl simulate --driver gpu --try slow.yaml --try fast.yaml");
  AddReading(simulate, options);
  simulate.add_option("--try", options.policies,
                      "a policy to compare; again for another. If absent, the policy there is");
  AddDurations(simulate, options);
  simulate.add_option("--seeds", options.seeds, "how many rollouts of each policy")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  AddOutput(simulate, options, {"table", "json"});
}

void AddTimeline(CLI::App& app, Options& options) {
  CLI::App& timeline = Add(app, "timeline", "A page with a bar for each node, from Events or from a simulation",
                           "upgradectl timeline --driver gpu > rollout.html");
  AddReading(timeline, options);
  timeline.add_flag("--simulate", options.simulated, "what would happen, instead of what did");
  AddDurations(timeline, options);
  // `output` has the default of the other verbs, which is not a picture format.
  timeline.add_option("-o,--output", options.output, "html if absent")->check(CLI::IsMember({"html", "svg", "json"}));
}

void AddCompletion(CLI::App& app, Options& options) {
  CLI::App& completion = Add(app, "completion", "Completion for a shell", "source <(upgradectl completion bash)");
  completion
      .add_option(
          "SHELL", options.shell,
          "bash, zsh, fish; kubectl for its plugin's file kubectl_complete-driverupgrade; man for the manual page")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish", "kubectl", "man"}));
}

}  // namespace

void Describe(CLI::App& app, Options& options) {
  app.name("upgradectl");
  app.set_version_flag("--version", DRIVERUPGRADE_VERSION_STRING);
  app.set_help_all_flag("--help-all", "the options of every verb");
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
      "Shows where a driver upgrade stands, why a node waits and what would happen next; and does what an "
      "administrator "
      "does by hand.\n"
      "Exit codes: 0 shown, or done; 1 the answer could not be written; 2 the command line, the cluster or the policy "
      "is "
      "wrong; 3 in progress; 4 failed, or a simulated rollout would not finish."};
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
