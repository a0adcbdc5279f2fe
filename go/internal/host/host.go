package host

import (
	"cmp"
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	maintenancev1alpha1 "github.com/Mellanox/maintenance-operator/api/v1alpha1"
	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"driverupgrade.example/go/internal/engine"
)

// Options contains the settings of a Host.
type Options struct {
	Identity           Identity
	Namespace          string
	DriverLabels       map[string]string
	ValidationSelector string
	EarlyValidation    string                         // empty: the engine's default
	UsesDriver         func(corev1.Pod) (bool, error) // nil: pod deletion is off
	RestartOnly        func(running, desired *corev1.PodSpec) (bool, error)
	EvictSkipped       bool // drains also evict the pods with the skip-drain label
	Requestor          *engine.Requestor
	Ledger             *engine.Ledger // nil: policies with a rollout are refused
	GrantsMax          int            // maximum number of grants in the ledger; zero: the engine's default
	ParallelTotal      *int           // maximum number of nodes in progress over all parts; nil: no such limit
	RestartsMax        *int           // maximum number of restarts of a driver container that is not ready; nil: the engine's default
	DeviceDrivers      []string       // DRA drivers whose devices a policy may isolate; empty: no DRA objects are watched
	OwnPod, OwnNode    string
	// Expected time between two calls by the operator. An order ends after three intervals without a call.
	Interval time.Duration
	Clock    clock.Clock
	Log      logr.Logger
	Recorder record.EventRecorder // nil: no Events
	Engine   func(engine.Options) (engine.Engine, error)
	Ended    func(*Host) // called when the host has ended; may be nil
}

// Host manages one driver in one cluster. It consists of an engine, the watches that provide the engine's objects, and
// the operator's orders. Any number of goroutines may call a Host.
type Host struct {
	options    Options
	log        logr.Logger
	connection *Connection
	engine     engine.Engine

	ctx     context.Context // context of the watches, and of all work between calls
	stop    context.CancelFunc
	running sync.WaitGroup
	bell    chan struct{} // signals that something has changed
	ordered chan struct{} // signals that the operator has made a call

	nodes        *mirror[*corev1.Node]
	pods         *mirror[*corev1.Pod]
	sets         *mirror[*appsv1.DaemonSet]
	revisions    *mirror[*appsv1.ControllerRevision]
	maintenances *mirror[*maintenancev1alpha1.NodeMaintenance] // nil without a requestor
	sources      []*health                                     // health of all watches except the watches on the pods of a node

	mu       sync.Mutex
	orders   []*order
	underWay map[*task]bool
	passing  *order // order whose pass is in progress; nil between passes
	outdated error  // reason why no pass is made, because watches have been failing for too long; nil if passes are made
	hold     string // reason why no node starts, regardless of the orders; empty if nodes may start
	sick     string // the operator's reason to halt every rollout; empty: do not halt them
	troubles []trouble
	// Nodes whose state label the engine is removing, until the watch shows the removal.
	unmarking map[string]bool
	calledAt  time.Time
	reading   int // number of read calls in progress: the host does not end on its own during these calls

	filters chan struct{} // one element for each concurrent call of UsesDriver

	lateHolders, podsKept atomic.Int64 // sums over all engine.Outcomes
	progress              atomic.Int64 // time at which a node last entered a state, in milliseconds since 1970

	// These fields are used by the goroutine that runs the rounds.
	followers     map[string]*podFollower // by node
	retryAt       time.Time               // time at which UsesDriver is called again for a pod for which it failed; zero if there is no such pod
	allPods       *podWatch               // nil if each node has its own watch
	allPodsBefore *podWatch               // serves the nodes until allPods has delivered its list; nil otherwise

	zones  map[string]time.Time // end of the offsets that the engine has, by time zone; used by the goroutine that runs the rounds
	events chan engine.Event    // Events for the recorder
	broken sync.Once
}

const eventsMax = 1000 // maximum number of Events that wait for the recorder

// New creates a host, and starts its watches. The watches do not depend on the contexts of calls. They run until the
// host ends, either through Close or on its own three intervals after the last call.
func New(connection *Connection, options Options) (*Host, error) {
	made, err := options.Engine(engineOptions(options))
	if requestor := options.Requestor; err != nil && requestor != nil && !requestor.Enabled {
		// No server accepts a NodeMaintenance of an invalid requestor, so no node can still be in requestor mode.
		invalid := err
		options.Requestor = nil
		if made, err = options.Engine(engineOptions(options)); err == nil {
			options.Log.Info("requestor mode is off, and its options are ignored because they are not valid", "reason", invalid.Error())
		}
	}
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	h := &Host{options: options, log: options.Log.WithValues("driver", options.Identity.Driver), connection: connection,
		ctx: ctx, stop: stop, bell: make(chan struct{}, 1), ordered: make(chan struct{}, 1), underWay: map[*task]bool{}, unmarking: map[string]bool{}, filters: make(chan struct{}, filtersMax),
		calledAt: options.Clock.Now(), followers: map[string]*podFollower{}, zones: map[string]time.Time{}, events: make(chan engine.Event, eventsMax)}
	h.engine = guarded{made, h.end}
	h.progress.Store(h.calledAt.UnixMilli())
	h.watch()
	go h.run()
	if options.Recorder != nil {
		go h.record()
	}
	return h, nil
}

