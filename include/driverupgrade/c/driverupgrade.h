/*
 * The library's C interface, for any language that can call C: documents in, documents out.
 *
 * Defines du_str, du_buf, du_code, du_engine and the functions du_*, for C11 and for C++.
 *
 *     du_buf plan = {0};
 *     if (du_plan(request, cluster, &plan) == 0) puts(plan.data);   // JSON: the next actions, and why nodes wait
 *     else fprintf(stderr, "%s\n", plan.data);                      // what was attempted, on what, and why it failed
 *     du_free(plan.data);
 *
 * An engine rolls out a driver but sends nothing itself: it returns the next request, and the host sends the request
 * and passes back the response. The host provides the HTTP client, threads, timeouts and clock. For example,
 * examples/python/rollout.py is a short host, and go/internal/host is a complete one.
 *
 * Documents are UTF-8. An unknown member in an input document is an error; readers of output documents must ignore
 * unknown members. New versions add functions but never change existing ones, and documents only gain members. The
 * functions never call back into the host, throw or exit. They write no log, read no clock, and read no files or
 * environment variables except for the machine's time zones: see du_policy_normalize. All state is in the engines. An
 * engine may be used by only one thread at a time; different engines, and functions without an engine, may be used
 * concurrently.
 *
 * Examples: examples/python. docs/c-api.md describes every document.
 */
#ifndef DRIVERUPGRADE_C_DRIVERUPGRADE_H_
#define DRIVERUPGRADE_C_DRIVERUPGRADE_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes that the caller owns. The library reads them only during the call. `data` may be null if `size` is 0. */
typedef struct {
  const char *data;
  size_t size;
} du_str;

/*
 * A result: `size` bytes, followed by a null byte that `size` does not include. The caller must pass an empty du_buf
 * ({0}). After every call, successful or not, `data` is null or belongs to the caller, which frees it with du_free.
 */
typedef struct {
  char *data;
  size_t size;
} du_buf;

/*
 * 0: the result is in `out`. Any other value is a canonical status code, numbered as in gRPC and abseil. `out` then
 * contains an error message:
 *   3  an invalid document or argument;
 *   8  out of memory for the result or for the error message (`out` then stays empty);
 *   9  not possible at the moment: each function documents the condition;
 *   13 a bug in this library;
 *   14 some required data has not been read yet.
 */
typedef int32_t du_code;

/* The version of this interface: 1. Every function and document of version N also exists, unchanged, in all later
 * versions. */
uint32_t du_abi_version(void);

/* The version of the library: "0.9.0". Never null; the caller must not free it. */
const char *du_version(void);

/* Allocates memory that du_free can free, for hosts that must copy documents into the library's memory (WebAssembly).
 * Returns null if no memory is available. */
void *du_alloc(size_t size);

/* Frees memory from du_alloc or from a du_buf. Ignores null. */
void du_free(void *memory);

/*
 * Returns all label and annotation keys of a driver. In: {"domain":"nvidia.com","driver":"gpu"}. Out: an object that
 * maps each purpose to its key:
 * {"stateLabel":"nvidia.com/gpu-driver-upgrade-state", ...}.
 * Errors: 3 if Kubernetes does not allow the domain or the driver, or if a key would be too long.
 */
du_code du_keys(du_str identity, du_buf *out);

/*
 * Returns an upgrade policy with a value for every field. In: the policy in JSON or YAML, as it appears in a custom
 * resource, or {"policy":...,"timeZones":[...],"policyDefaults":...}. "policyDefaults" is the same as in du_plan.
 * "timeZones" contains a table, in the format of du_engine_put_time_zone, for each time zone that the policy names; the
 * policy is then in JSON. Without tables, the function reads the machine's time zones from the directory in the
 * environment variable TZDIR (default: /usr/share/zoneinfo). The same is true of du_policy_warnings, du_plan,
 * du_simulate and du_preflight. Out: one JSON object. Errors: 3 with the path of every invalid field.
 */
du_code du_policy_normalize(du_str policy, du_buf *out);

/*
 * Returns warnings about fields of a valid policy that have no effect, or not the effect that the author probably
 * expects. In: same as du_policy_normalize. Out: a JSON array of sentences, each of which starts with the path of its
 * field; empty for most policies. Errors: same as du_policy_normalize.
 */
du_code du_policy_warnings(du_str policy, du_buf *out);

/*
 * Returns what an engine would do next, and why the other nodes wait. Sends nothing. `request` names the driver, the
 * policy and the time; `cluster` is the output of `kubectl get nodes,pods,daemonsets,controllerrevisions -A -o json`.
 * Out: the JSON of `upgradectl plan -o json`. Errors: 3, with a message that starts with `request` or `cluster`.
 */
du_code du_plan(du_str request, du_str cluster, du_buf *out);

