package engine

import (
	"encoding/json"
	"time"
)

// Options of New.
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
	Devices            []string   `json:"devices,omitempty"` // names of DRA drivers
}

// Ledger names the ConfigMap with the grants and the record of a rollout, and its part if several operators share it.
type Ledger struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Owner     string `json:"owner,omitempty"`
}

// Identity says which driver's keys the nodes carry.
type Identity struct {
	Domain string `json:"domain"`
	Driver string `json:"driver"`
}

// Requestor is how this operator asks a maintenance operator.
type Requestor struct {
	ID                  string   `json:"id"`
	Namespace           string   `json:"namespace"`
	NamePrefix          string   `json:"namePrefix,omitempty"`
	ResourceNameFilters []string `json:"resourceNameFilters,omitempty"`
}

// UsesDriver says which pods of a node use the driver, by UID.
type UsesDriver struct {
	UIDs   []string   `json:"uids"`
	Errors []PodError `json:"errors"`
}

// PodError is why it is not known of a pod.
type PodError struct {
	UID   string `json:"uid"`
	Error string `json:"error"`
}

// Reading has the driver's nodes, and what the host is asked.
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

// Question asks whether a driver pod, as namespace/name, needs no more than a restart. It is about these two revisions, by the names of
// their ControllerRevisions, whatever the DaemonSet has by now.
type Question struct {
	ID      string
	Kind    string
	Node    string
	Pod     string
	Running string
	Wanted  string
}

// Part names nodes, for Apply and Release. With an Owner, the part has its own rollout with an own record in the ledger.
type Part struct {
	Owner string   `json:"owner"`
	Names []string `json:"names"`
}

// Text returns the document of the part.
func (p Part) Text() []byte {
	var document any = p
	if p.Owner == "" {
		document = p.Names
	}
	text, _ := json.Marshal(document)
	return text
}

// Answer is one to a Question; with an Error, the answer is not known.
type Answer struct {
	ID     string `json:"id"`
	Answer bool   `json:"answer"`
	Error  string `json:"error,omitempty"`
	// One of the two revisions is not known: the node is upgraded in full.
	RevisionUnknown bool `json:"revisionUnknown,omitempty"`
}

// LedgerWork stands for the ledger in Work, Next and Answer.
const LedgerWork = ""

// Pass is what one pass found.
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
	Rollouts    []Rollout // rollouts of all parts, by owner; only Everything returns them
	WakeAt      *int64
}

// Rollout is where a rollout in stages stands.
type Rollout struct {
	Owner    string // owner of the part; only in Rollouts
	Revision string
	Began    *int64
	Stage    string // the one that is open
	Stages   []RolloutStage
	Rollback string
	WaitsFor *Gate // reason why the next stage has not begun
	Gangs    *RolloutGangs
	Halted   *Gate // reason why no node starts
	Closed   *Gate // reason why no node starts at this time
}

// RolloutGangs counts gangs with pods on nodes that wait, and the units in which these nodes start. Interruptions counts what the policy
// causes, and ByName what the order of names would cause.
type RolloutGangs struct {
	Gangs, Units, Interruptions, ByName int
	// Interrupted counts the gangs that this process has interrupted at this revision, and Caused the interruptions.
	Interrupted, Caused int
}

// RolloutStage counts the nodes of a stage. The last one, `rest`, has those that no stage names.
type RolloutStage struct {
	Name                                   string
	Nodes, UnderWay, Done, Failed, LeftOut int
}

// Wake tells when to apply again although nothing changes.
func (p Pass) Wake() (time.Time, bool) {
	if p.WakeAt == nil {
		return time.Time{}, false
	}
	return time.UnixMilli(*p.WakeAt), true
}

// NodePlan is what becomes of a node of Work: the state that it is in, and those that it enters. A node without a
// state, or with a label that is none, is in "unknown".
type NodePlan struct {
	Node  string
	State string
	Path  []string
}

// Gate is why a node waits.
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

// GateSubject is what a gate is about: an object of Kubernetes, another driver, an approval, a stage or a group. Without a kind: nothing.
type GateSubject struct{ Kind, Namespace, Name string }

// GateCount is how much of a limit is used, or how many nodes of a stage have ended.
type GateCount struct{ Used, Limit int }

// Finding is what is wrong, on a node or with the driver.
type Finding struct {
	Code    string
	Node    string
	Message string
}

// Totals counts the nodes of a part.
type Totals struct {
	Total, Pending, InProgress, Failed, Done, NotReady, Slots, Unavailable int
}

// Request is to be sent; without a verb there is none.
type Request struct {
	Verb        string
	Target      string
	ContentType string
	Accept      string // empty: JSON of whole objects
	Body        string
}

// Settled is what has happened since it was asked last.
type Settled struct {
	Outcomes []Outcome
	Events   []Event
}

// Outcome of a node whose requests are all answered.
type Outcome struct {
	Node              string
	Code              int
	Message           string
	Patched           bool
	EvictionsAccepted int
	EvictionsRefused  int
	PodsDeleted       int
	// GangsInterrupted counts the gangs that these requests were the first of their unit to interrupt.
	GangsInterrupted int
}

// Event is one to record, on the pod or, without one, on the node.
type Event struct {
	Node    string
	NodeUID string
	Pod     *EventPod
	Type    string
	Reason  string
	Message string
}

// EventPod is what an Event is about.
type EventPod struct {
	Namespace, Name, UID string
}

// Explanation has no gate if the node does not wait.
type Explanation struct {
	Node string
	Gate *Gate
}