func engineOptions(options Options) engine.Options {
	ledger := options.Ledger
	if ledger != nil {
		limited := *ledger
		limited.GrantsMax = options.GrantsMax
		ledger = &limited
	}
	return engine.Options{
		Identity:              engine.Identity(options.Identity),
		Namespace:             options.Namespace,
		DriverLabels:          labels.SelectorFromSet(options.DriverLabels).String(),
		ValidationSelector:    options.ValidationSelector,
		SpareSkippedPods:      !options.EvictSkipped,
		EarlyValidation:       options.EarlyValidation,
		PodDeletion:           options.UsesDriver != nil,
		RestartOnly:           options.RestartOnly != nil,
		Requestor:             options.Requestor,
		Ledger:                ledger,
		DriverRestartCountMax: options.RestartsMax, ParallelTotal: options.ParallelTotal,
		OwnPod:  options.OwnPod,
		OwnNode: options.OwnNode,
		Devices: options.DeviceDrivers,
	}
}

func (h *Host) watch() {
	core, apps := h.connection.core.CoreV1().RESTClient(), h.connection.core.AppsV1().RESTClient()
	nodes := h.watched(h.source(core, "nodes"))
	nodes.namespace, nodes.labels = "", ""
	stateLabel := h.options.Identity.stateLabel()
	h.nodes = newMirrorOf(h, engine.Nodes, func(node *corev1.Node) object {
		node.Status.Images = nil // most of a node's size, and irrelevant to the upgrade
		return reduceNode(node)
	})
	h.nodes.replaced = func(before, after *corev1.Node) {
		was, is := before.Labels[stateLabel], after.Labels[stateLabel]
		switch {
		case was == is:
		case is == "":
			h.unmarked(after)
		default:
			h.progress.Store(h.options.Clock.Now().UnixMilli())
		}
	}
	nodes.failuresMax, nodes.doubted = 1, h.nodes.doubt
	h.running.Go(func() {
		nodes.follow(h.ctx, h.log, h.nodes, func(err error) {
			h.nodes.fail(err)
			h.ring()
		})
	})
	h.pods = start(h, h.source(core, "pods"), engine.DriverPods, reducePod)
	h.sets = start(h, h.source(apps, "daemonsets"), engine.DaemonSets, reduceDaemonSet)
	revisions := h.source(apps, "controllerrevisions")
	revisions.labels = ""
	h.revisions = start(h, revisions, engine.ControllerRevisions, reduceRevision)
	h.watchDevices()
	if h.options.Requestor == nil {
		return
	}
	h.watchMaintenances()
}

// source returns a source for this resource that is limited to the driver's objects.
func (h *Host) source(client rest.Interface, resource string) source {
	return source{client: client, parameters: h.connection.parameters, namespace: h.options.Namespace, resource: resource,
		labels: labels.SelectorFromSet(h.options.DriverLabels).String(), listTimeout: h.connection.listTimeout, streams: &h.connection.streams, failuresMax: 2,
		health: &health{clock: h.options.Clock, mended: h.ring}}
}

// watched makes passes depend on the health of the source as long as the host runs.
func (h *Host) watched(from source) source {
	h.sources = append(h.sources, from.health)
	return from
}

func start[T kubernetesObject](h *Host, from source, kind engine.Kind, reduce func(T) object) *mirror[T] {
	m := newMirrorOf(h, kind, reduce)
	from = h.watched(from)
	h.running.Go(func() { from.follow(h.ctx, h.log, m, m.fail) })
	return m
}

func newMirrorOf[T kubernetesObject](h *Host, kind engine.Kind, reduce func(T) object) *mirror[T] {
	return newMirror(kind.String(), reduce, func(list []byte) error { return h.engine.Put(kind, list) },
		func(line []byte) error { return h.engine.WatchLine(kind, line) }, h.ring)
}

// ring triggers another round soon.
func (h *Host) ring() { alert(h.bell) }

// alert leaves a single token in the channel, no matter how often it is called.
func alert(channel chan struct{}) {
	select {
	case channel <- struct{}{}:
	default:
	}
}

// end ends the host after a defect in the engine, because the engine can no longer be used. The operator's next call
// creates a new host, which continues from the state on the nodes.
func (h *Host) end(defect error) {
	h.broken.Do(func() { h.log.Error(defect, "the upgrade engine failed; the next call starts a new engine") })
	h.stop()
}

