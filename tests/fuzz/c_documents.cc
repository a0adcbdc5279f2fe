// Passes untrusted documents through the C interface. Each call must return a result or a one-line message, without
// undefined behavior.
#include <cstring>
#include <string>

#include "driverupgrade/c/driverupgrade.h"
#include "fuzz/fuzz.h"

namespace {

constexpr std::string_view kRequest =
    R"({"identity":{"domain":"nvidia.com","driver":"gpu"},"namespace":"ns","driverLabels":"app=driver",)"
    R"("at":"2026-01-02T12:05:00Z","policy":{"autoUpgrade":true},"requestor":{"id":"a.b","namespace":"m"}})";
constexpr std::string_view kCluster = R"({"kind":"List","items":[{"kind":"Node","metadata":{"name":"n","uid":"u"}}]})";
constexpr du_code kInvalid = 3;

du_str Str(std::string_view text) { return {.data = text.data(), .size = text.size()}; }

void Check(du_code code, du_buf& out) {
  using namespace driverupgrade::tests;
  Require(code == 0 || code == kInvalid, "a call succeeds, or reports an invalid document");
  Require(out.data != nullptr && std::strlen(out.data) <= out.size && out.data[out.size] == '\0',
          "a text is terminated");
  if (code != 0) Require(!HasControlCharacter(std::string_view(out.data, out.size)), "an error is one line");
  du_free(out.data);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view document(reinterpret_cast<const char*>(data), size);
  for (const auto function : {&du_keys, &du_policy_normalize}) {
    du_buf out = {};
    const du_code code = function(Str(document), &out);
    Check(code, out);
  }
  for (const auto function : {&du_plan, &du_preflight, &du_simulate}) {
    du_buf of_request = {};
    const du_code request = function(Str(document), Str(kCluster), &of_request);
    Check(request, of_request);
    du_buf of_cluster = {};
    const du_code cluster = function(Str(kRequest), Str(document), &of_cluster);
    Check(cluster, of_cluster);
  }
  return 0;
}