/*
 * Simulates rollouts of the driver, in virtual time, on the nodes that have the driver. The result shows how long the
 * rollouts take, which workloads they interrupt, and what blocks them. `request` is the same as for du_plan, but can
 * contain "policies" ([{"name":...,"policy":...}, ...]) instead of "policy" to compare several policies, and "seeds"
 * and "durations" to override the default values. `cluster` is a dump in the same format as for du_plan. If the dump
 * contains poddisruptionbudgets, the simulation respects eviction limits. If the dump contains events and
 * configmaps, the simulation uses the step durations that they record. Out: the JSON of `upgradectl simulate -o json`.
 * The time that a call takes depends on the number of simulated passes: seconds for thousands of nodes. Errors: 3, with
 * a message that starts with `request` or `cluster`.
 */
du_code du_simulate(du_str request, du_str cluster, du_buf *out);

/*
 * Finds obstacles to the next rollout, without simulating it. `request` and `cluster` have the same format as for
 * du_plan. Add poddisruptionbudgets, events, validatingwebhookconfigurations and mutatingwebhookconfigurations to the
 * dump to find obstacles that only these objects reveal. Out: the JSON of `upgradectl preflight -o json`; an empty
 * array if there are no obstacles. Errors: 3, with a message that starts with `request` or `cluster`.
 */
du_code du_preflight(du_str request, du_str cluster, du_buf *out);

/* An engine for one driver in one cluster: it keeps the objects read, the requests issued, and the responses. State
 * that must outlive the engine is stored on the nodes. */
typedef struct du_engine du_engine;

/* Kinds of objects, for du_engine_put and du_engine_watch_line. */
enum {
  DU_NODES = 0,
  DU_DRIVER_PODS = 1,          /* pods in the driver's namespace that the driver's labels select */
  DU_DAEMON_SETS = 2,          /* DaemonSets in the driver's namespace that the driver's labels select */
  DU_CONTROLLER_REVISIONS = 3, /* in the driver's namespace */
  DU_NODE_MAINTENANCES = 4,    /* in the requestor's namespace; put them only with a requestor, and only if readable */
  /* The next three kinds are cluster-wide, from resource.k8s.io/v1. Put them only if the option `devices` names drivers.
   * If an older server does not serve a kind, put the server's Status with code 404 instead of a list. */
  DU_DEVICE_TAINT_RULES = 5,
  DU_RESOURCE_CLAIMS = 6,
  DU_RESOURCE_SLICES = 7,
  DU_KINDS = 8
};

/* Used in place of an HTTP status if there was no response. */
enum {
  DU_NO_ANSWER = -1, /* the request may have been carried out */
  DU_NOT_SENT = -2   /* the request was certainly not carried out */
};

/*
 * Creates an engine, which the caller frees with du_engine_free. `*engine` must be null, and stays null on failure.
 * Out: {}.
 * Errors: 3 for options that cannot work.
 */
du_code du_engine_new(du_str options, du_engine **engine, du_buf *out);

/* Frees the engine. Ignores null. The responses to requests in progress are no longer needed. */
void du_engine_free(du_engine *engine);

/*
 * Replaces all objects of a kind. `list`: the body of the API server's list, with all pages merged into one. Members
 * not mentioned in docs/c-api.md may be left out. Known objects that are missing from the list count as deleted.
 * du_engine_apply plans nothing until each of the kinds 0 to 3 has been put once. If a list of nodes shows that the
 * cluster was restored from a backup, put the other kinds and the nodes' pods again, from new lists. Out: {}. Errors: 3
 * if `list` is not a list of that kind; the engine is then unchanged.
 */
du_code du_engine_put(du_engine *engine, int32_t kind, du_str list, du_buf *out);

/* Applies one line of a watch that continues from the list. Bookmarks change nothing. Out: {}. Errors: 3 if the line
 * is not an event of that kind, if the kind must be put first, or if the line is of type ERROR; after an ERROR, put a
 * new list. */
du_code du_engine_watch_line(du_engine *engine, int32_t kind, du_str line, du_buf *out);

/*
 * Passes all pods on a node whose pods du_engine_apply has requested, from a list that was started after the request.
 * Also pass all later changes, from a watch on the node's pods, until the pods are no longer needed. `uses_driver`
 * names the pods that use the driver: {"uids":[...],"errors":[{"uid":"...","error":"..."}]}. Without podDeletion in the
 * engine's options, `uses_driver` is ignored and may be empty. An empty `list` means that the host could not read the
 * pods: the node then waits until its pods have been put. Out: {"taken":true}; false: `list` is empty or older than the
 * node's cordon, or the node was deleted. If the pods are still needed, a newer list is required. Errors: 3 if `list`
 * is not a list of pods, or has no metadata.resourceVersion.
 */
du_code du_engine_put_pods(du_engine *engine, du_str node, du_str list, du_str uses_driver, du_buf *out);

/* Returns the nodes that have a driver pod or one of the engine's labels, by state, and the questions for the host.
 * Out: the members "nodes" and "questions". */
du_code du_engine_read(du_engine *engine, int64_t now_ms, du_buf *out);

