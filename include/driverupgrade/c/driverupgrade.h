/*
 * The library for any language that calls C: documents in, documents out.
 *
 * Defines du_str, du_buf, du_code, du_engine and the functions du_*, for C11 and for C++.
 *
 *     du_buf plan = {0};
 *     if (du_plan(request, cluster, &plan) == 0) puts(plan.data);   // JSON: what would be done next, and who waits for what
 *     else fprintf(stderr, "%s\n", plan.data);                      // what was attempted, on what, and why it failed
 *     du_free(plan.data);
 *
 * An engine rolls a driver, and sends nothing itself: it says which request comes next, the host sends it and hands the answer in.
 * A host has clients, threads, timeouts and a clock of its own. A short one: examples/python/rollout.py; a whole one: go/internal/host.
 *
 * Documents are UTF-8. A member that is not known is an error in what comes in; whoever reads what goes out ignores members
 * that he does not know. Functions are added and never changed; documents only gain members. The functions call nobody back,
 * write no log, read no file, clock or environment, and neither throw nor exit. What they keep is in the engine that is handed
 * to them: one call at a time with one engine, any number of threads with different ones or with none.
 *
 * Examples: examples/python. Every document: docs/c-api.md.
 */
#ifndef DRIVERUPGRADE_C_DRIVERUPGRADE_H_
#define DRIVERUPGRADE_C_DRIVERUPGRADE_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of the caller, read during the call only. `data` may be null if `size` is 0. */
typedef struct {
  const char *data;
  size_t size;
} du_str;

/*
 * An answer: `size` bytes, and a null byte after them that is not counted. Has to be empty ({0}) when it is handed in. Whatever a
 * function returns, `data` is null or the caller's, who gives it to du_free.
 */
typedef struct {
  char *data;
  size_t size;
} du_buf;

/*
 * 0: the answer is in `out`. Otherwise a canonical status code, as gRPC and abseil number them, and `out` has a message for a person:
 *   3  a document that makes no sense, or an argument that is none;
 *   8  there is no memory, for the answer or for its message (then `out` stays empty);
 *   9  not now: the function says when;
 *   13 a defect of this library;
 *   14 something has not been read yet.
 */
typedef int32_t du_code;

/* The version of this interface: 1. A function or a document of version N is there, and the same, in every later one. */
uint32_t du_abi_version(void);

/* The version of the library: "0.9.0". Never null; the caller must not free it. */
const char *du_version(void);

/* Memory that du_free takes, for hosts that have to put documents where this library can read them (WebAssembly). Null: there is none. */
void *du_alloc(size_t size);

/* Gives back what du_alloc or a du_buf has. Null is nothing. */
void du_free(void *memory);

/*
 * Every key of a driver. In: {"domain":"nvidia.com","driver":"gpu"}. Out: an object with the labels and annotations by what they are for:
 * {"stateLabel":"nvidia.com/gpu-driver-upgrade-state", ...}.
 * Errors: 3 for a domain or a driver that Kubernetes or the longest key do not allow.
 */
du_code du_keys(du_str identity, du_buf *out);

/*
 * An upgrade policy with every field spelled out. In: the policy as a custom resource has it, in JSON or YAML. Or, with tables of the time
 * zones that it names, {"policy":...,"timeZones":[...]}: the zones as du_engine_put_time_zone takes them, and the policy in JSON. Without
 * tables the machine's own time zones count. Out: one JSON object. Errors: 3 with the path of every field that is wrong.
 */
du_code du_policy_normalize(du_str policy, du_buf *out);

/*
 * Fields of a valid policy that have no effect, or not the one that their author may expect. In: as du_policy_normalize. Out: a JSON array
 * of sentences, each of which begins with the path of its field; empty for most policies. Errors: as du_policy_normalize.
 */
du_code du_policy_warnings(du_str policy, du_buf *out);

/*
 * What an engine would do next, and why the other nodes wait. `request` says for which driver, by which policy and at what time;
 * `cluster` is what `kubectl get nodes,pods,daemonsets,controllerrevisions -A -o json` prints. Out: the JSON of `upgradectl plan -o json`.
 * Nothing is sent anywhere. Errors: 3, beginning with `request` or `cluster`.
 */
du_code du_plan(du_str request, du_str cluster, du_buf *out);

