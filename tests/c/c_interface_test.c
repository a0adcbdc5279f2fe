/* Tests the C interface in C11: every function with all its errors, and the plan of a whole fleet. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driverupgrade/c/driverupgrade.h"

static int failures = 0;

static void Check(int holds, const char *what, int line) {
  if (holds) return;
  fprintf(stderr, "line %d: not so: %s\n", line, what);
  ++failures;
}
#define CHECK(condition) Check((condition), #condition, __LINE__)

static du_str Str(const char *text) {
  du_str str = {text, strlen(text)};
  return str;
}

static char *ReadFile(const char *folder, const char *name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "rb");
  if (file == NULL) {
    perror(path);
    exit(2);
  }
  fseek(file, 0, SEEK_END);
  const size_t size = (size_t)ftell(file);
  rewind(file);
  char *text = malloc(size + 1);
  if (text == NULL || fread(text, 1, size, file) != size) exit(2);
  text[size] = '\0';
  fclose(file);
  return text;
}

typedef du_code (*Function)(du_str document, du_buf *out);

/* Checks that the response or the error message contains `part`. */
static void Expect(int line, Function function, const char *document, du_code code, const char *part) {
  du_buf out = {0};
  const du_code got = function(Str(document), &out);
  if (got != code || out.data == NULL || strstr(out.data, part) == NULL || strlen(out.data) != out.size) {
    fprintf(stderr, "line %d: %s: got %d, %s\n", line, document, (int)got, out.data == NULL ? "nothing" : out.data);
    ++failures;
  }
  du_free(out.data);
}
#define EXPECT(function, document, code, part) Expect(__LINE__, function, document, code, part)

static void TestVersions(void) {
  CHECK(du_abi_version() == 1);
  CHECK(strcmp(du_version(), "") != 0);
}

static void TestMemory(void) {
  char *memory = du_alloc(0);
  CHECK(memory != NULL);
  du_free(memory);
  du_free(NULL);
  memory = du_alloc(1000);
  CHECK(memory != NULL);
  memset(memory, 1, 1000);
  du_free(memory);
}

static void TestKeys(void) {
  const char *gpu = "{\"domain\":\"nvidia.com\",\"driver\":\"gpu\"}";
  EXPECT(du_keys, gpu, 0, "\"stateLabel\":\"nvidia.com/gpu-driver-upgrade-state\"");
  EXPECT(du_keys, gpu, 0, "\"cordonedByAnnotation\":\"driverupgrade/cordoned-by\"");
  EXPECT(du_keys, gpu, 0, "\"skipDrainPodLabel\":\"nvidia.com/gpu-driver-upgrade-drain.skip\"");
  EXPECT(du_keys, gpu, 0, "\"eventReason\":\"GPUDriverUpgrade\"");
  EXPECT(du_keys, "", 3, "identity: not valid JSON at offset 0");
  EXPECT(du_keys, "[]", 3, "identity: must be an object");
  EXPECT(du_keys, "{\"domain\":\"nvidia.com\"}", 3, "identity.driver: is missing");
  EXPECT(du_keys, "{\"domain\":7,\"driver\":\"gpu\"}", 3, "identity.domain: must be a string");
  EXPECT(du_keys, "{\"domain\":\"nvidia.com\",\"driver\":\"GPU!\"}", 3, "identity: ");
  EXPECT(du_keys, "{\"domain\":\"a.b\",\"driver\":\"gpu\",\"color\":1}", 3, "identity: unknown member \"color\"");
  EXPECT(du_keys, "{\"domain\":\"a.b\",\"domain\":\"a.b\"}", 3, "identity.domain: occurs twice");
}

