/*
 * The library for any language that calls C: documents in, documents out.
 *
 * Defines du_str, du_buf, du_code and the functions du_*, for C11 and for C++.
 *
 *     du_buf plan = {0};
 *     if (du_plan(request, cluster, &plan) == 0) puts(plan.data);   // JSON: what would be done next, and who waits for what
 *     else fprintf(stderr, "%s\n", plan.data);                      // what was attempted, on what, and why it failed
 *     du_free(plan.data);
 *
 * Documents are UTF-8. A member that is not known is an error in what comes in; whoever reads what goes out ignores members
 * that he does not know. Functions are added and never changed; documents only gain members. The functions call nobody back,
 * write no log, read no file, clock or environment, and neither throw nor exit. They keep no state: any number of threads may
 * call them at once.
 *
 * Example: examples/python/whatif.py. Every document: docs/c-api.md.
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
 *   13 a defect of this library.
 */
typedef int32_t du_code;

/* The version of this interface: 1. A function or a document of version N is there, and the same, in every later one. */
uint32_t du_abi_version(void);

/* The version of the library: "0.1.0". Never null; nobody frees it. */
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
 * An upgrade policy with every field spelled out. In: the policy as a custom resource has it, in JSON or YAML. Out: one JSON object.
 * Errors: 3 with the path of every field that is wrong.
 */
du_code du_policy_normalize(du_str policy, du_buf *out);

/*
 * What an engine would do next, and why the other nodes wait. `request` says for which driver, by which policy and at what time;
 * `cluster` is what `kubectl get nodes,pods,daemonsets,controllerrevisions -A -o json` prints. Out: the JSON of `upgradectl plan -o json`.
 * Nothing is sent anywhere. Errors: 3, beginning with `request` or `cluster`.
 */
du_code du_plan(du_str request, du_str cluster, du_buf *out);

#ifdef __cplusplus
}
#endif

#endif /* DRIVERUPGRADE_C_DRIVERUPGRADE_H_ */
