package upgrade

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"github.com/NVIDIA/k8s-operator-libs/api/upgrade/v1alpha1"

	"driverupgrade.example/go/internal/engine"
	"driverupgrade.example/go/internal/host"
)

// PodDeletionFilter reports whether a pod uses the driver, and must therefore leave the node before the driver is
// replaced.
type PodDeletionFilter func(corev1.Pod) bool

// RestartOnlyPredicate reports whether two revisions load the same driver. If so, it is enough to restart the driver
// pod, and workloads stay on the node. The argument running is the pod template from which the driver pod was created,
// and desired is the newest template. Both are copies that the predicate may change. If the predicate returns an error,
// the node waits. A Manager never calls the predicate concurrently.
type RestartOnlyPredicate func(running, desired *corev1.PodSpec) (bool, error)

// CommonUpgradeStateManager counts the nodes of a ClusterUpgradeState, and reports which optional steps are enabled.
type CommonUpgradeStateManager interface {
	GetTotalManagedNodes(currentState *ClusterUpgradeState) int
	GetUpgradesInProgress(currentState *ClusterUpgradeState) int
	GetUpgradesDone(currentState *ClusterUpgradeState) int
	GetUpgradesAvailable(currentState *ClusterUpgradeState, maxParallelUpgrades int, maxUnavailable int) int
	GetUpgradesFailed(currentState *ClusterUpgradeState) int
	GetUpgradesPending(currentState *ClusterUpgradeState) int
	IsPodDeletionEnabled() bool
	IsValidationEnabled() bool
}

// ClusterUpgradeStateManager rolls out a driver. The With... methods must be called before the first BuildState.
type ClusterUpgradeStateManager interface {
	CommonUpgradeStateManager
	WithPodDeletionEnabled(filter PodDeletionFilter) ClusterUpgradeStateManager
	WithValidationEnabled(podSelector string) ClusterUpgradeStateManager
	WithRestartOnlyPredicate(predicate RestartOnlyPredicate) ClusterUpgradeStateManager
	BuildState(ctx context.Context, namespace string, driverLabels map[string]string) (*ClusterUpgradeState, error)
	ApplyState(ctx context.Context, currentState *ClusterUpgradeState,
		upgradePolicy *v1alpha1.DriverUpgradePolicySpec) (err error)
}

const interval = 2 * time.Minute // interval at which existing operators call ApplyState

// Option configures a Manager in a way that the old interface does not offer.
type Option func(*Manager)

// WithInterval sets the interval at which the operator calls ApplyState (default: two minutes, also for zero and
// negative values). After three intervals without a call, the Manager abandons the remaining work and ends its watches.
func WithInterval(interval time.Duration) Option {
	return func(m *Manager) {
		if interval > 0 {
			m.options.Interval = interval
		}
	}
}

// WithDomain sets the domain of all keys, such as example.com (default: nvidia.com). NVIDIA's operators remove their
// own state labels from every node while their upgrades are switched off, but do not touch labels in other domains.
// BuildState fails if the domain is not a DNS name.
func WithDomain(domain string) Option { return func(m *Manager) { m.keys.Domain = domain } }

// WithDriverName sets the driver's name (default: DriverName, which all Managers of a process share).
func WithDriverName(driver string) Option { return func(m *Manager) { m.keys.Driver = driver } }

// Keys returns the keys of the Manager's driver.
func (m *Manager) Keys() Keys {
	return Keys{Domain: m.keys.Domain, Driver: cmp.Or(m.keys.Driver, DriverName)}
}

// EarlyValidation defines how to treat validation pods that became ready before the new driver pod, and therefore
// tested the old driver.
type EarlyValidation string

const (
	EarlyValidationRestart EarlyValidation = "Restart" // default: delete them, so that their controller replaces them
	EarlyValidationAsk     EarlyValidation = "Ask"     // keep the node waiting, and log a request to restart them
	EarlyValidationCount   EarlyValidation = "Count"   // accept them, as the Go library does
)

// WithEarlyValidation sets the treatment of validation pods that became ready too early. BuildState fails if the
// treatment is not one of the constants above.
func WithEarlyValidation(treatment EarlyValidation) Option {
	return func(m *Manager) { m.options.EarlyValidation = string(treatment) }
}

