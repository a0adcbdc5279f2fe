package host

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"

	"driverupgrade.example/go/internal/engine"
)

// podFollower lists and watches all pods on one node while the engine needs them.
type podFollower struct {
	host   *Host
	node   string
	owner  string // owner of the part that needs the pods
	end    context.CancelFunc
	health *health
	// Time after which the pods are no longer needed, unless an order still needs them. Used by the goroutine that runs the
	// rounds.
	until time.Time

	mu      sync.Mutex
	pods    map[string]*corev1.Pod
	version string
	listed  bool
	stale   bool // the known pods are older than the node's cordon
	stopped bool // the engine already has pods from a newer list, or no longer needs the node's pods
}

func (h *Host) followPods(node, owner string, until time.Time) *podFollower {
	ctx, end := context.WithCancel(h.ctx)
	pods := h.source(h.connection.core.CoreV1().RESTClient(), "pods")
	f := &podFollower{host: h, node: node, owner: owner, end: end, health: pods.health, until: until, pods: map[string]*corev1.Pod{}}
	pods.namespace, pods.labels = "", ""
	pods.fields = fields.OneTermEqualSelector("spec.nodeName", node)
	h.running.Go(func() { pods.follow(ctx, h.log, f, f.fail) })
	return f
}

// stop ends the watch. After stop returns, no further pods are passed to the engine.
func (f *podFollower) stop() {
	f.end()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopped = true
}

func (f *podFollower) Replace(objects []any, version string) error {
	f.mu.Lock()
	f.pods = map[string]*corev1.Pod{}
	for _, one := range objects {
		if pod, ok := one.(*corev1.Pod); ok {
			f.pods[keyOf(pod)] = pod
		}
	}
	f.version, f.listed = version, true
	f.mu.Unlock()
	return f.put()
}

func (f *podFollower) change(one any, gone bool) error {
	pod, ok := one.(*corev1.Pod)
	if !ok {
		return nil
	}
	f.mu.Lock()
	if gone {
		delete(f.pods, keyOf(pod))
	} else {
		f.pods[keyOf(pod)] = pod
	}
	f.version = pod.ResourceVersion
	f.mu.Unlock()
	return f.put()
}

func (f *podFollower) Add(one any) error    { return f.change(one, false) }
func (f *podFollower) Update(one any) error { return f.change(one, false) }
func (f *podFollower) Delete(one any) error { return f.change(one, true) }
func (f *podFollower) Resync() error        { return nil }

// Bookmark is called when the watch has shown all changes to the node's pods up to this version.
func (f *podFollower) Bookmark(version string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.version = version
	return nil
}

// put passes the known pods to the engine in their reduced form, with the UIDs of the pods that use the driver.
func (f *podFollower) put() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped {
		return nil
	}
	var items [][]byte
	uses := engine.UsesDriver{UIDs: []string{}, Errors: []engine.PodError{}}
	for _, pod := range f.pods {
		items = append(items, withVersion(marshal(reducePod(pod)), pod.ResourceVersion))
		if f.host.options.UsesDriver != nil && f.host.options.UsesDriver(*pod.DeepCopy()) {
			uses.UIDs = append(uses.UIDs, string(pod.UID))
		}
	}
	taken, err := f.host.engine.PutPods(f.node, list("Pod", items, f.version), uses)
	f.stale = !taken
	f.host.ring()
	return err
}

func (f *podFollower) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped {
		return
	}
	f.host.log.Error(err, "failed to list the pods of a node", "node", f.node)
	if _, err := f.host.engine.PutPods(f.node, nil, engine.UsesDriver{}); err != nil {
		f.host.log.Error(err, "the engine rejected the notice that the pods of a node are unknown", "node", f.node)
	}
	f.host.ring()
}

// outdated passes the known pods to the engine again, because the engine may have received them before the node was
// cordoned. It reports whether the pods must be listed again, because the known pods are older than the cordon.
func (f *podFollower) outdated() bool {
	f.mu.Lock()
	listed := f.listed
	f.mu.Unlock()
	if !listed {
		return false // a list is in progress
	}
	_ = f.put()
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stale
}

// follow starts and stops pod watches to match the nodes whose pods the engine needs. owner and until belong to the
// order of the pass.
func (h *Host) follow(pass engine.Pass, owner string, until time.Time) {
	interest := map[string]bool{}
	for _, node := range pass.PodInterest {
		interest[node] = true
		if h.followers[node] == nil {
			h.followers[node] = h.followPods(node, owner, until)
		}
	}
	for node, follower := range h.followers {
		if !interest[node] {
			follower.stop()
			delete(h.followers, node)
		}
	}
	for _, node := range pass.WantedPods {
		if follower := h.followers[node]; follower != nil && follower.outdated() {
			follower.stop()
			h.followers[node] = h.followPods(node, follower.owner, follower.until)
		}
	}
}
