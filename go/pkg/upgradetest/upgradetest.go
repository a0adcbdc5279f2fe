// Package upgradetest provides a fake cluster for tests of operators that use package upgrade. An HTTP server in the
// test's process serves the requests of a Manager, and also acts as the DaemonSet controller: it replaces driver pods
// that are deleted.
//
//	cluster := upgradetest.New(t, "node-1", "node-2")
//	manager, err := upgrade.NewManager(log, cluster.Config(), nil, upgrade.StateOptions{}, upgrade.WithClock(clock))
//
// The server serves only the requests of a Manager, except for its secure page. It checks no permissions and no
// schemas, has no admission and no disruption budgets, and drops Events. For the operator's own requests, use
// controller-runtime's fake client; for tests that need more of an API server, use its package envtest.
package upgradetest

import (
	"context"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"driverupgrade.example/go/internal/fakecluster"
)

// Namespace contains the driver's DaemonSet and pods.
const Namespace = fakecluster.Namespace

// DriverLabels returns the labels of the driver's DaemonSet and pods.
func DriverLabels() map[string]string { return map[string]string{"app": "driver"} }

// Cluster is a fake cluster with one driver. Any number of goroutines may use it. Methods panic if there is no node with
// the given name.
type Cluster struct{ fake *fakecluster.Cluster }

// New creates a cluster with these nodes, each with a driver pod that is ready. The cluster is closed at the end of the
// test. Create it before the Manager, and close the Manager in a cleanup function of the test.
func New(t testing.TB, nodes ...string) *Cluster {
	c := &Cluster{fakecluster.New()}
	t.Cleanup(c.fake.Close)
	for _, node := range nodes {
		c.AddNode(node)
	}
	return c
}

// Config returns a client configuration for this cluster, without a rate limit.
func (c *Cluster) Config() *rest.Config { return c.fake.Config() }

// AddNode adds a node with a driver pod of the newest revision.
func (c *Cluster) AddNode(name string) { c.fake.AddNode(name) }

// AddPod adds a running pod of a ReplicaSet to the node. It is not replaced when it is evicted. Its namespace is `work`.
func (c *Cluster) AddPod(name, node string, labels map[string]string) {
	c.fake.AddWorkload(name, node)
	for key, value := range labels {
		c.fake.LabelWorkload(name, key, value)
	}
}

// HasPod reports whether a pod that AddPod has added still exists.
func (c *Cluster) HasPod(name string) bool { return c.fake.HasWorkload(name) }

// NewDriver changes the template of the driver's DaemonSet. The upgrade of the nodes can then begin.
func (c *Cluster) NewDriver() { c.fake.NewDriver() }

// Revision returns the revision of the node's driver pod: hash-1 for the first template, hash-2 after NewDriver, and so
// on. It returns an empty text while the node has no driver pod.
func (c *Cluster) Revision(node string) string { return c.fake.Revision(node) }

// StartUnready makes later driver pods start without becoming ready. SetReady makes the pod on a node ready.
func (c *Cluster) StartUnready() { c.fake.StartUnready() }

// SetReady makes the driver pod on the node ready.
func (c *Cluster) SetReady(node string) { c.fake.SetReady(node) }

// FailDriver makes the driver pod on the node restart again and again, so that the upgrade of the node fails.
func (c *Cluster) FailDriver(node string) { c.fake.FailDriver(node) }

// Cordon makes the node unschedulable, as an administrator does.
func (c *Cluster) Cordon(node string) { c.fake.Cordon(node) }

// IsCordoned reports whether the node is unschedulable.
func (c *Cluster) IsCordoned(node string) bool { return c.fake.Cordoned(node) }

// Label returns a label of the node. The key of the state label is upgrade.Keys.StateLabel.
func (c *Cluster) Label(node, key string) string { return c.fake.Label(node, key) }

// SetLabel sets a label of the node.
func (c *Cluster) SetLabel(node, key, value string) { c.fake.SetLabel(node, key, value) }

// SetFault sets a function that is called before the server carries out a write. If it returns false, the server
// refuses the write with the status 503. A nil function ends the faults.
func (c *Cluster) SetFault(carriesOut func(verb, path string) bool) { c.fake.SetBefore(carriesOut) }

// Writes returns the number of writes that the server has received, evictions included.
func (c *Cluster) Writes() int { return c.fake.Writes() }

// Await waits until the condition holds, and checks it after every change in the cluster. It returns the error of ctx
// if ctx is done first. Because watches deliver a change a moment later, it also checks the condition repeatedly.
func (c *Cluster) Await(ctx context.Context, holds func() bool) error {
	for {
		changed := c.fake.Changed()
		if holds() {
			return nil
		}
		select {
		case <-changed:
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