// WithDriverRestartCountMax sets how often a container of a driver pod may restart until it is ready (default: 10, as in
// the Go library). After another restart, the driver pod has failed. BuildState fails if the number is negative.
func WithDriverRestartCountMax(restarts int) Option {
	return func(m *Manager) { m.options.RestartsMax = &restarts }
}

// WithParallelTotal limits the number of nodes in progress at the same time over all parts of a ClusterUpgradeState
// (PartOf), in addition to the limits of each part's policy. BuildState fails if the number is less than 1. If the
// operator calls BuildState with several selections of driver pods, each selection has a limit of its own.
func WithParallelTotal(nodes int) Option {
	return func(m *Manager) { m.options.ParallelTotal = &nodes }
}

// WithSkippedPodsEvicted lets drains evict pods with the skip-drain label, such as
// nvidia.com/gpu-driver-upgrade-drain.skip=true. The Go library evicts them, too, unless the operator adds
// Keys.SkipDrainPodSelector to the policy's drain. Without this option, no drain evicts such pods, as in whatif.Request
// without EvictSkipped.
func WithSkippedPodsEvicted() Option {
	return func(m *Manager) { m.options.EvictSkipped = true }
}

// WithDeviceDrivers names the DRA drivers whose devices a policy may isolate instead of nodes (isolation.scope).
// Without this option, the Manager does not read objects of Dynamic Resource Allocation, and no node qualifies for such
// a policy. The operator needs the permissions of deploy/rbac/devices.
func WithDeviceDrivers(names ...string) Option {
	return func(m *Manager) { m.options.DeviceDrivers = names }
}

// WithClock replaces the clock in tests.
func WithClock(clock clock.Clock) Option { return func(m *Manager) { m.options.Clock = clock } }

// WithElected makes the Collector report whether this replica leads. The channel must be closed when this replica
// becomes the leader, like the channel that the Elected method of controller-runtime's manager returns. Without this
// option, the Collector reports that this replica leads.
func WithElected(elected <-chan struct{}) Option {
	return func(m *Manager) { m.elected = elected }
}

// WithOwnPod names the operator's pod and its node: the pod is never evicted, and the node is upgraded last.
func WithOwnPod(namespace, pod, node string) Option {
	return func(m *Manager) {
		m.options.OwnNode = node
		if pod != "" {
			m.options.OwnPod = namespace + "/" + pod
		}
	}
}

// Manager implements ClusterUpgradeStateManager and extends the old interface. It is safe for concurrent use.
type Manager struct {
	Counters
	log        logr.Logger
	keys       Keys // if Driver is empty, DriverName is used
	connection *host.Connection
	options    host.Options    // options that all drivers share
	elected    <-chan struct{} // nil: this replica leads

	mu          sync.Mutex
	podDeletion PodDeletionFilter
	extra       map[string]json.RawMessage // fields merged into every policy
	held        string                     // reason set by Pause; empty if nodes may start
	sick        string                     // reason set by ReportSick; empty: the rollouts are not halted
	hosts       map[string]*host.Host      // by driver, namespace and labels
	closings    int                        // number of times that all hosts were closed
	retired     bool                       // Close was called, and no BuildState has followed
	valid       map[string]bool            // policies that were found valid
	// Nodes of each selection for which BuildState was called, by driver: the nodes with a driver pod, and the podless
	// nodes whose last driver pod belonged to this selection.
	owned map[host.Identity]map[string]map[string]bool
}

var _ ClusterUpgradeStateManager = (*Manager)(nil)

// NewClusterUpgradeStateManager creates a *Manager. Its method Close ends the Manager's goroutines. No request is sent
// before the first BuildState.
func NewClusterUpgradeStateManager(log logr.Logger, k8sConfig *rest.Config, eventRecorder record.EventRecorder,
	opts StateOptions) (ClusterUpgradeStateManager, error) {
	manager, err := NewManager(log, k8sConfig, eventRecorder, opts)
	if err != nil {
		return nil, err
	}
	return manager, nil
}

// NewManager is NewClusterUpgradeStateManager with options.
func NewManager(log logr.Logger, k8sConfig *rest.Config, eventRecorder record.EventRecorder, opts StateOptions,
	options ...Option) (*Manager, error) {
	connection, err := host.Connect(k8sConfig, Scheme)
	if err != nil {
		return nil, fmt.Errorf("create the clients of the upgrade manager: %w", err)
	}
	m := &Manager{log: log, keys: Keys{Domain: defaultDomain}, connection: connection, hosts: map[string]*host.Host{}, valid: map[string]bool{},
		owned: map[host.Identity]map[string]map[string]bool{}, options: host.Options{
			Requestor: requestorOf(opts.Requestor), Interval: interval, Clock: clock.RealClock{}, Log: log, Recorder: eventRecorder,
			Engine: engine.New}}
	for _, option := range options {
		option(m)
	}
	return m, nil
}