// endRestored ends the host after the cluster was restored from a backup, because most watches wait for a version that
// does not exist yet.
func (h *Host) endRestored() {
	h.broken.Do(func() {
		h.log.Info("the cluster was restored from a backup; the next call reads everything again")
	})
	h.stop()
}

// Close ends the watches and the orders, and cancels requests in progress.
func (h *Host) Close() { h.stop() }

// Closed reports whether the host has ended.
func (h *Host) Closed() bool { return h.ctx.Err() != nil }

// begins marks the start of a call that reads: the host does not end on its own until ends is called.
func (h *Host) begins() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.Closed() {
		return ErrClosed
	}
	h.calledAt = h.options.Clock.Now()
	h.reading++
	return nil
}

func (h *Host) ends() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calledAt = h.options.Clock.Now()
	h.reading--
}

// Explain returns the gate of a node; nil if the node does not wait, or is not known.
func (h *Host) Explain(node string) (*engine.Gate, error) {
	explanation, err := h.engine.Explain(node)
	if explanation.Gate != nil && explanation.Gate.Reason == pausedReason {
		explanation.Gate.Detail = cmp.Or(h.held()[node], explanation.Gate.Detail)
	}
	return explanation.Gate, err
}

// Selection identifies the host: a manager has only one open host per selection.
func (h *Host) Selection() string {
	return SelectionOf(h.options.Identity, h.options.Namespace, h.options.DriverLabels)
}

// SelectionOf returns the Selection of a host with these options.
func SelectionOf(driver Identity, namespace string, driverLabels map[string]string) string {
	return driver.String() + "\n" + namespace + "\n" + labels.SelectorFromSet(driverLabels).String()
}

// Driver returns the identity of the driver, from which the keys on nodes are derived.
func (h *Host) Driver() Identity { return h.options.Identity }

// PodCounts returns two numbers of pods. Late holders were evicted because they were given a device after it had been
// tainted. Kept pods stayed on their node while its driver was replaced.
func (h *Host) PodCounts() (lateHolders, kept int64) { return h.lateHolders.Load(), h.podsKept.Load() }

// States returns the number of nodes by the value of their state label, according to the watches. It counts the nodes
// with a driver pod, the driver's state label, or a cordon of the driver's upgrade.
func (h *Host) States() map[string]int {
	driven := map[string]bool{}
	for _, pod := range h.pods.all() {
		driven[pod.Spec.NodeName] = true
	}
	states, label := map[string]int{}, h.options.Identity.stateLabel()
	for _, node := range h.nodes.all() {
		if state := node.Labels[label]; state != "" || driven[node.Name] || h.isCordoned(node) {
			states[state]++
		}
	}
	return states
}

// isCordoned reports whether the driver's upgrade has cordoned the node. Like the engine, it trusts the annotation that
// names the drivers, and otherwise a cordon together with marks of an upgrade in progress.
func (h *Host) isCordoned(node *corev1.Node) bool {
	driver := h.options.Identity
	return driver.isNamed(node) || node.Spec.Unschedulable && driver.hasStarted(node)
}

// Progress returns the time at which a watch last showed that a node entered a state or, before that, the time at which
// the host was created.
func (h *Host) Progress() time.Time { return time.UnixMilli(h.progress.Load()) }

// OrderFigures describes the orders of a host.
type OrderFigures struct {
	AutoUpgrade, Paused bool           // whether the policy of at least one order has this member
	Findings            map[string]int // number of findings of the last passes, by code
}

// Orders describes the orders of the host.
func (h *Host) Orders() OrderFigures {
	h.mu.Lock()
	defer h.mu.Unlock()
	made, findings := OrderFigures{Findings: map[string]int{}}, map[engine.Finding]bool{}
	for _, o := range h.orders {
		var policy struct{ AutoUpgrade, Paused bool }
		_ = json.Unmarshal(o.policyNow(), &policy) // an order without a policy releases its nodes
		made.AutoUpgrade = made.AutoUpgrade || policy.AutoUpgrade
		made.Paused = made.Paused || policy.Paused
		for finding := range o.findings {
			if !findings[finding] {
				findings[finding] = true
				made.Findings[finding.Code]++
			}
		}
	}
	return made
}

// Everything returns the results of the last passes.
func (h *Host) Everything() (engine.Pass, error) { return h.engine.Everything() }

// Rollout returns the document that docs/rollout.schema.json describes.
func (h *Host) Rollout(facts engine.RolloutFacts) (json.RawMessage, error) {
	h.mu.Lock()
	if h.outdated != nil && facts.LastError == "" {
		facts.LastError = h.outdated.Error()
	}
	h.mu.Unlock()
	text, err := h.engine.Rollout(facts, h.options.Clock.Now())
	if held := h.held(); err == nil && len(held) > 0 {
		return explainHeld(text, held)
	}
	return text, err
}
