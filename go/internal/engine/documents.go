package engine

import (
	"encoding/json"
	"time"
)

// Options contains the settings of a new engine.
type Options struct {
	Identity           Identity   `json:"identity"`
	Namespace          string     `json:"namespace"`
	DriverLabels       string     `json:"driverLabels"`
	SpareSkippedPods   bool       `json:"spareSkippedPods"`
	ValidationSelector string     `json:"validationSelector,omitempty"`
	EarlyValidation    string     `json:"earlyValidation,omitempty"`
	PodDeletion        bool       `json:"podDeletion"`
	RestartOnly        bool       `json:"restartOnly"`
	Requestor          *Requestor `json:"requestor,omitempty"`
	OwnPod             string     `json:"ownPod,omitempty"`
	OwnNode            string     `json:"ownNode,omitempty"`
	Ledger             *Ledger    `json:"ledger,omitempty"`
	// Maximum number of restarts of a driver container that is not ready; nil: the engine's default.
	DriverRestartCountMax *int `json:"driverRestartCountMax,omitempty"`
	// Maximum number of nodes in progress over all parts; nil: only the limits of the policies apply.
	ParallelTotal *int     `json:"parallelTotal,omitempty"`
	Devices       []string `json:"devices,omitempty"` // names of DRA drivers
}

// Ledger names the ConfigMap with the grants and the record of a rollout. If several operators share the ConfigMap,
// Owner names the operator's part.
type Ledger struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Owner     string `json:"owner,omitempty"`
	GrantsMax int    `json:"grantsMax,omitempty"` // zero: the engine's default
}

// Identity names the driver in the keys of its labels and annotations.
type Identity struct {
	Domain string `json:"domain"`
	Driver string `json:"driver"`
}

// Requestor describes how this operator requests maintenance from a maintenance operator.
type Requestor struct {
	ID                  string   `json:"id"`
	Namespace           string   `json:"namespace"`
	NamePrefix          string   `json:"namePrefix,omitempty"`
	ResourceNameFilters []string `json:"resourceNameFilters,omitempty"`
	// False: new upgrades run in place, and nodes whose upgrade started in requestor mode finish in it.
	Enabled bool `json:"enabled"`
}

// UsesDriver lists the UIDs of the pods on a node that use the driver.
type UsesDriver struct {
	UIDs   []string   `json:"uids"`
	Errors []PodError `json:"errors"`
}

// PodError is the reason why it is unknown whether a pod uses the driver.
type PodError struct {
	UID   string `json:"uid"`
	Error string `json:"error"`
}

// Reading contains the driver's nodes, and the questions that the host must answer.
type Reading struct {
	Nodes     []ReadNode
	Questions []Question
}

// ReadNode is a node with its driver pods, as namespace/name.
type ReadNode struct {
	Name       string
	UID        string
	State      string
	DriverPods []string
}

// Question asks whether a driver pod, as namespace/name, only needs a restart. Running and Wanted name the
// ControllerRevisions of the pod's revision and of the target revision. The DaemonSet's current template may differ
// from both.
type Question struct {
	ID      string
	Kind    string
	Node    string
	Pod     string
	Running string
	Wanted  string
}

// Part names the nodes on which Apply or Release acts. A part with an Owner has its own rollout, with its own record in
// the ledger.
type Part struct {
	Owner string   `json:"owner,omitempty"`
	Names []string `json:"names"`
	// The operator's reason to halt the part's rollout; empty: do not halt it.
	RolloutSick string `json:"rolloutSick,omitempty"`
}

// Text returns the part as a document of the C interface.
func (p Part) Text() []byte {
	var document any = p
	if p.Owner == "" && p.RolloutSick == "" {
		document = p.Names
	}
	text, _ := json.Marshal(document)
	return text
}

// Answer is the answer to a Question. If Error is set, the answer is unknown.
type Answer struct {
	ID     string `json:"id"`
	Answer bool   `json:"answer"`
	Error  string `json:"error,omitempty"`
	// True if the pod's revision or the target revision is unknown. The node then needs a full upgrade.
	RevisionUnknown bool `json:"revisionUnknown,omitempty"`
}

// LedgerWork is the value that stands for the ledger in Pass.Work, Engine.Next and Engine.Answer. All other values are
// node names.
const LedgerWork = ""

