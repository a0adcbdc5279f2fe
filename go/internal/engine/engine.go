// Package engine wraps the C interface's engine for Go. It represents documents as structs, and makes the engine safe
// for concurrent use. docs/c-api.md describes each call and each member.
package engine

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"driverupgrade.example/go/internal/timezones"
)

// Kind is a kind of object that Put and WatchLine accept.
type Kind int32

const (
	Nodes Kind = iota
	DriverPods
	DaemonSets
	ControllerRevisions
	NodeMaintenances
	DeviceTaintRules
	ResourceClaims
	ResourceSlices
)

// String returns the name of the kind as it appears in a single object, such as Node.
func (k Kind) String() string {
	return [...]string{"Node", "Pod", "DaemonSet", "ControllerRevision", "NodeMaintenance", "DeviceTaintRule", "ResourceClaim", "ResourceSlice"}[k]
}

// Values that replace the HTTP status if there was no response.
const (
	NoAnswer = -1
	NotSent  = -2
)

// Codes that callers distinguish.
const (
	CodeInvalidArgument = 3
	CodeAborted         = 10
	CodeDefect          = 13
	CodeUnavailable     = 14
)

// Error is an error that the engine returns: a canonical status code, and a message for users.
type Error struct {
	Code    int
	Message string
}

func (e *Error) Error() string { return fmt.Sprintf("%s (code %d)", e.Message, e.Code) }

// Engine manages one driver in one cluster. It does not communicate with the cluster itself.
type Engine interface {
	// Put and WatchLine accept raw or reduced objects.
	Put(kind Kind, list []byte) error
	WatchLine(kind Kind, line []byte) error
	// PutPods reports whether the list was new enough. A nil list means that the pods could not be read.
	PutPods(node string, list []byte, uses UsesDriver) (bool, error)
	Read(now time.Time) (Reading, error)
	Tell(answers []Answer) error
	// PutTimeZone stores the offsets of a time zone that a policy's rollout names, and replaces earlier offsets of the
	// zone.
	PutTimeZone(zone timezones.Zone) error
	// Apply and Release act on the nodes that `nodes` lists in the format of Part.Text, or on all nodes if the list is
	// empty.
	Apply(nodes, policy []byte, now time.Time) (Pass, error)
	Release(nodes []byte, now time.Time) (Pass, error)
	// Next returns a request without a verb if no request is left.
	Next(node string, now time.Time) (Request, error)
	// Answer reports whether Next has another request.
	Answer(node string, status int, retryAfter time.Duration, body []byte, now time.Time) (bool, error)
	Settle(now time.Time) (Settled, error)
	Explain(node string) (Explanation, error)
	Everything() (Pass, error)
	// Rollout returns the document that docs/rollout.schema.json describes.
	Rollout(facts RolloutFacts, now time.Time) (json.RawMessage, error)
	Close()
}

// backend is a du_engine. Each method calls the C function with the same name, and returns a document or an *Error.
// Calls on the same backend must not overlap.
type backend interface {
	put(kind int32, list []byte) ([]byte, error)
	watchLine(kind int32, line []byte) ([]byte, error)
	putPods(node string, list, usesDriver []byte) ([]byte, error)
	read(nowMs int64) ([]byte, error)
	tell(answers []byte) ([]byte, error)
	putTimeZone(zone []byte) ([]byte, error)
	apply(nodes, policy []byte, nowMs int64) ([]byte, error)
	release(nodes []byte, nowMs int64) ([]byte, error)
	next(node string, nowMs int64) ([]byte, error)
	answer(node string, status, retryAfterS int32, body []byte, nowMs int64) ([]byte, error)
	settle(nowMs int64) ([]byte, error)
	explain(node string) ([]byte, error)
	everything() ([]byte, error)
	rollout(facts []byte, nowMs int64) ([]byte, error)
	free()
}

// RolloutFacts are the members of the rollout document that only the host can provide.
type RolloutFacts struct {
	Leader    bool   `json:"leader"`
	Replica   string `json:"replica,omitempty"`
	LastError string `json:"lastError,omitempty"`
}

// New creates an engine, which the caller must close. The build tag driverupgrade_cgo selects newBackend from cgo.go;
// without it, plain.go provides newBackend.
func New(options Options) (Engine, error) {
	text, err := json.Marshal(options)
	if err != nil {
		return nil, err
	}
	made, err := newBackend(text)
	if err != nil {
		return nil, err
	}
	return &locked{backend: made}, nil
}

