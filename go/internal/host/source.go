package host

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// source describes where the objects of a kind are listed and watched.
type source struct {
	client     rest.Interface
	parameters runtime.ParameterCodec
	namespace  string // empty: all namespaces, or a kind without namespaces
	resource   string
	labels     string
	fields     fields.Selector
	streams    *atomic.Bool // whether to list and watch with one request; false after the server has refused such a request
}

// relistPauses returns the pauses before a new list after the store has refused a change. The pauses grow, because the
// store may refuse an object permanently.
func relistPauses(clock clock.Clock) wait.DelayFunc {
	const healthy = 5 * time.Minute // time without a refusal after which the pauses start with the shortest again
	return wait.Backoff{Duration: time.Second, Factor: 2, Steps: 7, Cap: time.Minute}.DelayWithReset(clock, healthy)
}

func (s source) get(options metav1.ListOptions) *rest.Request {
	options.LabelSelector = s.labels
	if s.fields != nil {
		options.FieldSelector = s.fields.String()
	}
	if options.ResourceVersion == "0" {
		// Version 0 means any version that an API server has in its cache, which may be older than our own writes.
		options.ResourceVersion = ""
	}
	return s.client.Get().NamespaceIfScoped(s.namespace, s.namespace != "").Resource(s.resource).
		VersionedParams(&options, s.parameters)
}

// listWatch gets the first list through the watch, unless the server has refused such a watch. In that case, listWatch
// lists separately, and starts the watch at the version of the list.
type listWatch struct {
	*cache.ListWatch
	streams *atomic.Bool
}

// IsWatchListSemanticsUnSupported reports whether a reflector must list separately. The reflector calls this method
// before it lists or watches.
func (l listWatch) IsWatchListSemanticsUnSupported() bool {
	return !l.streams.Load()
}

// follow keeps the store up to date until ctx ends, and calls failed for each list that fails. If the store refuses a
// change, a reflector only logs an error and continues without the change. Therefore follow then starts another
// reflector, which begins with a new list.
func (s source) follow(ctx context.Context, log logr.Logger, store cache.ReflectorStore, failed func(error)) {
	quiet, pause := log.V(1), relistPauses(clock.RealClock{})
	for ctx.Err() == nil {
		one, anew := context.WithCancel(klog.NewContext(ctx, quiet))
		checked := checkedStore{store, func(err error) {
			if ctx.Err() == nil { // otherwise the host has ended
				log.Error(err, "a change was not accepted; listing all objects again", "resource", s.resource)
			}
			anew()
		}}
		cache.NewReflectorWithOptions(s.listWatch(failed), nil, checked, cache.ReflectorOptions{Name: s.resource, Logger: &quiet}).
			RunWithContext(one)
		anew()
		select {
		case <-ctx.Done():
		case <-time.After(pause()):
		}
	}
}

func (s source) listWatch(failed func(error)) listWatch {
	failedBy := func(err error) { failed(fmt.Errorf("list %s: %w", s.resource, err)) }
	return listWatch{streams: s.streams, ListWatch: &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			found, err := s.get(options).Do(ctx).Get()
			if err != nil && ctx.Err() == nil {
				failedBy(err)
			}
			return found, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.Watch = true
			request := s.get(options)
			if options.TimeoutSeconds != nil {
				request = request.Timeout(time.Duration(*options.TimeoutSeconds) * time.Second)
			}
			events, err := request.Watch(ctx)
			switch {
			case ctx.Err() != nil:
				if err == nil {
					events.Stop()
				}
				return nil, io.EOF // the normal end of a watch, which is not logged
			case err == nil:
				return lightened(events), nil
			case options.SendInitialEvents == nil:
			case apierrors.IsInvalid(err):
				s.streams.Store(false)
			case utilnet.IsConnectionRefused(err) || apierrors.IsTooManyRequests(err):
				failedBy(err) // after these errors a reflector retries the watch, and never lists; after other errors it lists immediately
			}
			return events, err
		},
	}}
}

// lightWatch removes unused fields from its objects, because a watch that starts with a list holds all objects in
// memory at the same time. These fields make up most of the size of a node. (watch.Filter would not end while an event
// waits for a reader.)
type lightWatch struct {
	watch.Interface
	events  chan watch.Event
	stopped chan struct{}
	once    sync.Once
}

func lightened(from watch.Interface) watch.Interface {
	w := &lightWatch{Interface: from, events: make(chan watch.Event), stopped: make(chan struct{})}
	go w.pass()
	return w
}

func (w *lightWatch) ResultChan() <-chan watch.Event { return w.events }

func (w *lightWatch) Stop() {
	w.once.Do(func() { close(w.stopped) })
	w.Interface.Stop()
}

func (w *lightWatch) pass() {
	defer close(w.events)
	for event := range w.Interface.ResultChan() {
		lighten(event.Object)
		select {
		case w.events <- event:
		case <-w.stopped:
			return
		}
	}
}

func lighten(object runtime.Object) {
	if of, ok := object.(metav1.Object); ok {
		of.SetManagedFields(nil)
	}
	if node, ok := object.(*corev1.Node); ok {
		node.Status.Images = nil
	}
}

// checkedStore reports the changes that the store refuses.
type checkedStore struct {
	cache.ReflectorStore
	refused func(error)
}

func (s checkedStore) checked(err error) error {
	if err != nil {
		s.refused(err)
	}
	return err
}

func (s checkedStore) Add(one any) error    { return s.checked(s.ReflectorStore.Add(one)) }
func (s checkedStore) Update(one any) error { return s.checked(s.ReflectorStore.Update(one)) }
func (s checkedStore) Delete(one any) error { return s.checked(s.ReflectorStore.Delete(one)) }

// Bookmark passes the version on to stores that need it.
func (s checkedStore) Bookmark(version string) error {
	if wants, ok := s.ReflectorStore.(cache.ReflectorBookmarkStore); ok {
		return wants.Bookmark(version)
	}
	return nil
}