/*
 * Simulates rollouts of the driver on the nodes that have it, in virtual time: how long they take, what they interrupt, and what blocks them.
 * `request` is the request of du_plan, with "policies" ([{"name":...,"policy":...}, ...]) instead of "policy" to compare several policies, and with
 * "seeds" and "durations" if the default values do not fit. `cluster` is the dump of du_plan; with poddisruptionbudgets and jobs it shows
 * what limits evictions, and with events and configmaps how long the steps of an upgrade take. Out: the JSON of `upgradectl simulate -o json`.
 * A call takes as long as the rollouts have passes: seconds for thousands of nodes. Errors: 3, beginning with `request` or `cluster`.
 */
du_code du_simulate(du_str request, du_str cluster, du_buf *out);

/*
 * Finds what will be in the way of the next rollout, without simulating it. `request` is the request of du_plan, and `cluster` its
 * dump, with poddisruptionbudgets, events, validatingwebhookconfigurations and mutatingwebhookconfigurations to find obstacles of these kinds.
 * Out: the JSON of `upgradectl preflight -o json`, an empty array if nothing is in the way. Errors: 3, beginning with `request` or `cluster`.
 */
du_code du_preflight(du_str request, du_str cluster, du_buf *out);

/* One driver in one cluster: what was read of it, what was asked and answered. What must outlive it stands on the nodes. */
typedef struct du_engine du_engine;

/* What du_engine_put and du_engine_watch_line bring. */
enum {
  DU_NODES = 0,
  DU_DRIVER_PODS = 1, /* pods of the driver's namespace that the driver's labels select */
  DU_DAEMON_SETS = 2, /* likewise */
  DU_CONTROLLER_REVISIONS = 3, /* of the driver's namespace */
  DU_NODE_MAINTENANCES = 4, /* of the requestor's namespace; never put: they could not be read, or there is no requestor */
  DU_DEVICE_TAINT_RULES = 5, /* these three: of the cluster, in resource.k8s.io/v1, if the option `devices` names DRA drivers */
  DU_RESOURCE_CLAIMS = 6,    /* the Status with code 404 by which the server answers will do instead of a list */
  DU_RESOURCE_SLICES = 7,
  DU_KINDS = 8
};

/* What stands for an HTTP status if there is none. */
enum {
  DU_NO_ANSWER = -1, /* the request may have been carried out */
  DU_NOT_SENT = -2   /* it surely was not */
};

/*
 * Makes an engine, which du_engine_free takes. `*engine` has to be null, and stays so on failure. Out: {}.
 * Errors: 3 for options that cannot work.
 */
du_code du_engine_new(du_str options, du_engine **engine, du_buf *out);

/* Null is nothing. Requests under way need no more answers. */
void du_engine_free(du_engine *engine);

/*
 * All objects of a kind: the body of the API server's list, all pages in one, or the same with only the members of docs/c-api.md.
 * What was known and is not in it is gone. Before the first list of each kind but the last, du_engine_apply plans nothing. Out: {}.
 * Errors: 3 for no list of that kind; nothing is changed then.
 */
du_code du_engine_put(du_engine *engine, int32_t kind, du_str list, du_buf *out);

/* One line of a watch that goes on from the list. Bookmarks change nothing. Out: {}. Errors: 3 for no line of that kind, for one
 * before du_engine_put of the kind, and for a line of type ERROR, after which a list is needed. */
du_code du_engine_watch_line(du_engine *engine, int32_t kind, du_str line, du_buf *out);

/*
 * All pods on a node that du_engine_apply has asked for, read by a list that began after that. Put again whatever changes, from a watch
 * on the node's pods, until the node is wanted no more. `uses_driver` says which of them use the driver:
 * {"uids":[...],"errors":[{"uid":"...","error":"..."}]}; of no meaning (may be empty) unless the engine's options have podDeletion.
 * Out: {"taken":true}; false: the list is older than the node's cordon, or the node is gone, and a newer list is needed if the node
 * is still wanted. Errors: 3 for no list of pods, or one without metadata.resourceVersion.
 */
du_code du_engine_put_pods(du_engine *engine, du_str node, du_str list, du_str uses_driver, du_buf *out);

/* The nodes that have a driver pod or a label of ours, by state, and what the host has to be asked. Out: nodes, questions. */
du_code du_engine_read(du_engine *engine, int64_t now_ms, du_buf *out);