// ValidatePolicy returns the reason why an engine would refuse this policy, which must be JSON.
func ValidatePolicy(policy []byte, now time.Time) error {
	zones, err := timezones.TablesOf(policy, now, now.AddDate(1, 0, 0))
	if err != nil {
		return err
	}
	return normalizePolicy(policy, zones)
}

type locked struct {
	mu      sync.Mutex
	backend backend // nil once closed
}

// call runs one call of the backend, and parses its result into a T.
func call[T any](e *locked, run func(backend) ([]byte, error)) (out T, err error) {
	e.mu.Lock()
	if e.backend == nil {
		e.mu.Unlock()
		return out, &Error{CodeUnavailable, "the engine is closed"}
	}
	text, err := run(e.backend)
	e.mu.Unlock()
	if err != nil {
		return out, err
	}
	err = json.Unmarshal(text, &out)
	return out, err
}

type nothing struct{}

func (e *locked) Put(kind Kind, list []byte) error {
	_, err := call[nothing](e, func(b backend) ([]byte, error) { return b.put(int32(kind), list) })
	return err
}

func (e *locked) WatchLine(kind Kind, line []byte) error {
	_, err := call[nothing](e, func(b backend) ([]byte, error) { return b.watchLine(int32(kind), line) })
	return err
}

func (e *locked) PutPods(node string, list []byte, uses UsesDriver) (bool, error) {
	text, err := json.Marshal(uses)
	if err != nil {
		return false, err
	}
	out, err := call[struct{ Taken bool }](e, func(b backend) ([]byte, error) { return b.putPods(node, list, text) })
	return out.Taken, err
}

func (e *locked) Read(now time.Time) (Reading, error) {
	return call[Reading](e, func(b backend) ([]byte, error) { return b.read(now.UnixMilli()) })
}

func (e *locked) Tell(answers []Answer) error {
	text, err := json.Marshal(struct {
		Answers []Answer `json:"answers"`
	}{answers})
	if err != nil {
		return err
	}
	_, err = call[nothing](e, func(b backend) ([]byte, error) { return b.tell(text) })
	return err
}

func (e *locked) PutTimeZone(zone timezones.Zone) error {
	text, err := json.Marshal(zone)
	if err != nil {
		return err
	}
	_, err = call[nothing](e, func(b backend) ([]byte, error) { return b.putTimeZone(text) })
	return err
}

func (e *locked) Apply(nodes, policy []byte, now time.Time) (Pass, error) {
	return call[Pass](e, func(b backend) ([]byte, error) { return b.apply(nodes, policy, now.UnixMilli()) })
}

func (e *locked) Release(nodes []byte, now time.Time) (Pass, error) {
	return call[Pass](e, func(b backend) ([]byte, error) { return b.release(nodes, now.UnixMilli()) })
}

func (e *locked) Next(node string, now time.Time) (Request, error) {
	return call[Request](e, func(b backend) ([]byte, error) { return b.next(node, now.UnixMilli()) })
}

func (e *locked) Answer(node string, status int, retryAfter time.Duration, body []byte, now time.Time) (bool, error) {
	seconds := int32(min(retryAfter/time.Second, 1<<20))
	out, err := call[struct{ More bool }](e, func(b backend) ([]byte, error) {
		return b.answer(node, int32(status), seconds, body, now.UnixMilli())
	})
	return out.More, err
}

func (e *locked) Settle(now time.Time) (Settled, error) {
	return call[Settled](e, func(b backend) ([]byte, error) { return b.settle(now.UnixMilli()) })
}

func (e *locked) Explain(node string) (Explanation, error) {
	return call[Explanation](e, func(b backend) ([]byte, error) { return b.explain(node) })
}

func (e *locked) Everything() (Pass, error) {
	return call[Pass](e, func(b backend) ([]byte, error) { return b.everything() })
}

func (e *locked) Rollout(facts RolloutFacts, now time.Time) (json.RawMessage, error) {
	text, err := json.Marshal(facts)
	if err != nil {
		return nil, err
	}
	return call[json.RawMessage](e, func(b backend) ([]byte, error) { return b.rollout(text, now.UnixMilli()) })
}

func (e *locked) Close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.backend != nil {
		e.backend.free()
		e.backend = nil
	}
}
