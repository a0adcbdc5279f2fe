package host

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"

	"driverupgrade.example/go/internal/engine"
)

const (
	// Maximum number of nodes whose pods are watched node by node. Above it, one watch on all pods serves all nodes. As in
	// native engines, at most this many nodes are listed one by one at the same time.
	podWatchesMax = 10
	// Number of nodes at which each node gets its own watch again. It is lower than podWatchesMax, so that the list of all
	// pods is not repeated each time that a node starts.
	podWatchesAgain = podWatchesMax / 2
	// All pods are listed again if more than podWatchesMax nodes need a list, and at least one node in podListShare.
	podListShare = 10
)

// podWatch is a watch on the pods of one node or of all nodes.
type podWatch struct {
	host   *Host
	end    context.CancelFunc
	health *health
	fields fields.Selector
	all    bool // the watch is on the pods of all nodes

	mu        sync.Mutex
	followers map[string]*podFollower // by node; the watch drops all other pods
	listed    bool                    // the last list is complete, and the changes since then are passed on
	version   string                  // the followers have all changes up to this version
}

// watchPodsOf starts a watch on the pods of one node.
func (h *Host) watchPodsOf(f *podFollower) *podWatch {
	w := &podWatch{followers: map[string]*podFollower{f.node: f}, fields: fields.OneTermEqualSelector("spec.nodeName", f.node)}
	h.startPods(w)
	return w
}

// watchAllPods starts a watch on the pods of all nodes.
func (h *Host) watchAllPods() *podWatch {
	w := &podWatch{followers: map[string]*podFollower{}, all: true, fields: fields.OneTermNotEqualSelector("spec.nodeName", "")}
	for node, f := range h.followers {
		w.followers[node] = f
	}
	h.startPods(w)
	return w
}

func (h *Host) startPods(w *podWatch) {
	ctx, end := context.WithCancel(h.ctx)
	pods := h.source(h.connection.core.CoreV1().RESTClient(), "pods")
	pods.namespace, pods.labels, pods.fields = "", "", w.fields
	pods.listing = w.unlist
	if w.all {
		pods.keeps = w.keeps
	}
	w.host, w.end, w.health = h, end, pods.health
	h.running.Go(func() { pods.follow(ctx, h.log, w, func(err error) { w.fail(ctx, err) }) })
}

// join adds a node to a watch on all pods if the node is not part of it yet. From then on, the watch passes on all changes
// to the node's pods. The caller must list these pods afterwards. join returns false if a list of all pods is in progress,
// because this list may lack some of the node's pods.
func (w *podWatch) join(f *podFollower) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.listed {
		w.followers[f.node] = f
	}
	return w.listed
}

func (w *podWatch) leave(node string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.followers, node)
}

// keeps reports whether a follower needs the pod.
func (w *podWatch) keeps(pod *corev1.Pod) bool { return w.followerOf(pod) != nil }

func (w *podWatch) followerOf(pod *corev1.Pod) *podFollower {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.followers[pod.Spec.NodeName]
}

func (w *podWatch) isListed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.listed
}

// covers reports whether the watch passes on all changes to the node's pods, and up to which version it has done so.
func (w *podWatch) covers(f *podFollower) (version string, covers bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.version, w.listed && w.followers[f.node] == f
}

// unlist is called when a list starts. Until the list is complete, no further node joins.
func (w *podWatch) unlist() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.listed = false
}

func (w *podWatch) Replace(objects []any, version string) error {
	pods := map[string][]*corev1.Pod{}
	for _, one := range objects {
		if pod, ok := one.(*corev1.Pod); ok {
			pods[pod.Spec.NodeName] = append(pods[pod.Spec.NodeName], pod)
		}
	}
	for _, f := range w.everyFollower() {
		f.replace(pods[f.node], version)
	}
	w.mu.Lock()
	w.listed, w.version = true, version
	w.mu.Unlock()
	w.host.ring()
	return nil
}

func (w *podWatch) change(one any, gone bool) error {
	pod, ok := one.(*corev1.Pod)
	if !ok {
		return nil
	}
	if f := w.followerOf(pod); f != nil {
		f.change(podChange{pod, gone})
	}
	return w.Bookmark(pod.ResourceVersion)
}

