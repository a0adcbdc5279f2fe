package host

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

type kubernetesObject interface {
	runtime.Object
	metav1.Object
}

// mirror keeps the server's objects of one kind, and passes them on in their reduced form. It serves as the store of a
// reflector, so its store methods are called from only one goroutine.
type mirror[T kubernetesObject] struct {
	kind   string
	reduce func(T) object
	// put and line pass objects to the engine. They fail if the engine does not accept the objects.
	put  func(list []byte) error
	line func(line []byte) error
	// changed is called after a relevant change, but not if only versions changed.
	changed func()
	// replaced, if set, is called when a list or a watch delivers an object that the mirror already contains.
	replaced func(before, after T)
	own      *ownWrites

	mu      sync.Mutex
	objects map[string]T
	texts   map[string][]byte // reduced objects, without versions
	whole   bool              // whether the next list is passed to the engine as a whole
	ready   chan struct{}     // closed after the first list; replaced when another list is needed
	failure error             // error of the last list
	failed  chan struct{}     // closed when failure is set, and then replaced
}

func newMirror[T kubernetesObject](kind string, reduce func(T) object, put, line func([]byte) error, changed func()) *mirror[T] {
	return &mirror[T]{kind: kind, reduce: reduce, put: put, line: line, changed: changed, own: newOwnWrites(),
		objects: map[string]T{}, texts: map[string][]byte{}, ready: make(chan struct{}), failed: make(chan struct{})}
}

func keyOf(of metav1.Object) string {
	if of.GetNamespace() == "" {
		return of.GetName()
	}
	return of.GetNamespace() + "/" + of.GetName()
}

func (m *mirror[T]) Replace(objects []any, version string) error {
	found, texts := map[string]T{}, map[string][]byte{}
	items := make([][]byte, 0, len(objects))
	for _, one := range objects {
		typed, ok := one.(T)
		if !ok {
			return fmt.Errorf("a list contains an object of type %T", one)
		}
		typed.SetManagedFields(nil)
		text := marshal(m.reduce(typed))
		found[keyOf(typed)], texts[keyOf(typed)] = typed, text
		items = append(items, withVersion(text, typed.GetResourceVersion()))
	}
	m.mu.Lock()
	before := m.objects
	m.mu.Unlock()
	if m.replaced != nil { // a list shows changes that the previous watch has missed
		for key, was := range before {
			if is, known := found[key]; known {
				m.replaced(was, is)
			}
		}
	}
	err := m.take(func() error { return m.putAll(items, version) }, func() {
		m.objects, m.texts, m.failure = found, texts, nil
	})
	if err != nil {
		m.fail(err)
		return err
	}
	m.setReady()
	m.own.show(version)
	m.changed()
	return nil
}

func (m *mirror[T]) setReady() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.isReadyLocked() {
		close(m.ready)
	}
}

// isReady reports whether the objects have been listed, and need no other list.
func (m *mirror[T]) isReady() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.isReadyLocked()
}

func (m *mirror[T]) isReadyLocked() bool {
	select {
	case <-m.ready:
		return true
	default:
		return false
	}
}

// whyUnlisted returns the error of the last list; nil if the last list succeeded, or none has ended yet.
func (m *mirror[T]) whyUnlisted() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.failure
}

// doubt makes calls and rounds wait for the next list.
func (m *mirror[T]) doubt() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.isReadyLocked() {
		m.ready = make(chan struct{})
	}
}

// putAll passes a list to the engine. The first list is passed as an empty list followed by individual objects, because
// a single document with all objects would need several times its size in the engine's memory, which never shrinks. No
// call sees an incomplete list, because calls wait for the end of the first list.
func (m *mirror[T]) putAll(items [][]byte, version string) error {
	if m.whole {
		return m.put(list(m.kind, items, version))
	}
	if err := m.put(list(m.kind, nil, version)); err != nil {
		return err
	}
	for _, item := range items {
		if err := m.line(watchLine("ADDED", item)); err != nil {
			return err
		}
	}
	m.whole = true
	return nil
}

func (m *mirror[T]) change(one any, kind string) error {
	typed, ok := one.(T)
	if !ok {
		return fmt.Errorf("a watch event contains an object of type %T", one)
	}
	typed.SetManagedFields(nil)
	text, key := marshal(m.reduce(typed)), keyOf(typed)
	m.mu.Lock()
	same := kind != "DELETED" && bytes.Equal(m.texts[key], text)
	before, known := m.objects[key]
	m.mu.Unlock()
	if known && kind != "DELETED" && m.replaced != nil {
		m.replaced(before, typed)
	}
	err := m.take(func() error { return m.line(watchLine(kind, withVersion(text, typed.GetResourceVersion()))) }, func() {
		if kind == "DELETED" {
			delete(m.objects, key)
			delete(m.texts, key)
		} else {
			m.objects[key], m.texts[key] = typed, text
		}
	})
	if err != nil {
		return err
	}
	m.own.show(typed.GetResourceVersion())
	if !same {
		m.changed()
	}
	return nil
}

// take changes the engine and the mirror together. Objects that the engine does not accept do not enter the mirror, and
// no reader of the mirror sees only one of the two changes.
func (m *mirror[T]) take(engine func() error, mirror func()) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := engine(); err != nil {
		return err
	}
	mirror()
	return nil
}

func (m *mirror[T]) Add(one any) error    { return m.change(one, "ADDED") }
func (m *mirror[T]) Update(one any) error { return m.change(one, "MODIFIED") }
func (m *mirror[T]) Delete(one any) error { return m.change(one, "DELETED") }
func (m *mirror[T]) Resync() error        { return nil }

// Bookmark is called when the watch has shown everything up to this version.
func (m *mirror[T]) Bookmark(version string) error {
	m.own.show(version)
	return nil
}

// fail records that the objects could not be listed.
func (m *mirror[T]) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failure = err
	close(m.failed)
	m.failed = make(chan struct{})
}

// waiter waits for the first list. It returns an error if ctx is done first, or if an attempt to list fails after the
// waiter was created. If an earlier attempt has failed, the waiter also returns an error when patience is done before
// the next attempt has ended.
type waiter func(ctx, patience context.Context) error

const attemptMax = 10 * time.Second // maximum time that a call waits for the next attempt after a failed attempt

func (m *mirror[T]) waiter() waiter {
	m.mu.Lock()
	ready, failed, before := m.ready, m.failed, m.failure
	m.mu.Unlock()
	return func(ctx, patience context.Context) error {
		if before == nil { // the first attempt may take a long time, for example with a low rate limit
			patience = ctx
		}
		select {
		case <-ready:
			return nil
		case <-failed:
		case <-patience.Done():
		}
		select {
		case <-ready:
			return nil
		default:
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		return cmp.Or(m.failure, ctx.Err())
	}
}

func (m *mirror[T]) find(key string) (T, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	found, ok := m.objects[key]
	return found, ok
}

func (m *mirror[T]) size() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.objects)
}

func (m *mirror[T]) all() []T {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]T, 0, len(m.objects))
	for _, one := range m.objects {
		all = append(all, one)
	}
	return all
}
