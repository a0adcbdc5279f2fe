// Package whatif answers questions about a cluster without changing it: how long a rollout would take and what it would
// interrupt under different policies, and which obstacles it would encounter. It sends no requests.
//
//	cluster, err := whatif.Dump(objects...) // or the output of kubectl get -o json
//	rollouts, err := whatif.Simulate(request, whatif.Trials{Policies: policies}, cluster)
//	obstacles, err := whatif.Preflight(request, cluster)
//
// Each call has its own engine, with as much memory as the dump needs, so calls can run concurrently. The simulation is
// linked only into operators that import this package.
package whatif

import (
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"driverupgrade.example/go/internal/timezones"
)

// Request describes a driver and its policy. docs/c-api.md describes each member.
type Request struct {
	// Domain and Driver are the driver's identity, such as nvidia.com and gpu.
	Domain, Driver string
	// Namespace of the driver's DaemonSets, and selector of its pods.
	Namespace, DriverLabels string
	// Policy as docs/policy.md describes it, in YAML or JSON.
	Policy []byte
	// PolicyDefaults names the operator whose defaults apply to fields that the policy does not set: gpu-operator or
	// network-operator. Empty: the default values of docs/policy.md.
	PolicyDefaults string
	// At is the time that counts as now (default: the current time).
	At time.Time
	// ActiveSince is the time at which the operator started (default: it has always been running).
	ActiveSince time.Time
	// ValidationSelector selects the pods that validate a new driver. Empty: there is no validation.
	ValidationSelector string
	// EarlyValidation is Restart (the default), Ask or Count.
	EarlyValidation string
	// UsesDriver contains the UIDs of the pods that use the driver. Nil: the operator does not delete such pods.
	UsesDriver []string
	// RestartOnly reports whether a restart of the driver pod is enough to get from one revision to another. It is
	// called for each older ControllerRevision in the dump, together with the newest revision of the same DaemonSet.
	// Nil: every new revision needs a full upgrade.
	RestartOnly func(running, desired *corev1.PodSpec) (bool, error)
	// Requestor turns on requestor mode. Nil: the operator evacuates the nodes itself.
	Requestor *Requestor
	// EvictSkipped lets drains evict pods with the skip-drain label, as upgrade.WithSkippedPodsEvicted does.
	EvictSkipped bool
}

// Requestor contains the operator's settings for requestor mode, as in upgrade.RequestorOptions.
type Requestor struct {
	// ID of the operator among the requestors, and namespace of the NodeMaintenances.
	ID        string `json:"id"`
	Namespace string `json:"namespace"`
	// NamePrefix is the prefix of the names of the operator's NodeMaintenances (default: nvidia-operator).
	NamePrefix string `json:"namePrefix,omitempty"`
	// ResourceNameFilters are regular expressions. The maintenance operator evicts the pods that request a resource with
	// a matching name. Empty: it evicts all pods that the policy's drain selects.
	ResourceNameFilters []string `json:"resourceNameFilters,omitempty"`
	// Off is true if requestor mode is switched off: nodes that are still in requestor mode finish in it, and all other
	// nodes are upgraded in place.
	Off bool `json:"-"`
}

// Policy is one of several policies to compare.
type Policy struct {
	Name string
	// The policy as docs/policy.md describes it, in YAML or JSON.
	Text []byte
}

// Trials defines the rollouts to simulate.
type Trials struct {
	// Policies to compare. Empty: the request's policy.
	Policies []Policy
	// Seeds is the number of rollouts simulated for each policy (default: 5). The same seeds produce the same rollouts.
	Seeds int
	// Durations of the steps of an upgrade.
	Durations Durations
}

// Durations are in whole seconds, and shorter than a day. A nil duration is estimated from the dump. If the dump
// contains too little data, a default applies.
type Durations struct {
	DriverStart, DriverStop, PodStart, PodStop, Validation *time.Duration
	// JitterPercent is the maximum deviation of these durations, in percent (default: 20).
	JitterPercent *int
}

// Rollout summarizes the simulated rollouts of one policy.
type Rollout struct {
	Policy string `json:"policy"`
	// Finishes is true if every simulated rollout finishes. If not, the times are nil.
	Finishes              bool   `json:"finishes"`
	MakespanSecondsMedian *int64 `json:"makespanSecondsMedian"`
	MakespanSeconds90     *int64 `json:"makespanSeconds90"`
	Nodes                 int    `json:"nodes"`
	Done                  int    `json:"done"`
	Failed                int    `json:"failed"`
	// Maximum number of nodes and pods that were unavailable at the same time.
	UnavailablePeak     int `json:"unavailablePeak"`
	PodsUnavailablePeak int `json:"podsUnavailablePeak"`
	// Numbers of nodes cordoned, of pods evicted, and of pods that stay on a node while its driver is replaced. All are
	// nil unless one of the policies isolates devices.
	NodesCordoned *int `json:"nodesCordoned"`
	PodsEvicted   *int `json:"podsEvicted"`
	PodsKept      *int `json:"podsKept"`
	// Numbers of gangs (jobs whose pods can only run together) and of their interruptions.
	Gangs                 int   `json:"gangs"`
	GangInterruptions     int   `json:"gangInterruptions"`
	GangInterruptionsPeak int   `json:"gangInterruptionsPeak"`
	Evictions             int64 `json:"evictions"`
	Writes                int64 `json:"writes"`
	Requests              int64 `json:"requests"`
	// Obstacles are the reasons why nodes are not done.
	Obstacles []Blockage `json:"obstacles"`
	// Blocked contains the nodes that are not done.
	Blocked map[string]Blocked `json:"blocked"`
}