func (w *podWatch) Add(one any) error    { return w.change(one, false) }
func (w *podWatch) Update(one any) error { return w.change(one, false) }
func (w *podWatch) Delete(one any) error { return w.change(one, true) }
func (w *podWatch) Resync() error        { return nil }

// Bookmark is called when the watch has shown all changes up to this version.
func (w *podWatch) Bookmark(version string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.version = version
	return nil
}

func (w *podWatch) everyFollower() []*podFollower {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make([]*podFollower, 0, len(w.followers))
	for _, f := range w.followers {
		all = append(all, f)
	}
	return all
}

func (w *podWatch) fail(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	w.host.log.Error(err, "failed to list pods", "fields", w.fields.String())
	for _, f := range w.everyFollower() {
		f.fail()
	}
}

// follow starts and stops pod watches to match the nodes whose pods the engine needs. owner and until belong to the
// order of the pass.
func (h *Host) follow(pass engine.Pass, owner string, until time.Time) {
	interest := map[string]bool{}
	for _, node := range pass.PodInterest {
		interest[node] = true
		if h.followers[node] == nil {
			h.followers[node] = &podFollower{host: h, node: node, owner: owner, until: until, pods: map[string]*knownPod{}}
		}
	}
	for node, f := range h.followers {
		if !interest[node] {
			h.unfollow(f)
		}
	}
	h.choosePodWatches()
	h.listPods(pass.WantedPods)
}

func (h *Host) unfollow(f *podFollower) {
	delete(h.followers, f.node)
	f.stop()
	f.unwatch()
	if h.allPods != nil {
		h.allPods.leave(f.node)
	}
}

// unwatch ends the watch on the node's pods.
func (f *podFollower) unwatch() {
	if f.own != nil {
		f.own.end()
		f.own = nil
	}
}

// choosePodWatches starts the watch on all pods, or replaces it with watches on the pods of each node. A watch ends only
// after the watch that replaces it has delivered its list.
func (h *Host) choosePodWatches() {
	switch {
	case h.allPods == nil:
		if len(h.followers) > podWatchesMax {
			h.allPods = h.watchAllPods()
		}
	case len(h.followers) > 0 && !h.allPods.isListed():
	case len(h.followers) > podWatchesAgain:
		h.endPodsBefore()
		for _, f := range h.followers {
			if _, covered := h.allPods.covers(f); covered && f.own != nil && f.own.isListed() {
				f.unwatch()
			}
		}
	default:
		h.endPodsBefore()
		for _, f := range h.followers {
			if f.own == nil || !f.own.isListed() {
				return // listPods starts the watches
			}
		}
		h.allPods.end()
		h.allPods = nil
	}
}

// endPodsBefore ends the previous watch on all pods, which the current watch on all pods (allPods) has replaced.
func (h *Host) endPodsBefore() {
	if h.allPodsBefore != nil {
		h.allPodsBefore.end()
		h.allPodsBefore = nil
	}
}

// listPods lists the pods of nodes whose pods are unknown, or older than the cordon.
func (h *Host) listPods(wanted []string) {
	all := h.allPods
	if all != nil && !all.isListed() {
		return // its end triggers a round
	}
	again := map[string]bool{}
	for _, node := range wanted {
		f := h.followers[node]
		if f == nil || (f.own != nil && !f.own.isListed()) { // a list is in progress
			continue
		}
		if all != nil {
			if version, covered := all.covers(f); covered {
				f.advance(version)
			}
		}
		again[node] = f.outdated()
	}
	var needed []*podFollower
	running := 0
	for node, f := range h.followers {
		switch {
		case f.own != nil && !f.own.isListed():
			running++
		case again[node] || !f.isListed() || (f.own == nil && (all == nil || len(h.followers) <= podWatchesAgain)):
			needed = append(needed, f)
		}
	}
	slices.SortFunc(needed, func(a, b *podFollower) int { return strings.Compare(a.node, b.node) })
	if all != nil && len(needed) > podWatchesMax && len(needed)*podListShare >= h.nodes.size() {
		h.endPodsBefore() // its end may have come after this round's check
		h.allPods, h.allPodsBefore = h.watchAllPods(), all
		return
	}
	for _, f := range needed[:min(len(needed), max(podWatchesMax-running, 0))] {
		if all != nil && !all.join(f) {
			return
		}
		f.unwatch()
		f.own = h.watchPodsOf(f)
	}
}
