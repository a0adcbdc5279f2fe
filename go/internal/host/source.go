package host

import (
	"context"
	"fmt"
	"io"
	"slices"
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
	client      rest.Interface
	parameters  runtime.ParameterCodec
	namespace   string // empty: all namespaces, or a kind without namespaces
	resource    string
	labels      string
	fields      fields.Selector
	listTimeout time.Duration // zero: no limit
	streams     *atomic.Bool  // whether to list and watch with one request; false after the server has refused such a request
	// Number of failures in a row after which a watch does not resume, but starts again with a list. The cluster may have
	// been restored from a backup in the meantime, and a watch that resumed would show nothing of the restored state.
	failuresMax int
	doubted     func() // called when such a list becomes necessary; may be nil
	health      *health
	listing     func()                 // called when a list starts; may be nil
	keeps       func(*corev1.Pod) bool // nil: all objects are kept; only for pods
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
	if !options.Watch || options.SendInitialEvents != nil {
		// A list that requests a version may be as old as that version, and may therefore miss our own writes. After the
		// cluster was restored from a backup, the list would wait for a version that does not exist yet.
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

// follow keeps the store up to date until ctx is done, and calls failed for each list that fails. If the store refuses
// a change, a reflector only logs an error and continues without the change. Therefore follow then starts another
// reflector, which begins with a new list.
func (s source) follow(ctx context.Context, log logr.Logger, store cache.ReflectorStore, failed func(error)) {
	quiet, pause := log.V(1), relistPauses(clock.RealClock{})
	for ctx.Err() == nil {
		one, anew := context.WithCancel(klog.NewContext(ctx, quiet))
		checked := checkedStore{store, s.health, func(err error) {
			if ctx.Err() == nil { // otherwise the host has ended
				s.health.fails(fmt.Errorf("a change to %s was not accepted: %w", s.resource, err))
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
	w := &watcher{source: s, failed: func(err error) {
		err = fmt.Errorf("list %s: %w", s.resource, err)
		s.health.fails(err)
		failed(err)
	}}
	return listWatch{streams: s.streams, ListWatch: &cache.ListWatch{ListWithContextFunc: w.list, WatchFuncWithContext: w.watch}}
}

// watcher lists and watches for one reflector. Only one goroutine, the reflector's, calls its methods.
type watcher struct {
	source
	failed   func(error) // called for each list that fails
	failures int         // number of times in a row that the watch has failed
	current  *stream     // the last watch; nil after a list
}

func (w *watcher) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	w.failures, w.current = 0, nil
	if options.Continue == "" {
		w.starts()
	}
	found, err := w.get(options).Timeout(w.listTimeout).Do(ctx).Get()
	if err != nil && ctx.Err() == nil {
		w.failed(err)
	}
	if pods, ok := found.(*corev1.PodList); ok && w.keeps != nil {
		pods.Items = slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return !w.keeps(&pod) })
	}
	return found, err
}

func (s source) starts() {
	if s.listing != nil {
		s.listing()
	}
}

func (w *watcher) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	lists := options.SendInitialEvents != nil
	if lists {
		w.failures = 0
		w.starts()
	} else if w.current != nil && w.current.broken.Load() && w.mustList() {
		return nil, io.EOF
	}
	options.Watch = true
	request := w.get(options)
	if options.TimeoutSeconds != nil {
		request = request.Timeout(time.Duration(*options.TimeoutSeconds) * time.Second)
	}
	w.current = &stream{}
	events, err := request.Watch(withStream(ctx, w.current))
	switch {
	case ctx.Err() != nil:
		if err == nil {
			events.Stop()
		}
		return nil, io.EOF // the normal end of a watch, which is not logged
	case err == nil:
		w.failures = 0
		if !lists { // otherwise the objects are up to date only at the end of the list
			w.health.works()
		}
		return lightened(events, w.keeps, lists, w.ended(w.current)), nil
	case !lists:
		w.current = nil
		if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
			break // normal after a pause; a list follows immediately
		}
		w.health.fails(fmt.Errorf("watch %s: %w", w.resource, err))
		if w.mustList() {
			return nil, io.EOF
		}
	case apierrors.IsInvalid(err):
		w.streams.Store(false)
	case utilnet.IsConnectionRefused(err) || apierrors.IsTooManyRequests(err):
		w.failed(err) // after these errors a reflector retries the watch, and never lists; after other errors it lists immediately
	}
	return events, err
}

// mustList counts a failure, and reports whether the watch must start again with a list. If so, the caller returns
// io.EOF: the reflector then lists again, without logging an error.
func (w *watcher) mustList() bool {
	w.failures++
	if w.failures < w.failuresMax {
		return false
	}
	w.doubt()
	return true
}

// ended returns a function that is called when the watch has ended. If the next watch will start with a list, the
// function keeps rounds from using the objects before that list.
func (w *watcher) ended(of *stream) func() {
	return func() {
		if w.failuresMax == 1 && of.broken.Load() {
			w.doubt()
		}
	}
}

func (s source) doubt() {
	if s.doubted != nil {
		s.doubted()
	}
}

// lightWatch removes unused fields from its objects, because a watch that starts with a list holds all objects in
// memory at the same time. These fields make up most of a node's size. (watch.Filter would not end while an event waits
// for a reader.)
type lightWatch struct {
	watch.Interface
	events  chan watch.Event
	stopped chan struct{}
	once    sync.Once
	keeps   func(*corev1.Pod) bool // nil: all objects are kept
	lists   bool                   // the watch still delivers the list with which it starts
	ended   func()                 // called before the reader notices the end of the watch
}

func lightened(from watch.Interface, keeps func(*corev1.Pod) bool, lists bool, ended func()) watch.Interface {
	w := &lightWatch{Interface: from, events: make(chan watch.Event), stopped: make(chan struct{}), keeps: keeps, lists: lists, ended: ended}
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
	defer w.ended()
	for event := range w.Interface.ResultChan() {
		lighten(event.Object)
		if !w.filter(&event) {
			continue
		}
		select {
		case w.events <- event:
		case <-w.stopped:
			return
		}
	}
}

// filter reports whether the event is passed on. After the list, it replaces a change to a dropped pod with a bookmark.
// The reader then knows the version up to which it has all changes.
func (w *lightWatch) filter(event *watch.Event) bool {
	pod, ok := event.Object.(*corev1.Pod)
	switch {
	case w.keeps == nil || !ok:
		return true
	case event.Type == watch.Bookmark:
		w.lists = w.lists && pod.Annotations[metav1.InitialEventsAnnotationKey] != "true"
		return true
	case w.keeps(pod):
		return true
	case w.lists:
		return false
	}
	event.Type, event.Object = watch.Bookmark, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: pod.ResourceVersion}}
	return true
}

func lighten(object runtime.Object) {
	if of, ok := object.(metav1.Object); ok {
		of.SetManagedFields(nil)
	}
	if node, ok := object.(*corev1.Node); ok {
		node.Status.Images = nil
	}
}

// checkedStore reports the lists that the store accepts, and the changes that it refuses.
type checkedStore struct {
	cache.ReflectorStore
	health  *health
	refused func(error)
}

func (s checkedStore) checked(err error) error {
	if err != nil {
		s.refused(err)
	}
	return err
}

func (s checkedStore) Replace(objects []any, version string) error {
	err := s.ReflectorStore.Replace(objects, version)
	if err != nil {
		s.health.fails(err)
		return err
	}
	s.health.lists()
	return nil
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
