#!/usr/bin/env python3
"""Checks that the objects rendered from deploy/ fit together: an object may refer only to names of rendered objects.

    rendered.py kustomize|helm BUILD_TOOLS

Checks the kustomizations, or the charts, which must render the same objects. If the tool is missing, prints the reason and
exits with 77.
"""
import collections
import json
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SKIPPED = 77

try:
    import yaml
except ImportError:
    print("skipped: there is no PyYAML; scripts/install-deps.sh installs it")
    sys.exit(SKIPPED)

# Directory of the kustomization, and namespace and name of each operator.
Operator = collections.namedtuple("Operator", "folder namespace name")
OPERATORS = (
    Operator("gpu", "gpu-operator", "driver-upgrade"),
    Operator("ofed", "nvidia-network-operator", "ofed-driver-upgrade"),
)
MONITORING = {"PodMonitor", "PrometheusRule", "ConfigMap"}


def tool(name, folder):
    """Returns the tool that scripts/deploy-tools.sh has built, or the tool in PATH."""
    program = shutil.which(name, path=folder) or shutil.which(name)
    if program is None:
        print(f"skipped: {name} is not installed; scripts/deploy-tools.sh builds it")
        sys.exit(SKIPPED)
    return program


def render(*command):
    """Returns the objects that the command prints, by kind, namespace and name."""
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT).stdout
    objects = [document for document in yaml.safe_load_all(text) if document]
    named = {key(item): item for item in objects}
    assert len(named) == len(objects), "two objects have one name"
    return named


def key(item):
    return item["kind"], item["metadata"].get("namespace", ""), item["metadata"]["name"]


def of_kind(objects, kind):
    return [item for (its_kind, _, _), item in objects.items() if its_kind == kind]


def only(objects, kind):
    (item,) = of_kind(objects, kind)
    return item


class Mistakes:
    def __init__(self):
        self.count = 0

    def unless(self, right, text):
        if not right:
            print(text)
            self.count += 1


def check_rights(objects, mistakes):
    """Checks that each binding refers to a rendered role and a rendered account, and that each role is bound."""
    bound = set()
    for kind in ("RoleBinding", "ClusterRoleBinding"):
        for binding in of_kind(objects, kind):
            role = binding["roleRef"]["kind"], binding["metadata"].get("namespace", ""), binding["roleRef"]["name"]
            bound.add(role)
            mistakes.unless(role in objects, f"{key(binding)} refers to a role that is not rendered: {role}")
            for subject in binding["subjects"]:
                account = subject["kind"], subject["namespace"], subject["name"]
                mistakes.unless(account in objects, f"{key(binding)} refers to an account that is not rendered: {account}")
    for kind in ("Role", "ClusterRole"):
        for role in of_kind(objects, kind):
            mistakes.unless(key(role) in bound, f"{key(role)} has no binding")


def check_container(container, mistakes):
    security = container["securityContext"]
    mistakes.unless(security["runAsNonRoot"] and security["runAsUser"] > 0, "the container may run as root")
    mistakes.unless(security["readOnlyRootFilesystem"], "the container may write to its root filesystem")
    mistakes.unless(not security["allowPrivilegeEscalation"], "the container may get more privileges")
    mistakes.unless(security["capabilities"] == {"drop": ["ALL"]}, "the container keeps capabilities")
    mistakes.unless("memory" in container["resources"]["limits"], "the container's memory has no limit")
    mistakes.unless("requests" in container["resources"], "the container requests no resources")
    ports = {port["name"] for port in container["ports"]}
    for probe in ("livenessProbe", "readinessProbe"):
        mistakes.unless(container[probe]["httpGet"]["port"] in ports, f"{probe} uses a port that the container does not have")
    mistakes.unless("--leader-elect" in container["args"], "two replicas would be active at the same time")