// requestorOf returns nil if the operator has never used requestor mode. If requestor mode is off but the options name a
// requestor, nodes that this requestor has already claimed still finish in requestor mode.
func requestorOf(opts RequestorOptions) *engine.Requestor {
	if !opts.UseMaintenanceOperator && opts.MaintenanceOPRequestorID == "" {
		return nil
	}
	requestor := &engine.Requestor{Enabled: opts.UseMaintenanceOperator, ID: opts.MaintenanceOPRequestorID,
		Namespace: opts.MaintenanceOPRequestorNS, NamePrefix: cmp.Or(opts.NodeMaintenanceNamePrefix, DefaultNodeMaintenanceNamePrefix)}
	for _, filter := range opts.MaintenanceOPPodEvictionFilter {
		if filter.ByResourceNameRegex != nil {
			requestor.ResourceNameFilters = append(requestor.ResourceNameFilters, *filter.ByResourceNameRegex)
		}
	}
	return requestor
}

// change alters the settings of future hosts, and closes the existing hosts because they use the old settings.
func (m *Manager) change(alter func()) ClusterUpgradeStateManager {
	m.mu.Lock()
	defer m.mu.Unlock()
	alter()
	m.closeAll()
	return m
}

// WithPodDeletionEnabled adds a step before the drain of a node, in which the Manager evicts the pods that use the
// driver. The filter receives its own copies of pods. Several goroutines call it, once for each version of a pod. If it
// can fail, use WithPodDeletionCheck.
func (m *Manager) WithPodDeletionEnabled(filter PodDeletionFilter) ClusterUpgradeStateManager {
	if filter == nil {
		m.log.Info("pod deletion stays off, because there is no filter")
		return m
	}
	return m.change(func() { m.podDeletion, m.options.UsesDriver = filter, filter.check })
}

// WithValidationEnabled keeps a node in progress until the pods with this selector are ready on the node.
func (m *Manager) WithValidationEnabled(podSelector string) ClusterUpgradeStateManager {
	if podSelector == "" {
		m.log.Info("validation stays off, because there is no selector")
		return m
	}
	return m.change(func() { m.options.ValidationSelector = podSelector })
}

// WithRestartOnlyPredicate allows upgrades that restart the driver without evacuating the node. A nil predicate
// disables such upgrades.
func (m *Manager) WithRestartOnlyPredicate(predicate RestartOnlyPredicate) ClusterUpgradeStateManager {
	return m.change(func() { m.options.RestartOnly = oneAtATime(predicate) })
}

// oneAtATime serializes the calls that BuildState and the passes of all drivers make to the predicate, because the
// predicate may keep state between calls.
func oneAtATime(predicate RestartOnlyPredicate) RestartOnlyPredicate {
	if predicate == nil {
		return nil
	}
	var mu sync.Mutex
	return func(running, desired *corev1.PodSpec) (bool, error) {
		mu.Lock()
		defer mu.Unlock()
		return predicate(running, desired)
	}
}

// IsPodDeletionEnabled reports whether WithPodDeletionEnabled was called with a filter.
func (m *Manager) IsPodDeletionEnabled() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.podDeletion != nil
}

// IsValidationEnabled reports whether WithValidationEnabled was called with a selector.
func (m *Manager) IsValidationEnabled() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.options.ValidationSelector != ""
}