/*
 * Passes the answers to questions: {"answers":[{"id":"...","answer":true},{"id":"...","error":"..."}]}. An answer
 * applies to the two revisions and the pod version that its question names, even if the host has newer data. An answer
 * to an outdated question is dropped. After an error, the question is repeated later, and the node waits. If the error
 * has "revisionUnknown":true, the node does not wait, but is upgraded in full. Out: {}.
 */
du_code du_engine_tell(du_engine *engine, du_str answers, du_buf *out);

/*
 * Passes a time zone that a policy's rollout names:
 * {"name":"Europe/Berlin","offsets":[{"from":1774746000,"seconds":7200}, ...]}. `from`: seconds since 1970 at which the
 * offset from UTC starts to apply, ascending; the first offset also applies before its `from`, and the last offset
 * applies indefinitely. Put the zone before you apply a policy that names it, and put a newer table before the last
 * offset of the current table is outdated. UTC is always known. Out: {}. Errors: 3 for an invalid table.
 */
du_code du_engine_put_time_zone(du_engine *engine, du_str zone, du_buf *out);

/*
 * Makes one pass. `nodes`: a JSON array with the names of the nodes to which `policy` applies, or empty for all nodes.
 * The nodes can be divided into parts, each with its own policy, whose budgets count only the nodes in the part. Pass
 * {"owner":"gold","names":[...]} for a part with an owner, whose rollout has its own record in the ledger. `owner`: a
 * DNS subdomain, such as the name of the custom resource with the policy. A node without a driver pod stays in its
 * part. A node in progress that no part names any longer still counts in its former part, and waits. An object may also
 * have the member "rolloutSick", the host's reason to halt the rollout, with or without "owner" and "names". The halt
 * stays until it is lifted, even if later passes give no reason. Out: "work", the nodes for which du_engine_next has
 * requests ("" stands for the ledger); "wantedPods", the nodes that wait until their pods have been put; gates, counts,
 * findings, the policy's "warnings" (du_policy_warnings) and "wakeAt". Call du_engine_apply again after an object has
 * been put, after all requests of a node or of the ledger have been answered, and at wakeAt. `now_ms`: milliseconds
 * since 1970. Errors: 3 for an invalid policy or owner, or for a time zone that was not put; 9 for a rollout without a
 * ledger or, with a ledger, for a second part without an owner; 14 until the kinds 0 to 3 have been put and, after the
 * cluster was restored from a backup, put again.
 */
du_code du_engine_apply(du_engine *engine, du_str nodes, du_str policy, int64_t now_ms, du_buf *out);

/* Releases the nodes, for an operator that is being removed. Otherwise works like du_engine_apply. Call it again until
 * "work" is empty. */
du_code du_engine_release(du_engine *engine, du_str nodes, int64_t now_ms, du_buf *out);

/*
 * Returns the next request for the node, {"verb":...,"target":...,"contentType":...,"body":...}, or {} if no request is
 * left. The result stays the same until the response has been passed to du_engine_answer. If "accept" is present, send
 * its value as the Accept header: the server then returns only the objects' metadata, which is sufficient. `target` is
 * the path with the query. Send the requests of one node in sequence. Requests of different nodes can be in progress at
 * the same time.
 */
du_code du_engine_next(du_engine *engine, du_str node, int64_t now_ms, du_buf *out);

/*
 * Accepts the server's response to the request from du_engine_next. `http_status`: the HTTP status, DU_NO_ANSWER or
 * DU_NOT_SENT; any other number is treated as DU_NO_ANSWER. `retry_after_s`: the value of the Retry-After header; 0 if
 * the response has no such header. `body`: any bytes. Out: {"more":true} if du_engine_next has another request. Errors:
 * 9 if no request was outstanding.
 */
du_code du_engine_answer(du_engine *engine, du_str node, int32_t http_status, int32_t retry_after_s, du_str body, int64_t now_ms,
                         du_buf *out);

/* Returns the changes since the last call: the outcomes of nodes whose requests have all been answered, and the Events
 * to record. */
du_code du_engine_settle(du_engine *engine, int64_t now_ms, du_buf *out);

/* Returns the reason why a node waits, from the last pass: {"node":...,"gate":{...}}; "gate" is null if the node
 * does not wait or is not known. */
du_code du_engine_explain(du_engine *engine, du_str node, du_buf *out);

/* Returns the state of all nodes after the last passes: the members that du_engine_apply returns, with every gate, and
 * "parts" with the counts of each owner. */
du_code du_engine_everything(du_engine *engine, du_buf *out);

/*
 * Returns the rollout document for pages and scripts, like an operator's GET /rollout. Schema:
 * docs/rollout.schema.json. `facts` contains information that only the host has:
 * {"leader":true,"replica":"gpu-operator-7d9c","lastError":"..."}; all members are optional, and the default of
 * "leader" is true. A node's history starts when the engine is created. Out: the document. Errors: 3 for invalid facts.
 */
du_code du_engine_rollout(du_engine *engine, du_str facts, int64_t now_ms, du_buf *out);

#ifdef __cplusplus
}
#endif

#endif /* DRIVERUPGRADE_C_DRIVERUPGRADE_H_ */
