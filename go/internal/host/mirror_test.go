package host

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"

	"driverupgrade.example/go/internal/engine"
	"driverupgrade.example/go/internal/fakecluster"
)

// picky refuses the first change to a node.
type picky struct {
	engine.Engine
	once *sync.Once
}

func (e picky) WatchLine(kind engine.Kind, line []byte) (err error) {
	if kind == engine.Nodes && bytes.Contains(line, []byte("MODIFIED")) {
		e.once.Do(func() { err = &engine.Error{Code: engine.CodeInvalidArgument, Message: "no such line"} })
	}
	if err != nil {
		return err
	}
	return e.Engine.WatchLine(kind, line)
}

func newHost(t *testing.T, cluster *fakecluster.Cluster, wrap func(engine.Engine) engine.Engine) *Host {
	t.Helper()
	connection, err := Connect(cluster.Config(), scheme.Scheme)
	if err != nil {
		t.Fatal(err)
	}
	h, err := New(connection, Options{Identity: Identity{"nvidia.com", "gpu"}, Namespace: fakecluster.Namespace, DriverLabels: map[string]string{"app": "driver"},
		Interval: time.Minute, Clock: clock.RealClock{}, Log: logr.Discard(), Engine: func(options engine.Options) (engine.Engine, error) {
			made, err := engine.New(options)
			return wrap(made), err
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

func TestAChangeThatTheEngineRejectsCausesANewList(t *testing.T) {
	cluster := fakecluster.New()
	defer cluster.Close()
	cluster.AddNode("n")
	h := newHost(t, cluster, func(made engine.Engine) engine.Engine { return picky{made, new(sync.Once)} })
	state := func() string {
		members, _, err := h.Members(t.Context())
		if err != nil || len(members) != 1 {
			t.Fatalf("%v: %v", members, err)
		}
		if label := members[0].Node.Labels[h.options.Identity.stateLabel()]; label != members[0].State {
			t.Fatalf("the mirror has %q, the engine %q", label, members[0].State)
		}
		return members[0].State
	}
	state()
	cluster.SetLabel("n", h.options.Identity.stateLabel(), "upgrade-done")
	for deadline := time.Now().Add(time.Minute); state() != "upgrade-done"; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the change is lost")
		}
	}
}

func TestAMirrorOmitsRejectedObjects(t *testing.T) {
	refused := errors.New("refused")
	refuse := func([]byte) error { return refused }
	m := newMirror("Node", reduceNode, refuse, refuse, func() { t.Error("it is told as a change") })
	if err := m.Replace([]any{newNode("n")}, "1"); !errors.Is(err, refused) {
		t.Errorf("got %v", err)
	}
	if err := m.Add(newNode("n")); !errors.Is(err, refused) {
		t.Errorf("got %v", err)
	}
	if _, found := m.find("n"); found {
		t.Error("the mirror has the node")
	}
}

func newNode(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func TestTheFirstListIsPassedPerObjectIfPassesWaitForIt(t *testing.T) {
	for _, whole := range []bool{false, true} {
		var lists, lines []string
		m := newMirror("Node", reduceNode, func(list []byte) error { lists = append(lists, string(list)); return nil },
			func(line []byte) error { lines = append(lines, string(line)); return nil }, func() {})
		m.whole = whole
		for range 2 {
			if err := m.Replace([]any{newNode("a"), newNode("b")}, "7"); err != nil {
				t.Fatal(err)
			}
		}
		first, inLines := 0, 2
		if whole {
			first, inLines = 2, 0
		}
		if len(lists) != 2 || strings.Count(lists[0], `"kind":"Node"`) != first || strings.Count(lists[1], `"kind":"Node"`) != 2 || len(lines) != inLines {
			t.Errorf("whole %v: lists %q, lines %q", whole, lists, lines)
		}
	}
}

func TestAFailureBeforeACallIsNotTheOutcomeOfTheCall(t *testing.T) {
	away := errors.New("away")
	taken := func([]byte) error { return nil }
	for name, test := range map[string]struct {
		attempt func(m *mirror[*corev1.Node])
		takes   time.Duration
		want    error
	}{
		"success":     {func(m *mirror[*corev1.Node]) { _ = m.Replace([]any{newNode("n")}, "1") }, time.Second, nil},
		"failure":     {func(m *mirror[*corev1.Node]) { m.fail(away) }, time.Second, away},
		"no attempts": {func(*mirror[*corev1.Node]) {}, attemptMax, away},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMirror("Node", reduceNode, taken, taken, func() {})
				m.fail(away)
				patience, forget := context.WithTimeout(t.Context(), attemptMax)
				defer forget()
				began, wait := time.Now(), m.waiter()
				time.AfterFunc(time.Second, func() { test.attempt(m) })
				if err := wait(t.Context(), patience); err != test.want || time.Since(began) != test.takes {
					t.Errorf("got %v after %v", err, time.Since(began))
				}
			})
		})
	}
}

func TestRelistsOfARefusedObjectBackOff(t *testing.T) {
	now := testclock.NewFakeClock(time.Unix(1_700_000_000, 0))
	pause := relistPauses(now)
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60, 60} {
		got := pause()
		if got != want*time.Second {
			t.Errorf("%v, not %v s", got, int64(want))
		}
		now.Step(got + time.Second)
	}
	now.Step(6 * time.Minute)
	if got := pause(); got != time.Second {
		t.Errorf("%v after minutes without a refusal", got)
	}
}