// SetExtraPolicy sets policy fields that DriverUpgradePolicySpec does not have, or overrides fields that it has. The
// document is a JSON object with fields that docs/policy.md describes. Its sections are merged field by field with the
// sections of the policy, so `{"drain":{"onTimeout":"Delete"}}` changes no other field of the drain. Lists are replaced
// as a whole. These fields apply to every later ApplyState. A nil document removes all of them.
func (m *Manager) SetExtraPolicy(document []byte) error {
	var extra map[string]json.RawMessage
	if len(document) > 0 {
		if err := json.Unmarshal(document, &extra); err != nil {
			return fmt.Errorf("the extra policy: %w", err)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.extra = extra
	return nil
}

// hostOf returns the host for the Manager's driver, or for the current DriverName if the Manager has no driver name.
// The result closings is the value of m.closings, read under the same lock.
func (m *Manager) hostOf(namespace string, driverLabels map[string]string) (of *host.Host, closings int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	driver := host.Identity{Domain: m.keys.Domain, Driver: cmp.Or(m.keys.Driver, DriverName)}
	key := host.SelectionOf(driver, namespace, driverLabels)
	if known := m.hosts[key]; known != nil && !known.Closed() {
		return known, m.closings, nil
	}
	options := m.options
	options.Identity, options.Namespace, options.DriverLabels = driver, namespace, maps.Clone(driverLabels)
	options.Ended = m.forget
	made, err := host.New(m.connection, options)
	if err != nil {
		return nil, 0, fmt.Errorf("start the engine for driver %q in namespace %q: %w", driver, namespace, err)
	}
	made.Hold(m.held)
	made.ReportSick(m.sick)
	m.hosts[key], m.retired = made, false
	return made, m.closings, nil
}

// forget removes a host that has ended, so that its copy of all nodes is freed.
func (m *Manager) forget(ended *host.Host) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.hosts, func(_ string, one *host.Host) bool { return one == ended })
}

// BuildState returns the driver's nodes as the watches show them. The first call waits for the initial lists; later
// calls send no requests. Each call waits up to five seconds for the watches to show the Manager's own writes. The
// state omits nodes that currently have no driver pod.
func (m *Manager) BuildState(ctx context.Context, namespace string,
	driverLabels map[string]string) (*ClusterUpgradeState, error) {
	from, members, podless, err := m.read(ctx, namespace, driverLabels)
	if err != nil {
		return nil, fmt.Errorf("the upgrade state of driver pods in namespace %q: %w", namespace, err)
	}
	m.own(from, members, podless)
	state := NewClusterUpgradeState()
	state.podless = podless
	read := &reading{host: from}
	if len(members) == 0 {
		state.read = read
	}
	for _, node := range podless {
		read.podless = append(read.podless, node.Name)
	}
	for _, member := range members {
		node := &NodeUpgradeState{Node: member.Node, DriverPod: member.Pod, DriverDaemonSet: member.DaemonSet, read: read}
		if member.Maintenance != nil {
			node.NodeMaintenance = member.Maintenance
		}
		state.NodeStates[member.State] = append(state.NodeStates[member.State], node)
	}
	return &state, nil
}

// read reads the driver's nodes from a host. If the host ends in the meantime because it has received no calls for too
// long, read retries once with a new host.
func (m *Manager) read(ctx context.Context, namespace string, driverLabels map[string]string) (from *host.Host, members []host.Member,
	podless []host.Podless, err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, nil, err // without creating a host, which would keep running
	}
	for again := true; ; again = false {
		one, closings, err := m.hostOf(namespace, driverLabels)
		if err != nil {
			return nil, nil, nil, err
		}
		members, podless, err := one.Members(ctx)
		if !again || !errors.Is(err, host.ErrClosed) || m.closed() != closings {
			return one, members, podless, err
		}
	}
}

// own records which nodes belong to the selection of a host. A node belongs to the selection that had the node's last
// driver pod.
func (m *Manager) own(of *host.Host, members []host.Member, podless []host.Podless) {
	m.mu.Lock()
	defer m.mu.Unlock()
	selections := m.owned[of.Driver()]
	if selections == nil {
		selections = map[string]map[string]bool{}
		m.owned[of.Driver()] = selections
	}
	owned := map[string]bool{}
	for _, node := range podless {
		if selections[of.Selection()][node.Name] {
			owned[node.Name] = true
		}
	}
	for _, member := range members {
		for _, others := range selections {
			delete(others, member.Node.Name)
		}
		owned[member.Node.Name] = true
	}
	selections[of.Selection()] = owned
}

// ownedOf returns the podless nodes that belong to the selection of a host. All selections of a driver share one state
// label, so the label does not show to which selection a podless node belongs.
func (m *Manager) ownedOf(of *host.Host, podless []string) (owned []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	selections := m.owned[of.Driver()]
	for _, node := range podless {
		if len(selections) == 1 || selections[of.Selection()][node] {
			owned = append(owned, node)
		}
	}
	return owned
}

// part contains the nodes of a state that belong to one host and one owner.
type part struct {
	host *host.Host
	host.Part
}

