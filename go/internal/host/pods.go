package host

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
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
	pods    map[string]knownPod
	version string // the pods include all changes up to this version
	listed  bool
	early   []podChange // changes that arrived before the first list
	stale   bool        // the engine did not take the known pods, because they are older than the node's cordon
	stopped bool        // the engine no longer needs the node's pods
}

// knownPod is a pod, and its reduced form.
type knownPod struct {
	pod  *corev1.Pod
	text []byte
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
func (f *podFollower) replace(pods []*corev1.Pod, version string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	changed := false
	if !f.listed || isNewer(version, f.version) {
		before := f.pods
		f.pods = make(map[string]knownPod, len(pods))
		for _, pod := range pods {
			key := keyOf(pod)
			was, known := before[key]
			if known && was.pod.UID == pod.UID && was.pod.ResourceVersion == pod.ResourceVersion {
				f.pods[key] = was
			} else {
				f.pods[key], changed = newKnownPod(pod), true
			}
		}
		changed = changed || !f.listed || len(before) != len(f.pods)
		f.version, f.listed = version, true
		for _, one := range f.early {
			f.take(one)
		}
		f.early = nil
	}
	if !changed && !f.stale {
		return nil
	}
	defer f.host.ring()
	return f.put()
}

// change takes a change to one of the node's pods.
func (f *podFollower) change(one podChange) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.listed {
		f.early = append(f.early, one)
		return nil
	}
	if !f.take(one) {
		return nil
	}
	defer f.host.ring()
	return f.put()
}

// take reports whether the change is new. The caller holds the lock.
func (f *podFollower) take(one podChange) bool {
	if !isNewer(one.pod.ResourceVersion, f.version) {
		return false
	}
	if one.gone {
		delete(f.pods, keyOf(one.pod))
	} else {
		f.pods[keyOf(one.pod)] = newKnownPod(one.pod)
	}
	f.version = one.pod.ResourceVersion
	return true
}

func newKnownPod(pod *corev1.Pod) knownPod {
	return knownPod{pod, withVersion(marshal(reducePod(pod)), pod.ResourceVersion)}
}

// advance is called if a watch has shown all changes to the node's pods up to this version.
func (f *podFollower) advance(version string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.listed && isNewer(version, f.version) {
		f.version = version
	}
}

// put passes the known pods to the engine, with the UIDs of the pods that use the driver. The caller holds the lock.
func (f *podFollower) put() error {
	if f.stopped {
		return nil
	}
	items := make([][]byte, 0, len(f.pods))
	uses := engine.UsesDriver{UIDs: []string{}, Errors: []engine.PodError{}}
	for _, one := range f.pods {
		items = append(items, one.text)
		if f.host.options.UsesDriver != nil && f.host.options.UsesDriver(*one.pod.DeepCopy()) {
			uses.UIDs = append(uses.UIDs, string(one.pod.UID))
		}
	}
	taken, err := f.host.engine.PutPods(f.node, list("Pod", items, f.version), uses)
	f.stale = !taken
	return err
}

// fail notifies the engine that the node's pods could not be listed.
func (f *podFollower) fail() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped {
		return
	}
	f.stale = true // the next list is passed to the engine even if it contains no change
	if _, err := f.host.engine.PutPods(f.node, nil, engine.UsesDriver{}); err != nil {
		f.host.log.Error(err, "the engine rejected the notice that the pods of a node are unknown", "node", f.node)
	}
	f.host.ring()
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
	if !f.listed {
		return false
	}
	if _ = f.put(); !f.stale {
		f.host.ring()
	}
	return f.stale
}