def check_program(objects, operator, mistakes):
    deployment = only(objects, "Deployment")
    pod = deployment["spec"]["template"]
    labels = pod["metadata"]["labels"].items()
    (container,) = pod["spec"]["containers"]
    check_container(container, mistakes)
    account = "ServiceAccount", operator.namespace, pod["spec"]["serviceAccountName"]
    mistakes.unless(account in objects, f"the pods use an account that is not rendered: {account}")
    selector = deployment["spec"]["selector"]["matchLabels"].items()
    mistakes.unless(selector <= labels, "the Deployment does not select its own pods")
    ports = {port["name"] for port in container["ports"]}
    service = only(objects, "Service")["spec"]
    mistakes.unless(service["selector"].items() <= labels, "the Service does not select the pods")
    mistakes.unless({port["targetPort"] for port in service["ports"]} <= ports, "the Service targets a port that no container has")
    for monitor in of_kind(objects, "PodMonitor"):
        endpoints = {endpoint["port"] for endpoint in monitor["spec"]["podMetricsEndpoints"]}
        mistakes.unless(monitor["spec"]["selector"]["matchLabels"].items() <= labels, "the PodMonitor selects no pod")
        mistakes.unless(endpoints <= ports, "the PodMonitor scrapes no port")


def check_monitoring(objects, mistakes):
    """Checks that the rendered alerts and dashboard are equal to the files that promtool and alerts.cmake check."""
    rules = yaml.safe_load((ROOT / "deploy/prometheus/rules.yaml").read_text(encoding="utf-8"))
    mistakes.unless(only(objects, "PrometheusRule")["spec"] == rules, "the alerts differ from rules.yaml")
    dashboards = only(objects, "ConfigMap")
    mistakes.unless(dashboards["metadata"]["labels"] == {"grafana_dashboard": "1"}, "Grafana finds no dashboard")
    (dashboard,) = dashboards["data"].values()
    file = ROOT / "deploy/grafana/driver-upgrades.json"
    wanted = json.loads(file.read_text(encoding="utf-8"))
    mistakes.unless(json.loads(dashboard) == wanted, f"the dashboard differs from {file.name}")


def check_namespaces(objects, operator, mistakes):
    """Checks that all objects are in the operator's namespace, except for the permissions to write Events about nodes."""
    for kind, namespace, name in objects:
        apart = kind in ("Namespace", "ClusterRole", "ClusterRoleBinding")
        events = kind in ("Role", "RoleBinding") and namespace == "default" and name.endswith("-events")
        mistakes.unless((namespace == "" and apart) or namespace == operator.namespace or events,
                        f"{kind} {name} is in the namespace `{namespace}`")


def kustomized(kustomize, operator):
    """Returns all objects of the operator, and the objects in the kustomization of its subdirectory `operator` alone."""
    folder = f"deploy/{operator.folder}"
    return render(kustomize, "build", folder), render(kustomize, "build", f"{folder}/operator")


def check_operator(kustomize, operator, mistakes):
    whole, program = kustomized(kustomize, operator)
    check_rights(whole, mistakes)
    check_program(whole, operator, mistakes)
    check_monitoring(whole, mistakes)
    check_namespaces(whole, operator, mistakes)
    mistakes.unless(key(only(whole, "Namespace"))[2] == operator.namespace, "the namespace has another name")
    apart = {name for name in whole if name not in program}
    mistakes.unless({kind for kind, _, _ in apart} == MONITORING | {"Namespace"}, f"`operator` leaves out {apart}")


def charted(helm, operator, *values):
    """Returns the objects that the chart renders into the namespace of the kustomization."""
    chart = f"deploy/helm/{operator.folder}"
    return render(helm, "template", "release", chart, f"--namespace={operator.namespace}", *values)


