package host

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"driverupgrade.example/go/internal/engine"
)

// podFollower passes all pods on one node to the engine while the engine needs them.
//
// The pods come from a watch on the node's pods, from the watch on all pods, or from both while one of them replaces the
// other. Each watch delivers a list, and then all later changes in order. The follower therefore ignores lists and
// changes that are not newer than its version: they are already included.
type podFollower struct {
	host *Host
	node string

	// These fields are used by the goroutine that runs the rounds.
	owner string    // owner of the part that needs the pods
	own   *podWatch // watch on the node's pods; nil if the node has no watch of its own
	until time.Time // time after which the pods are no longer needed, unless an order still needs them

	mu      sync.Mutex
	pods    map[string]*knownPod
	version string // the pods include all changes up to this version
	listed  bool
	early   []podChange // changes that arrived before the first list
	stale   bool        // the engine did not take the known pods, because they are older than the node's cordon
	stopped bool        // the engine no longer needs the node's pods
	// The filter runs in a goroutine of its own, and without the lock, because it may send requests.
	judging  bool      // this goroutine is running; it passes the pods to the engine
	failures int       // number of times in a row that the filter failed for a pod
	retryAt  time.Time // time at which the filter is called again for these pods; zero if there are no such pods
}

// knownPod is the reduced form of a pod, with the filter's answer for this version of the pod.
type knownPod struct {
	uid     types.UID
	version string
	text    []byte
	pod     *corev1.Pod // the argument of the filter; nil once it is not needed any longer
	judged  bool        // the filter has returned, or there is no filter
	uses    bool
	err     error // error of the filter; nil if it succeeded
}

type podChange struct {
	pod  *corev1.Pod
	gone bool
}

// isNewer compares resource versions. It returns true if they cannot be compared.
func isNewer(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err != nil || order > 0
}

// stop keeps further pods from being passed to the engine.
func (f *podFollower) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopped = true
}

// replace takes a list of the node's pods.
func (f *podFollower) replace(pods []*corev1.Pod, version string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	changed := false
	if !f.listed || isNewer(version, f.version) {
		before := f.pods
		f.pods = make(map[string]*knownPod, len(pods))
		for _, pod := range pods {
			key := keyOf(pod)
			was, known := before[key]
			if known && was.uid == pod.UID && was.version == pod.ResourceVersion {
				f.pods[key] = was
			} else {
				f.pods[key], changed = f.know(pod), true
			}
		}
		changed = changed || !f.listed || len(before) != len(f.pods)
		f.version, f.listed = version, true
		for _, one := range f.early {
			f.take(one)
		}
		f.early = nil
	}
	if changed || f.stale {
		f.deliver()
	}
}

// change takes a change to one of the node's pods.
func (f *podFollower) change(one podChange) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.listed {
		f.early = append(f.early, one)
	} else if f.take(one) {
		f.deliver()
	}
}

// take reports whether the change is new. The caller holds the lock.
func (f *podFollower) take(one podChange) bool {
	if !isNewer(one.pod.ResourceVersion, f.version) {
		return false
	}
	if one.gone {
		delete(f.pods, keyOf(one.pod))
	} else {
		f.pods[keyOf(one.pod)] = f.know(one.pod)
	}
	f.version = one.pod.ResourceVersion
	return true
}

func (f *podFollower) know(pod *corev1.Pod) *knownPod {
	known := &knownPod{uid: pod.UID, version: pod.ResourceVersion, text: withVersion(marshal(reducePod(pod)), pod.ResourceVersion), judged: true}
	if f.host.options.UsesDriver != nil {
		known.pod, known.judged = pod, false
	}
	return known
}

// advance is called if a watch has shown all changes to the node's pods up to this version.
func (f *podFollower) advance(version string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.listed && isNewer(version, f.version) {
		f.version = version
	}
}

// deliver passes the known pods to the engine, or starts to call the filter if it has not returned for all of them. The
// caller holds the lock.
func (f *podFollower) deliver() {
	if f.stopped || f.judging {
		return
	}
	if len(f.unjudged()) > 0 {
		f.judging = true
		f.host.running.Go(f.judge)
		return
	}
	f.put()
	f.host.ring()
}

// unjudged returns the pods for which the filter must be called. The caller holds the lock.
func (f *podFollower) unjudged() (pods []*knownPod) {
	for _, one := range f.pods {
		if !one.judged {
			pods = append(pods, one)
		}
	}
	return pods
}