// Blockage is one reason why nodes are not done, with the node that has waited longest.
type Blockage struct {
	Nodes   int    `json:"nodes"`
	Failed  bool   `json:"failed"`
	Gate    string `json:"gate"`
	Subject string `json:"subject"`
	Example string `json:"example"`
}

// Blocked is the reason why a node is not done, and the time, measured from the start of the rollout, at which this
// reason began to apply.
type Blocked struct {
	Why          string `json:"why"`
	SinceSeconds int64  `json:"sinceSeconds"`
}

// Obstacle is a problem that will block or delay a rollout.
type Obstacle struct {
	// Severity is error or warning.
	Severity string `json:"severity"`
	// Code identifies the problem for programs; tools/upgradectl/README.md lists the codes.
	Code    string   `json:"code"`
	Problem string   `json:"problem"`
	Remedy  string   `json:"remedy"`
	Objects []string `json:"objects"`
}

// Error reports an invalid request or dump, or a defect in the library.
type Error struct {
	// Code is a canonical status code: 3 for an invalid document, 13 for a defect.
	Code    int
	Message string
}

func (e *Error) Error() string { return fmt.Sprintf("%s (code %d)", e.Message, e.Code) }

// Simulate simulates rollouts with each policy, as `upgradectl simulate` does. `cluster` is a List of nodes, pods,
// DaemonSets, ControllerRevisions and PodDisruptionBudgets, and of Events if durations must be estimated from them. If
// a policy isolates devices, the List must also contain the ResourceClaims and ResourceSlices. Errors: an *Error whose
// message starts with `request` or `cluster`; the error of RestartOnly; this machine does not know a time zone in a
// policy.
func Simulate(request Request, trials Trials, cluster []byte) ([]Rollout, error) {
	text, err := SimulateJSON(request, trials, cluster)
	if err != nil {
		return nil, err
	}
	var rollouts []Rollout
	err = json.Unmarshal(text, &rollouts)
	return rollouts, err
}

// SimulateJSON is Simulate, but returns the JSON that `upgradectl simulate -o json` prints.
func SimulateJSON(request Request, trials Trials, cluster []byte) ([]byte, error) {
	document, err := documentOf(request, &trials, cluster)
	if err != nil {
		return nil, err
	}
	return simulate(document, cluster)
}

// Preflight finds obstacles to the next rollout, as `upgradectl preflight` does. `cluster` is a List as for Simulate,
// and can also contain ValidatingWebhookConfigurations and MutatingWebhookConfigurations. Errors: same as for Simulate.
func Preflight(request Request, cluster []byte) ([]Obstacle, error) {
	text, err := PreflightJSON(request, cluster)
	if err != nil {
		return nil, err
	}
	var obstacles []Obstacle
	err = json.Unmarshal(text, &obstacles)
	return obstacles, err
}

// PreflightJSON is Preflight, but returns the JSON that `upgradectl preflight -o json` prints.
func PreflightJSON(request Request, cluster []byte) ([]byte, error) {
	document, err := documentOf(request, nil, cluster)
	if err != nil {
		return nil, err
	}
	return preflight(document, cluster)
}

// PlanJSON returns the JSON that `upgradectl plan -o json` prints: the next actions of an engine, and the reasons why
// the other nodes wait. Errors: same as for Simulate.
func PlanJSON(request Request, cluster []byte) ([]byte, error) {
	document, err := documentOf(request, nil, cluster)
	if err != nil {
		return nil, err
	}
	return plan(document, cluster)
}

// policyOf returns the policy as JSON, with the time zones that the policy names.
func policyOf(text []byte, at time.Time, zones map[string]timezones.Zone) (json.RawMessage, error) {
	policy, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, fmt.Errorf("the upgrade policy: %w", err)
	}
	of, err := timezones.TablesOf(policy, at.AddDate(-1, 0, 0), at.AddDate(3, 0, 0))
	if err != nil {
		return nil, err
	}
	for _, zone := range of {
		zones[zone.Name] = zone
	}
	return policy, nil
}