def check_chart(kustomize, helm, operator, mistakes):
    """Checks that the chart renders the objects of the kustomization, except for the namespace: helm would delete the
    driver together with the namespace. `helm install --create-namespace` creates a namespace that stays."""
    whole, program = kustomized(kustomize, operator)
    del whole[key(only(whole, "Namespace"))]
    for wanted, values in ((program, ()), (whole, ("--set=monitoring.enabled=true",))):
        rendered = charted(helm, operator, *values)
        for name in sorted(wanted.keys() | rendered.keys()):
            mistakes.unless(wanted.get(name) == rendered.get(name), f"{name} differs between kustomization and chart")
    elsewhere = charted(helm, operator._replace(namespace="elsewhere"))
    check_rights(elsewhere, mistakes)
    check_namespaces(elsewhere, operator._replace(namespace="elsewhere"), mistakes)


def check_optional_rights(kustomize, helm, operator, mistakes):
    """Checks that each option in the chart's `rights` adds the objects of the matching kustomization in deploy/rbac."""
    chart = ROOT / "deploy/helm" / operator.folder
    optional = yaml.safe_load((chart / "operator.yaml").read_text(encoding="utf-8"))["optionalRights"]
    values = yaml.safe_load((chart / "values.yaml").read_text(encoding="utf-8"))
    mistakes.unless(values.get("rights", {}) == dict.fromkeys(optional, False), f"{chart}: the values name other rights")
    for option, folder in optional.items():
        rendered = charted(helm, operator, f"--set=rights.{option}=true")
        for name, wanted in render(kustomize, "build", f"deploy/rbac/{folder}").items():
            mistakes.unless(rendered.get(name) == wanted, f"{name} differs with rights.{option}")


def check_policy_file(helm, operator, mistakes):
    """Checks that a policy in the chart's values is the only policy that the program reads, and that the chart then grants no
    permissions for policy resources."""
    objects = charted(helm, operator, "--set=policy.autoUpgrade=true", "--set=policy.drain.timeoutSeconds=60")
    check_rights(objects, mistakes)
    check_program(objects, operator, mistakes)
    pod = only(objects, "Deployment")["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    mistakes.unless("--cluster-policy" not in container["args"], "the program also reads policy resources")
    (mount,) = container["volumeMounts"]
    (volume,) = pod["volumes"]
    mistakes.unless(mount["name"] == volume["name"], "the mounted volume is not the policy's volume")
    mistakes.unless(f"--policy={mount['mountPath']}/policy.yaml" in container["args"], "the program reads another file")
    policy = yaml.safe_load(objects["ConfigMap", operator.namespace, volume["configMap"]["name"]]["data"]["policy.yaml"])
    mistakes.unless(policy == {"autoUpgrade": True, "drain": {"timeoutSeconds": 60}}, f"the policy became {policy}")
    mistakes.unless(not any(name == "driver-upgrade-policies" for _, _, name in objects),
                    "the chart grants permissions for policy resources")
    before = charted(helm, operator, "--set=policy.autoUpgrade=false")
    mistakes.unless(only(before, "Deployment") != only(objects, "Deployment"), "a changed policy does not restart the pod")


def check_version(operator, mistakes):
    header = (ROOT / "include/driverupgrade/version.h").read_text(encoding="utf-8")
    version = re.search(r'_VERSION_STRING "(.*)"', header).group(1)
    chart = yaml.safe_load((ROOT / "deploy/helm" / operator.folder / "Chart.yaml").read_text(encoding="utf-8"))
    mistakes.unless(chart["version"] == chart["appVersion"] == version, f"{chart['name']} has another version")


def main():
    what, tools = sys.argv[1:]
    kustomize = tool("kustomize", tools)
    helm = tool("helm", tools) if what == "helm" else None
    mistakes = Mistakes()
    for operator in OPERATORS:
        if what == "kustomize":
            check_operator(kustomize, operator, mistakes)
        else:
            check_chart(kustomize, helm, operator, mistakes)
            check_optional_rights(kustomize, helm, operator, mistakes)
            check_policy_file(helm, operator, mistakes)
            check_version(operator, mistakes)
    sys.exit(1 if mistakes.count else 0)


if __name__ == "__main__":
    main()