type Pass struct {
	Work        []string
	Plans       []NodePlan
	WantedPods  []string
	PodInterest []string
	Gates       []Gate
	Ungated     []string
	Findings    []Finding
	Warnings    []string // about the policy
	Totals      Totals
	Rollout     *Rollout
	Parts       []OwnedPart // parts of all owners, by name; only Everything returns them
	WakeAt      *int64
}

// OwnedPart describes the nodes and the rollout of an owner.
type OwnedPart struct {
	Owner    string // empty: no owner
	Totals   Totals
	Waiting  map[string]int // number of waiting nodes by reason
	Warnings []string       // about the owner's policy
	Rollout  *Rollout
}

// Rollout is the progress of a rollout in stages.
type Rollout struct {
	Revision string
	Began    *int64
	Stage    string // the open stage
	Stages   []RolloutStage
	Rollback string
	WaitsFor *Gate // reason why the next stage has not started
	Gangs    *RolloutGangs
	Halted   *Gate // reason why no node starts
	Closed   *Gate // reason why no node starts at this time
}

// RolloutGangs counts gangs with pods on waiting nodes, and the units in which these nodes start. Interruptions is the
// number of interruptions that the policy is expected to cause, and ByName is the number that it would cause if the
// nodes started in name order.
type RolloutGangs struct {
	Gangs, Units, Interruptions, ByName int
	// Interrupted counts the gangs that this process has interrupted for this revision, and Caused counts their
	// interruptions.
	Interrupted, Caused int
	// ByInterruptions counts these gangs by the number of times that each was interrupted.
	ByInterruptions map[int]int
}

// RolloutStage counts the nodes of a stage. The last stage, `rest`, contains the nodes that no stage names.
type RolloutStage struct {
	Name                                   string
	Nodes, UnderWay, Done, Failed, LeftOut int
	WhyLeftOut                             string // empty if LeftOut is zero
}

// Wake returns the time at which the host must apply again even if nothing has changed; false if there is no such time.
func (p Pass) Wake() (time.Time, bool) {
	if p.WakeAt == nil {
		return time.Time{}, false
	}
	return time.UnixMilli(*p.WakeAt), true
}

// NodePlan is the plan for a node in Work: its current state, and the states that it enters. The state of a node
// without a valid state label is "unknown".
type NodePlan struct {
	Node  string
	State string
	Path  []string
}

// Gate is the reason why a node waits.
type Gate struct {
	Node      string
	State     string
	Reason    string
	Detail    string
	NotBefore *int64
	FailsAt   *int64
	Subject   GateSubject
	Count     *GateCount
}

// GateSubject is the subject of a gate: a Kubernetes object, another driver, an approval, a stage or a group. If Kind
// is empty, the gate has no subject.
type GateSubject struct{ Kind, Namespace, Name string }

// GateCount counts how much of a limit is used, or how many nodes of a stage have finished.
type GateCount struct{ Used, Limit int }

// Finding is a problem on a node or with the driver.
type Finding struct {
	Code    string
	Node    string
	Message string
}

// Totals counts the nodes of a part.
type Totals struct {
	Total, Pending, InProgress, Failed, Done, NotReady, Slots, Unavailable, DevicesIsolated int
}

// Request is a request that the host must send. If Verb is empty, there is nothing to send.
type Request struct {
	Verb        string
	Target      string
	ContentType string
	Accept      string // empty: JSON of whole objects
	Body        string
}

// Settled contains the outcomes and the Events since the last call of Settle.
type Settled struct {
	Outcomes []Outcome
	Events   []Event
}

// Outcome is the result for a node whose requests have all received responses.
type Outcome struct {
	Node              string
	Code              int
	Message           string
	Patched           bool
	EvictionsAccepted int
	EvictionsRefused  int
	PodsDeleted       int
	// GangsInterrupted counts the gangs that these requests interrupted, except gangs that another node of the unit had
	// already interrupted.
	GangsInterrupted int
	// LateHoldersEvicted counts the pods evicted because they were given a device after it had been tainted.
	LateHoldersEvicted int
	// PodsKept counts the pods that kept running while the driver was replaced, because only devices were isolated.
	PodsKept int
}

// Event is a Kubernetes Event that the host must record on the pod or, without a pod, on the node.
type Event struct {
	Node    string
	NodeUID string
	Pod     *EventPod
	Type    string
	Reason  string
	Message string
}

type EventPod struct {
	Namespace, Name, UID string
}

// Explanation contains the gate of a node, or nil if the node is not waiting.
type Explanation struct {
	Node string
	Gate *Gate
}