// partsOf splits a state by host and owner, because the operator may have combined several states. Nodes that
// BuildState has not read are returned separately.
func partsOf(state *ClusterUpgradeState) (parts []*part, foreign []string, err error) {
	if state == nil {
		return nil, nil, errors.New("currentState should not be empty")
	}
	type key struct {
		host  *host.Host
		owner string
	}
	of, seen := map[key]*part{}, map[*reading]bool{}
	partFor := func(read *reading) *part {
		mine := key{read.host, read.owner}
		if of[mine] == nil {
			of[mine] = &part{host: read.host, Part: host.Part{Owner: read.owner}}
		}
		if !seen[read] {
			seen[read] = true
			of[mine].add(read)
		}
		return of[mine]
	}
	for _, nodes := range state.NodeStates {
		for _, node := range nodes {
			switch {
			case node == nil || node.Node == nil:
			case node.read == nil:
				foreign = append(foreign, node.Node.Name)
			default:
				mine := partFor(node.read)
				mine.Nodes = append(mine.Nodes, node.Node.Name)
			}
		}
	}
	if state.read != nil && !seen[state.read] {
		partFor(state.read) // no node has a driver pod at the moment
	}
	parts = slices.SortedFunc(maps.Values(of), func(a, b *part) int {
		return cmp.Or(cmp.Compare(a.host.Selection(), b.host.Selection()), cmp.Compare(a.Owner, b.Owner))
	})
	return parts, foreign, nil
}

// add adds the nodes of a reading that have no driver pod. In a part with an owner, these nodes are added to Nodes,
// because PartOf has already selected the owner's nodes.
func (p *part) add(read *reading) {
	if p.Owner != "" {
		p.Nodes = append(p.Nodes, read.podless...)
		return
	}
	p.Podless = append(p.Podless, read.podless...)
}

func checkOurs(foreign []string) error {
	if len(foreign) == 0 {
		return nil
	}
	return fmt.Errorf("node %s does not come from this module's BuildState", slices.Min(foreign))
}

// ApplyState makes one pass over the nodes of currentState, and returns once the pass's requests have received
// responses. Afterwards, the Manager keeps applying this policy to these nodes on its own, unless AutoUpgrade is off.
// The Manager stops when ctx is done, when a later call of ApplyState includes one of these nodes, or after three
// intervals without a call. If the driver is replaced again in the meantime, the Manager also rolls out the newer
// driver.
func (m *Manager) ApplyState(ctx context.Context, currentState *ClusterUpgradeState,
	upgradePolicy *v1alpha1.DriverUpgradePolicySpec) (err error) {
	m.mu.Lock()
	extra := m.extra
	m.mu.Unlock()
	members, err := policyMembers(upgradePolicy, extra)
	if err != nil {
		return err
	}
	return m.apply(ctx, currentState, members)
}

// Release restores the nodes of currentState to their state before the upgrade, for an operator that is being removed.
// Each call makes one pass, and returns once the pass's requests have received responses. The operator must call
// Release repeatedly until no node has a state. To release only some of the driver's nodes, select them with PartOf.
//
// Release also restores the nodes that BuildState left out because they have no driver pod. There is one exception: if
// BuildState was called with several namespaces or labels for one driver, the Manager restores such a node only if a
// BuildState with the namespace and labels of currentState has found a driver pod on the node before. The Manager keeps
// this record in memory, so call BuildState for all selections before the first Release. To release the remaining
// nodes, select them with PartOf.
func (m *Manager) Release(ctx context.Context, currentState *ClusterUpgradeState) error {
	parts, foreign, err := partsOf(currentState)
	if err := cmp.Or(err, checkOurs(foreign)); err != nil {
		return err
	}
	var failures []error
	for _, of := range parts {
		failures = append(failures, of.host.Release(ctx, slices.Concat(of.Nodes, m.ownedOf(of.host, of.Podless))))
	}
	return errors.Join(failures...)
}

// Close ends the watches, the remaining work of ApplyState, and all goroutines, but does not wait for the goroutines to
// end. The next BuildState starts new ones. Until then, the Collector reports nothing.
func (m *Manager) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closeAll()
	m.retired = true
}

func (m *Manager) closeAll() {
	for _, one := range m.hosts {
		one.Close()
	}
	clear(m.hosts)
	m.closings++
}

func (m *Manager) isRetired() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.retired
}

func (m *Manager) closed() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.closings
}