static void TestPolicy(void) {
  EXPECT(du_policy_normalize, "{\"autoUpgrade\":true,\"maxParallelUpgrades\":3}", 0, "\"maxParallelUpgrades\":3");
  EXPECT(du_policy_normalize, "autoUpgrade: true\n", 0, "\"autoUpgrade\":true");
  EXPECT(du_policy_normalize, "{\"maxParallelUpgrades\":-1}", 3, "policy: maxParallelUpgrades: ");
  EXPECT(du_policy_normalize, "{\"colour\":1}", 3, "policy: colour");
  EXPECT(du_policy_normalize, "{", 3, "policy: ");
  EXPECT(du_policy_normalize, "{\"policy\":{},\"policyDefaults\":\"gpu-operator\"}", 0, "\"maxUnavailable\":\"25%\"");
  EXPECT(du_policy_normalize, "{\"policy\":{},\"policyDefaults\":\"x\"}", 3, "policyDefaults");
  EXPECT(du_policy_normalize, "null", 3, "the document is empty");
#define ZONED(zone, tables) "{\"policy\":{\"rollout\":{\"closedTimeZone\":\"" zone "\"}},\"timeZones\":[" tables "]}"
#define BERLIN "{\"name\":\"Europe/Berlin\",\"offsets\":[{\"from\":0,\"seconds\":3600}]}"
  EXPECT(du_policy_normalize, ZONED("Europe/Berlin", BERLIN), 0, "\"closedTimeZone\":\"Europe/Berlin\"");
  EXPECT(du_policy_normalize, ZONED("UTC", ""), 0, "\"closedTimeZone\":\"UTC\"");
  EXPECT(du_policy_normalize, ZONED("Europe/Paris", BERLIN), 3,
         "policy: rollout.closedTimeZone: time zone Europe/Paris is not in timeZones");
  EXPECT(du_policy_normalize, ZONED("X", "{\"name\":\"X\"}"), 3, "time zone X: offsets must not be empty");
  EXPECT(du_policy_normalize, "{\"policy\":\"autoUpgrade: true\"}", 0, "\"autoUpgrade\":true");
  EXPECT(du_policy_warnings, ZONED("Europe/Berlin", BERLIN), 0, "closedTimeZone");
  EXPECT(du_policy_warnings, "autoUpgrade: true\n", 0, "[]");
  EXPECT(du_policy_warnings, "retry: {backoffSeconds: 90}\n", 0, "[\"retry.backoffSeconds: has no effect without maxAttempts\"]");
  EXPECT(du_policy_warnings, "{\"colour\":1}", 3, "policy: colour");

  /* The output is also valid input, and normalizing it again does not change it. */
  du_buf once = {0};
  du_buf twice = {0};
  CHECK(du_policy_normalize(Str("{\"drain\":{\"enable\":true}}"), &once) == 0);
  du_str text = {once.data, once.size};
  CHECK(du_policy_normalize(text, &twice) == 0);
  CHECK(once.size == twice.size && memcmp(once.data, twice.data, once.size) == 0);
  du_free(once.data);
  du_free(twice.data);
}

#define REQUEST(more)                                                                                               \
  "{\"identity\":{\"domain\":\"nvidia.com\",\"driver\":\"gpu\"},\"namespace\":\"gpu-operator\","                    \
  "\"driverLabels\":\"app=driver\",\"at\":\"2026-01-02T12:05:00Z\",\"policyDefaults\":\"gpu-operator\"," more "}"
#define POLICY                                                                                                      \
  "\"policy\":{\"autoUpgrade\":true,\"maxParallelUpgrades\":6,\"podDeletion\":{\"timeoutSeconds\":600},"            \
  "\"drain\":{\"enable\":true,\"timeoutSeconds\":600}}"

static du_code PlanOfNothing(du_str request, du_buf *out) {
  return du_plan(request, Str("{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[]}"), out);
}

