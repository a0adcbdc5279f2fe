package host

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	maintenancev1alpha1 "github.com/Mellanox/maintenance-operator/api/v1alpha1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"driverupgrade.example/go/internal/engine"
)

// Maximum time that a call waits for the watches to show the module's own writes. A watch usually shows a write within
// milliseconds.
const ownWritesMax = 5 * time.Second

// ownWrites tracks the module's writes to objects of one kind until the watch of this kind has shown them. An
// operator's own watch, which may be ahead of the module's watch, wakes the operator. The operator must not get a state
// that is older than the change that woke it.
type ownWrites struct {
	mu      sync.Mutex
	version string // resourceVersion of the newest object that the watch has shown
	pending map[*ownWrite]bool
}

// ownWrite is one request that changes an object. A nil *ownWrite stands for a request whose effect no watch shows.
type ownWrite struct {
	of      *ownWrites
	version string        // resourceVersion in the response; empty before the response
	shown   chan struct{} // closed when no call has to wait for this write any longer
}

func newOwnWrites() *ownWrites { return &ownWrites{pending: map[*ownWrite]bool{}} }

// sent is called just before the request is sent, because an operator's watch may show the change before the response
// arrives.
func (w *ownWrite) sent() {
	if w == nil {
		return
	}
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	w.of.pending[w] = true
}

// answered is called with the response to the request, or with the reason why no response arrived. It does nothing if
// the request was never sent.
func (w *ownWrite) answered(told answer) {
	if w == nil {
		return
	}
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	w.version = versionIn(told)
	w.of.settle(w)
}

// show is called after the mirror has stored an object of this version.
func (o *ownWrites) show(version string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.version = version
	for write := range o.pending {
		if write.version != "" {
			o.settle(write)
		}
	}
}

// settle drops a write that has a response as soon as no call has to wait for it any longer. No call waits if the watch
// has shown the write, or if the response contains no version.
func (o *ownWrites) settle(write *ownWrite) {
	order, err := resourceversion.CompareResourceVersion(o.version, write.version)
	if !o.pending[write] || (err == nil && order < 0) {
		return
	}
	delete(o.pending, write)
	close(write.shown)
}

// waiting returns the writes that the watch has not shown yet.
func (o *ownWrites) waiting() (writes []*ownWrite) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for write := range o.pending {
		writes = append(writes, write)
	}
	return writes
}

// forget drops a write that took too long, so that no later call waits for it.
func (o *ownWrites) forget(write *ownWrite) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.pending, write)
}

// versionIn returns the resourceVersion of the object in a response, or an empty string if the request failed or its
// response has no version.
func versionIn(told answer) string {
	if told.status < 200 || told.status > 299 {
		return ""
	}
	var object struct {
		Metadata struct{ ResourceVersion string }
	}
	_ = json.Unmarshal(told.body, &object)
	return object.Metadata.ResourceVersion
}

// ownWriteOf returns the ownWrite of the request, or nil if no mirror contains the object.
func (h *Host) ownWriteOf(request engine.Request) *ownWrite {
	path, _, _ := strings.Cut(request.Target, "?")
	made := &ownWrite{shown: make(chan struct{})}
	pod, isPod := strings.CutPrefix(path, "/api/v1/namespaces/"+h.options.Namespace+"/pods/")
	switch {
	case strings.HasPrefix(path, "/api/v1/nodes/"):
		made.of = h.nodes.own
	case strings.HasPrefix(path, "/apis/"+maintenancev1alpha1.GroupVersion.Group+"/") && h.maintenances != nil:
		made.of = h.maintenances.own
	case isPod:
		if _, known := h.pods.find(h.options.Namespace + "/" + pod); !known {
			return nil
		}
		made.of = h.pods.own
	default:
		return nil
	}
	return made
}

// waitForOwnWrites returns once the watches have shown the writes that the module made before the call, but after
// ownWritesMax at the latest. Errors: the context or the host has ended.
func (h *Host) waitForOwnWrites(ctx context.Context) error {
	writes := append(h.nodes.own.waiting(), h.pods.own.waiting()...)
	if h.maintenances != nil {
		writes = append(writes, h.maintenances.own.waiting()...)
	}
	timer := h.options.Clock.NewTimer(ownWritesMax)
	defer timer.Stop()
	for i, write := range writes {
		select {
		case <-write.shown:
		case <-ctx.Done():
			return ctx.Err()
		case <-h.ctx.Done():
			return ErrClosed
		case <-timer.C():
			h.log.Info("the watches do not show the module's own writes yet; the state may be older than the writes", "waited", ownWritesMax)
			for _, late := range writes[i:] {
				late.of.forget(late)
			}
			return nil
		}
	}
	return nil
}
