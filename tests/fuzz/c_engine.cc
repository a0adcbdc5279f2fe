// Simulates an untrusted host that drives an engine with lists, lines, pods, policies, and responses in any order and
// with any content. Each call must return a result or a one-line message, without undefined behavior. In all cases it
// must be possible to destroy the engine cleanly.
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

#include "driverupgrade/c/driverupgrade.h"
#include "fuzz/fuzz.h"

namespace {

using driverupgrade::tests::Bytes;
using driverupgrade::tests::Require;

constexpr std::string_view kOptions =
    R"({"identity":{"domain":"nvidia.com","driver":"gpu"},"namespace":"ns","driverLabels":"app=driver",)"
    R"("podDeletion":true,"restartOnly":true,"validationSelector":"app=v","requestor":{"id":"a.b","namespace":"m"}})";
constexpr std::string_view kLedgerOption = R"(,"ledger":{"namespace":"ns","name":"l"}})";
// A node that needs an upgrade, so that every input reaches an engine that has work to do.
constexpr std::string_view kLists[] = {
    R"({"kind":"NodeList","metadata":{"resourceVersion":"9"},"items":[{"metadata":{"name":"n","uid":"u","resourceVersion":"5"},)"
    R"("status":{"conditions":[{"type":"Ready","status":"True"}]}}]})",
    R"({"kind":"PodList","metadata":{"resourceVersion":"9"},"items":[{"metadata":{"name":"d-1","namespace":"ns","uid":"p",)"
    R"("resourceVersion":"6","labels":{"app":"driver","controller-revision-hash":"old"},"ownerReferences":[{"kind":"DaemonSet",)"
    R"("name":"d","uid":"ds","controller":true}]},"spec":{"nodeName":"n"},"status":{"phase":"Running"}}]})",
    R"({"kind":"DaemonSetList","metadata":{"resourceVersion":"9"},"items":[{"metadata":{"name":"d","namespace":"ns","uid":"ds",)"
    R"("labels":{"app":"driver"}},"spec":{"selector":{"matchLabels":{"app":"driver"}},"updateStrategy":{"type":"OnDelete"}}}]})",
    R"({"kind":"ControllerRevisionList","metadata":{"resourceVersion":"9"},"items":[{"metadata":{"name":"d-new","namespace":"ns",)"
    R"("labels":{"app":"driver","controller-revision-hash":"new"},"ownerReferences":[{"kind":"DaemonSet","name":"d","uid":"ds",)"
    R"("controller":true}]},"revision":2}]})"};
// Statuses, some of them invalid, that a host reports for a response. The engine handles each of them differently.
constexpr std::int32_t kStatuses[] = {200, 201, 400, 403, 404, 409,          410,         422,
                                      429, 500, 503, 0,   99,  DU_NO_ANSWER, DU_NOT_SENT, 1000};
constexpr std::string_view kPolicy = R"({"autoUpgrade":true,"maxParallelUpgrades":1,"drain":{"enable":true}})";

du_str Str(std::string_view text) { return {.data = text.data(), .size = text.size()}; }

// Code 3: an invalid document. Codes 9 and 14: the call is not possible in the current state of the engine.
void Check(du_code code, du_buf& out) {
  Require(code == 0 || code == 3 || code == 9 || code == 14, "a call succeeds, or reports an invalid document or call");
  Require(out.data != nullptr && out.data[out.size] == '\0', "a text is terminated");
  if (code != 0)
    Require(!driverupgrade::tests::HasControlCharacter(std::string_view(out.data, out.size)), "an error is one line");
  du_free(out.data);
}

void Call(du_engine* engine, int what, int argument, std::string_view text, std::int64_t now) {
  du_buf out = {};
  const bool known = argument % 2 == 0;
  const std::string_view node = known ? "n" : text;
  switch (what) {
    case 0: return Check(du_engine_put(engine, argument % 7 - 1, Str(text), &out), out);
    case 1: return Check(du_engine_watch_line(engine, argument % 7 - 1, Str(text), &out), out);
    case 2: return Check(du_engine_put_pods(engine, Str(node), Str(text), Str(known ? "" : text), &out), out);
    case 3: return Check(du_engine_read(engine, now, &out), out);
    case 4: return Check(du_engine_tell(engine, Str(text), &out), out);
    case 5: return Check(du_engine_apply(engine, Str(known ? "" : text), Str(kPolicy), now, &out), out);
    case 6: return Check(du_engine_apply(engine, Str(""), Str(text), now, &out), out);
    case 7: return Check(du_engine_release(engine, Str(known ? "" : text), now, &out), out);
    case 8: return Check(du_engine_next(engine, Str(node), now, &out), out);
    case 9: {
      const std::int32_t status = kStatuses[argument / 2 % std::size(kStatuses)];
      return Check(du_engine_answer(engine, Str(node), status, argument - 50, Str(text), now, &out), out);
    }
    case 10:
      return Check(
          argument < 50 ? du_engine_settle(engine, now, &out) : du_engine_put_time_zone(engine, Str(text), &out), out);
    case 11: return Check(du_engine_explain(engine, Str(node), &out), out);
    default: return Check(du_engine_everything(engine, &out), out);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, size);
  const std::string_view first = bytes.Line();
  du_engine* unknown = nullptr;
  du_buf out = {};
  const du_code made = du_engine_new(Str(first), &unknown, &out);
  Require((made == 0) == (unknown != nullptr), "a call returns an engine or an error");
  Check(made, out);
  du_engine_free(unknown);

  du_engine* engine = nullptr;
  out = {};
  const std::string options =
      std::string(kOptions.substr(0, kOptions.size() - 1)) + std::string(first.size() % 2 == 0 ? "}" : kLedgerOption);
  Require(du_engine_new(Str(options), &engine, &out) == 0, "valid options are accepted");
  du_free(out.data);
  for (int kind = DU_NODES; kind <= DU_CONTROLLER_REVISIONS; ++kind) {
    out = {};
    Require(du_engine_put(engine, kind, Str(kLists[kind]), &out) == 0, "valid lists are accepted");
    du_free(out.data);
  }
  std::int64_t now = 1'700'000'000'000;
  while (!bytes.empty()) {
    const int what = bytes.Below(13);
    const int argument = bytes.Below(100);
    now += 1000 * bytes.Below(90) - 5000;
    Call(engine, what, argument, bytes.Line(), now);
  }
  du_engine_free(engine);
  return 0;
}
