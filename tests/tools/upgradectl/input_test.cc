// Tests how upgradectl handles administrators' mistakes in files and on command lines.
#include <string>
#include <string_view>
#include <vector>

#include "upgradectl/dump_text.h"
#include "upgradectl/text.h"
#include "upgradectl_support.h"

namespace upgradectl {
namespace {

using Texts = std::vector<std::string>;

std::string ErrorOf(std::string_view text) {
  return std::string(Message(DumpText("dump", std::string(text)).status()));
}

TEST_CASE("The error for a dump in UTF-16 suggests a remedy, and a byte order mark is ignored (W27)") {
  const std::string utf16("\xff\xfe{\0}\0", 6);
  CHECK(ErrorOf(utf16).find("dump: is UTF-16, as Windows PowerShell writes it; save it as UTF-8") == 0);
  CHECK(ErrorOf(utf16.substr(2)).find("is UTF-16") != std::string::npos);
  CHECK(DumpText("dump", "\xef\xbb\xbf{}").value() == "{}");
}

TEST_CASE("The error for a dump that is a table or YAML suggests a remedy (W27)") {
  CHECK(ErrorOf("NAME   STATUS   ROLES\nn1     Ready    <none>\n") ==
        "dump: is a table and not JSON; print the objects with `kubectl get ... -A -o json`");
  CHECK(ErrorOf("NAMESPACE   NAME\n").find("is a table") != std::string::npos);
  CHECK(ErrorOf("apiVersion: v1\nitems: []\n").find("is YAML") != std::string::npos);
  CHECK(DumpText("dump", "\n {\"kind\":\"List\"}").ok());
}

TEST_CASE("A dump that is not JSON is refused, even on standard input (W27)") {
  const Answer answer = RunWith({"status", "--cluster", "-"}, "NAME STATUS\n");
  CHECK(answer.exit_code == kExitUsage);
  CHECK(answer.err.find("standard input: is a table") != std::string::npos);
}

TEST_CASE("The error for a complete ClusterPolicy as the value of --policy suggests a remedy (W27)") {
  const ScratchFile dump(R"({"kind":"List","items":[]})");
  const ScratchFile policy("apiVersion: nvidia.com/v1\nkind: ClusterPolicy\nspec: {}\n");
  const Answer answer = RunWith({"status", "--cluster", dump.path(), "--policy", policy.path()});
  CHECK(answer.exit_code == kExitUsage);
  CHECK(answer.err.find("the document is a complete ClusterPolicy; pass only its upgradePolicy section") !=
        std::string::npos);
}

TEST_CASE("An option with an empty value does not use the next argument as its value (W27)") {
  const ScratchFile dump(Fleet(1));
  const Texts plain = {"status", "--cluster", dump.path(), "--validation-selector", ""};
  const Answer first = RunWith({"status", "--validation-selector=", "--cluster", dump.path()});
  CHECK(first.err.empty());
  CHECK(first.out == RunWith(plain).out);
  CHECK(RunWith({"status", "--cluster", dump.path(), "--validation-selector="}).out == first.out);
}

TEST_CASE(
    "Every verb accepts the options that locate an operator, and its help lists the options that it needs (W36)") {
  const ScratchFile dump((std::string(ContentOf(kTestData / "trouble.json"))));
  Texts options = {"--cluster", dump.path(), "--dry-run", "client", "--at", "2026-01-02T12:05:00Z", "--policy", "live"};
  options.insert(options.end(), {"--ledger-name", "l", "--ledger-namespace", "gpu-operator", "--lease-name", "x"});
  options.insert(options.end(), {"--defaults", "plain", "--requestor-id", "acme.example.com"});
  for (const Texts& verb : {Texts{"retry", "failed"}, Texts{"skip", "waiting"}, Texts{"pause"}}) {
    Texts arguments = verb;
    arguments.insert(arguments.end(), options.begin(), options.end());
    const Answer answer = RunWith(arguments);
    CAPTURE(verb.front(), answer.err);
    CHECK(answer.exit_code == kExitDone);
    CHECK(RunWith({verb.front(), "--help"}).out.find("--ledger-name") == std::string::npos);
  }
}

TEST_CASE("A pause does not write to a custom resource if the policy is in a file (W36)") {
  const ScratchFile policy("autoUpgrade: true");
  const Answer answer = RunWith(
      {"pause", "--cluster", (kTestData / "trouble.json").string(), "--dry-run", "client", "--policy", policy.path()});
  CHECK(answer.exit_code == kExitUsage);
  CHECK(answer.err.find("--policy: pause writes to a custom resource") != std::string::npos);
}

TEST_CASE("Pods that request a resource of another vendor count as users of that vendor's driver (W36)") {
  const std::string trainer =
      R"(,{"kind":"Pod","metadata":{"namespace":"lab","name":"trainer","uid":"t","labels":{"app":"trainer"},
"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"trainer","uid":"rs2","controller":true}]},
"spec":{"nodeName":"n0000","containers":[{"name":"c","resources":{"limits":{"example.com/fpga":"1"}}}]},
"status":{"phase":"Running","containerStatuses":[{"name":"c","ready":true}]}})";
  const ScratchFile dump(Fleet(1, trainer));
  const ScratchFile policy("autoUpgrade: true");
  const auto evictions = [&](const Texts& more) {
    Texts arguments = {"simulate",
                       "--cluster",
                       dump.path(),
                       "--policy",
                       policy.path(),
                       "--driver",
                       "fpga",
                       "--domain",
                       "example.com",
                       "--namespace",
                       "gpu-operator",
                       "--driver-labels",
                       "app=nvidia-driver-daemonset",
                       "--seeds",
                       "1",
                       "-o",
                       "json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    json::Document document;
    document.Parse(RunWith(arguments).out.c_str());
    REQUIRE(document.IsArray());
    return document[0]["evictions"].GetInt();
  };
  CHECK(evictions({}) == 0);
  CHECK(evictions({"--resource", "example.com/fpga"}) == 1);
}

TEST_CASE("The option --early-validation sets whether validation pods that were ready too early count (W34)") {
  const ScratchFile dump(Fleet(1));
  CHECK(RunWith({"status", "--cluster", dump.path(), "--early-validation", "Count"}).exit_code != kExitUsage);
  CHECK(RunWith({"status", "--cluster", dump.path(), "--early-validation", "Never"}).exit_code == kExitUsage);
}

}  // namespace
}  // namespace upgradectl
