// What upgradectl makes of files and command lines that administrators get wrong.
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

TEST_CASE("A dump in UTF-16 is refused with what to do, and a byte order mark is dropped (W27)") {
  const std::string utf16("\xff\xfe{\0}\0", 6);
  CHECK(ErrorOf(utf16).find("dump: is UTF-16, as Windows PowerShell writes it; save it as UTF-8") == 0);
  CHECK(ErrorOf(utf16.substr(2)).find("is UTF-16") != std::string::npos);
  CHECK(DumpText("dump", "\xef\xbb\xbf{}").value() == "{}");
}

TEST_CASE("A dump that is a table or YAML is refused with what to do (W27)") {
  CHECK(ErrorOf("NAME   STATUS   ROLES\nn1     Ready    <none>\n") ==
        "dump: is a table and not JSON; print the objects with `kubectl get ... -A -o json`");
  CHECK(ErrorOf("NAMESPACE   NAME\n").find("is a table") != std::string::npos);
  CHECK(ErrorOf("apiVersion: v1\nitems: []\n").find("is YAML") != std::string::npos);
  CHECK(DumpText("dump", "\n {\"kind\":\"List\"}").ok());
}

TEST_CASE("The program refuses a dump that is not JSON, also on standard input (W27)") {
  const Answer answer = RunWith({"status", "--cluster", "-"}, "NAME STATUS\n");
  CHECK(answer.exit_code == kExitUsage);
  CHECK(answer.err.find("standard input: is a table") != std::string::npos);
}

TEST_CASE("A whole ClusterPolicy as --policy is refused with what to do (W27)") {
  const ScratchFile dump(R"({"kind":"List","items":[]})");
  const ScratchFile policy("apiVersion: nvidia.com/v1\nkind: ClusterPolicy\nspec: {}\n");
  const Answer answer = RunWith({"status", "--cluster", dump.path(), "--policy", policy.path()});
  CHECK(answer.exit_code == kExitUsage);
  CHECK(answer.err.find("the document is a whole ClusterPolicy; pass its upgradePolicy section alone") !=
        std::string::npos);
}

TEST_CASE("An empty value of an option takes nothing from the next option (W27)") {
  const ScratchFile dump(Fleet(1));
  const Texts plain = {"status", "--cluster", dump.path(), "--validation-selector", ""};
  const Answer first = RunWith({"status", "--validation-selector=", "--cluster", dump.path()});
  CHECK(first.err.empty());
  CHECK(first.out == RunWith(plain).out);
  CHECK(RunWith({"status", "--cluster", dump.path(), "--validation-selector="}).out == first.out);
}

}  // namespace
}  // namespace upgradectl