// judge calls the filter once for each version of a pod, and then passes the pods to the engine.
func (f *podFollower) judge() {
	defer f.host.ring()
	f.mu.Lock()
	defer f.mu.Unlock()
	for pods := f.unjudged(); len(pods) > 0 && !f.stopped; pods = f.unjudged() {
		f.mu.Unlock()
		answers := make([]knownPod, len(pods))
		for i, one := range pods {
			answers[i].uses, answers[i].err = f.host.usesDriver(one.pod)
		}
		f.mu.Lock()
		for i, one := range pods {
			if one.judged, one.uses, one.err = true, answers[i].uses, answers[i].err; one.err == nil {
				one.pod = nil
			}
		}
	}
	f.judging = false
	f.planRetry()
	f.put()
}

const (
	filtersMax     = 16 // concurrent calls of the filter
	filterRetryMin = 5 * time.Second
	filterRetryMax = time.Minute
)

// usesDriver calls the filter, unless the host has ended.
func (h *Host) usesDriver(pod *corev1.Pod) (bool, error) {
	select {
	case h.filters <- struct{}{}:
		defer func() { <-h.filters }()
	case <-h.ctx.Done():
	}
	if err := h.ctx.Err(); err != nil {
		return false, err
	}
	return h.options.UsesDriver(*pod.DeepCopy())
}

// planRetry sets the time at which the filter is called again for the pods for which it failed. A retry that is already
// planned keeps its time, because other pods of the node may change more often. The caller holds the lock.
func (f *podFollower) planRetry() {
	failed := false
	for _, one := range f.pods {
		failed = failed || one.err != nil
	}
	switch {
	case !failed:
		f.retryAt, f.failures = time.Time{}, 0
	case f.retryAt.IsZero():
		f.retryAt = f.host.options.Clock.Now().Add(min(filterRetryMin<<min(f.failures, 10), filterRetryMax))
		f.failures++
	}
}

// retry calls the filter again for pods for which it failed if the time has come. It returns the time of the next retry,
// or zero.
func (f *podFollower) retry(now time.Time) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.retryAt.IsZero() || now.Before(f.retryAt) {
		return f.retryAt
	}
	f.retryAt = time.Time{}
	for _, one := range f.pods {
		if one.err != nil {
			one.judged = false
		}
	}
	f.deliver() // starts to call the filter, unless the failed pods were deleted
	return time.Time{}
}

// put passes the known pods to the engine, with the UIDs of the pods that use the driver. If the engine rejects them, only
// this node waits: a failure of the watch would pause all nodes. The caller holds the lock.
func (f *podFollower) put() {
	if f.stopped {
		return
	}
	items := make([][]byte, 0, len(f.pods))
	uses := engine.UsesDriver{UIDs: []string{}, Errors: []engine.PodError{}}
	for _, one := range f.pods {
		items = append(items, one.text)
		switch {
		case one.err != nil:
			uses.Errors = append(uses.Errors, engine.PodError{UID: string(one.uid), Error: one.err.Error()})
		case one.uses:
			uses.UIDs = append(uses.UIDs, string(one.uid))
		}
	}
	taken, err := f.host.engine.PutPods(f.node, list("Pod", items, f.version), uses)
	f.stale = !taken
	if err != nil {
		f.host.log.Error(err, "the engine rejected the pods of a node", "node", f.node)
		f.putUnknown()
	}
}

// fail notifies the engine that the node's pods could not be listed.
func (f *podFollower) fail() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped {
		return
	}
	f.putUnknown()
	f.host.ring()
}

// putUnknown notifies the engine that the node's pods are unknown. The caller holds the lock.
func (f *podFollower) putUnknown() {
	f.stale = true // the next list is passed to the engine even if it contains no change
	if _, err := f.host.engine.PutPods(f.node, nil, engine.UsesDriver{}); err != nil {
		f.host.log.Error(err, "the engine rejected the notice that the pods of a node are unknown", "node", f.node)
	}
}

// isListed reports whether the node's pods have been listed.
func (f *podFollower) isListed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.listed
}

// outdated passes the known pods to the engine again, because the engine may have received them before the node was
// cordoned. It reports whether the pods must be listed again, because the known pods are older than the cordon.
func (f *podFollower) outdated() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.listed || f.judging {
		return false
	}
	if f.put(); !f.stale {
		f.host.ring()
	}
	return f.stale
}