static void TestPlan(const char *folder) {
  EXPECT(PlanOfNothing, REQUEST(POLICY), 0, "\"nodes\": []");
  EXPECT(PlanOfNothing, REQUEST("\"policy\":\"autoUpgrade: true\""), 0, "\"total\": 0");
  EXPECT(PlanOfNothing, "{}", 3, "request.identity: is missing");
  EXPECT(PlanOfNothing, REQUEST("\"policy\":{\"colour\":1}"), 3, "request.policy: ");
  EXPECT(PlanOfNothing, REQUEST(POLICY ",\"speed\":1"), 3, "request: unknown member \"speed\"");
  EXPECT(PlanOfNothing, REQUEST(POLICY ",\"activeSince\":\"yesterday\""), 3, "request.activeSince: must be an RFC 3339");
  EXPECT(PlanOfNothing, REQUEST(POLICY ",\"validationSelector\":\"a in\""), 3, "request.validationSelector: ");
  EXPECT(PlanOfNothing, REQUEST(POLICY ",\"validationSelector\":\"\""), 3, "select everything");
  EXPECT(PlanOfNothing, REQUEST(POLICY ",\"usesDriverUids\":[7]"), 3, "must be an array of strings");
  EXPECT(PlanOfNothing, REQUEST(POLICY ",\"requestor\":{\"id\":\"\",\"namespace\":\"x\"}"), 3, "request.requestor: ");
  EXPECT(PlanOfNothing, REQUEST(POLICY ",\"spareSkippedPods\":\"no\""), 3, "must be true or false");

  char *cluster = ReadFile(folder, "fleet.json");
  char *expected = ReadFile(folder, "c.expected.json");
  du_buf plan = {0};
  CHECK(du_plan(Str(REQUEST(POLICY)), Str(cluster), &plan) == 0);
  if (plan.data == NULL || strcmp(plan.data, expected) != 0) {
    fprintf(stderr, "the plan of the fleet is another than c.expected.json:\n%s", plan.data == NULL ? "" : plan.data);
    ++failures;
  }
  du_free(plan.data);
  plan = (du_buf){0};
  CHECK(du_plan(Str(REQUEST(POLICY)), Str("no list"), &plan) == 3);
  CHECK(plan.data != NULL && strncmp(plan.data, "cluster: ", 9) == 0);
  du_free(plan.data);
  free(cluster);
  free(expected);
}

/* Without a record, only the first stage is open. */
static void TestPlanOfRollout(const char *folder) {
  char *cluster = ReadFile(folder, "fleet.json");
  const char *request = REQUEST(
      "\"policy\":{\"autoUpgrade\":true,\"rollout\":{\"stages\":[{\"name\":\"canary\",\"nodes\":1}]}}");
  const char *members[] = {"\"rollout\": {",      "\"revision\": \"", "\"stage\": \"canary\"",
                           "\"name\": \"rest\"", "\"nodes\": 1",     "\"underWay\": ",
                           "\"leftOut\": ",       "\"waitsFor\": {",  "\"halted\": null"};
  du_buf plan = {0};
  CHECK(du_plan(Str(request), Str(cluster), &plan) == 0);
  for (size_t i = 0; plan.data != NULL && i < sizeof members / sizeof *members; ++i) {
    if (strstr(plan.data, members[i]) != NULL) continue;
    fprintf(stderr, "the plan of a rollout has no %s:\n%s", members[i], plan.data);
    ++failures;
  }
  du_free(plan.data);
  free(cluster);
}

static void TestArguments(void) {
  const du_str nowhere = {NULL, 5};
  const du_str empty = {NULL, 0};
  char old[] = "old";
  du_buf out = {0};
  CHECK(du_keys(Str("{}"), NULL) == 3);
  CHECK(du_keys(nowhere, &out) == 3);
  CHECK(out.data != NULL);
  du_free(out.data);
  out = (du_buf){0};
  CHECK(du_policy_normalize(empty, &out) == 3);
  CHECK(out.data != NULL);
  du_free(out.data);
  /* A buffer that is not empty is refused, so its content is neither lost nor freed. */
  out.data = old;
  out.size = 3;
  CHECK(du_keys(Str("{}"), &out) == 3);
  CHECK(out.data == old && out.size == 3);
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: c_interface_test FOLDER\n");
    return 2;
  }
  TestVersions();
  TestMemory();
  TestKeys();
  TestPolicy();
  TestPlan(argv[1]);
  TestPlanOfRollout(argv[1]);
  TestArguments();
  return failures == 0 ? 0 : 1;
}