/*
 * Answers to questions: {"answers":[{"id":"...","answer":true},{"id":"...","error":"..."}]}. An answer is about the two revisions and
 * the version of the pod that its question names, whatever the host knows by now. An answer to a question of the past is dropped.
 * After an error the question comes again later, and the node waits. If the error comes with "revisionUnknown":true, the node does not
 * wait: it is upgraded in full. Out: {}.
 */
du_code du_engine_tell(du_engine *engine, du_str answers, du_buf *out);

/*
 * A time zone that a policy's rollout names: {"name":"Europe/Berlin","offsets":[{"from":1774746000,"seconds":7200}, ...]}. `from`: seconds
 * since 1970 from which on the offset from UTC applies, ascending; the first offset also applies before, and the last one without an
 * end. Put it before the first policy that names it, and again before its last offset ends. UTC is always known. Out: {}. Errors: 3 for
 * a table that makes no sense.
 */
du_code du_engine_put_time_zone(du_engine *engine, du_str zone, du_buf *out);

/*
 * Makes one pass. `nodes`: a JSON array of the names that `policy` is for, or empty: all. Several parts of the nodes may each have a
 * policy of their own; budgets count the part's nodes. {"owner":"gold","names":[...]}: a part with an owner, whose rollout has a record
 * of its own in the ledger. `owner`: a DNS subdomain, such as the name of the custom resource with the policy. A node without a driver pod stays in its part. A node in progress that no part
 * names any longer still counts in the part that it was in, and waits. Out: "work", the nodes whose requests du_engine_next returns now
 * ("" stands for the ledger); "wantedPods", nodes that wait until their pods have been put; gates, counts, findings, the policy's "warnings" (du_policy_warnings) and "wakeAt". Call it
 * again when an object was put, when a node's or the ledger's requests have been answered, and at wakeAt. `now_ms`: milliseconds since
 * 1970. Errors: 3 for a policy or an owner that makes no sense, or a time zone that was not put. 9 for a rollout without a ledger;
 * with a ledger, for a second part without an owner. 14 until each kind has been put once.
 */
du_code du_engine_apply(du_engine *engine, du_str nodes, du_str policy, int64_t now_ms, du_buf *out);

/* As du_engine_apply, for an operator that is being removed: what gives the nodes back. To be repeated until "work" is empty. */
du_code du_engine_release(du_engine *engine, du_str nodes, int64_t now_ms, du_buf *out);

/*
 * The request that the node is to be sent next, the same until it is answered: {"verb":...,"target":...,"contentType":...,"body":...};
 * {} when nothing is left. If "accept" is there, the metadata of the objects are enough, and this header requests only them. `target` is path
 * and query. Send the requests of one node in sequence. Requests of different nodes can be in progress at the same time.
 */
du_code du_engine_next(du_engine *engine, du_str node, int64_t now_ms, du_buf *out);

/*
 * What the server said to it. `http_status`: or DU_NO_ANSWER, DU_NOT_SENT; a number that is neither is taken for DU_NO_ANSWER.
 * `retry_after_s`: of the header Retry-After, 0 for none. `body`: any bytes. Out: {"more":true} if du_engine_next has another one.
 * Errors: 9 if nothing was asked.
 */
du_code du_engine_answer(du_engine *engine, du_str node, int32_t http_status, int32_t retry_after_s, du_str body, int64_t now_ms,
                         du_buf *out);

/* What has happened since the last call: outcomes of nodes whose requests are all answered, and Events to record. */
du_code du_engine_settle(du_engine *engine, int64_t now_ms, du_buf *out);

/* Why a node waits, as the last pass found it: {"node":...,"gate":{...}}; "gate" is null if it does not wait, or is not known. */
du_code du_engine_explain(du_engine *engine, du_str node, du_buf *out);

/* The state of all nodes after the last passes: as du_engine_apply, with every gate, and the "rollouts" of all parts by "owner". */
du_code du_engine_everything(du_engine *engine, du_buf *out);

/*
 * The document of the rollout for pages and scripts, as the operator's GET /rollout answers: docs/rollout.schema.json. `facts` has what only
 * the host knows: {"leader":true,"replica":"gpu-operator-7d9c","lastError":"..."}; each member may be absent, and "leader" is then true.
 * The history of a node begins with the engine. Out: the document. Errors: 3 for facts that make no sense.
 */
du_code du_engine_rollout(du_engine *engine, du_str facts, int64_t now_ms, du_buf *out);

#ifdef __cplusplus
}
#endif

#endif /* DRIVERUPGRADE_C_DRIVERUPGRADE_H_ */
