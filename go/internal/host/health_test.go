package host

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	maintenancev1alpha1 "github.com/Mellanox/maintenance-operator/api/v1alpha1"
	"github.com/go-logr/logr/funcr"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"

	"driverupgrade.example/go/internal/engine"
	"driverupgrade.example/go/internal/fakecluster"
)

// client-go limits the rate of errors with a clock that starts outside of the virtual time, and would sleep for years.
func init() { utilruntime.ErrorHandlers = nil }

// refusal refuses requests whose path ends with a resource, as a server does after a change of the RBAC rules.
type refusal struct {
	next     http.RoundTripper
	resource atomic.Pointer[string]
	latency  func() time.Duration // nil: responses arrive immediately
}

func (r *refusal) RoundTrip(request *http.Request) (*http.Response, error) {
	resource := r.resource.Load()
	if resource == nil || *resource == "" || !strings.HasSuffix(request.URL.Path, *resource) || request.Method != http.MethodGet {
		response, err := r.next.RoundTrip(request)
		if r.latency != nil {
			time.Sleep(r.latency())
		}
		return response, err
	}
	body := `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"no permission","code":403}`
	return &http.Response{StatusCode: http.StatusForbidden, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader([]byte(body))), Request: request}, nil
}

func (r *refusal) refuse(resource string) { r.resource.Store(&resource) }

// virtual is a host in virtual time, with its cluster. It must be created in a synctest bubble.
type virtual struct {
	*Host
	cluster *fakecluster.Cluster
	refusal *refusal
	log     atomic.Pointer[string] // all log lines
}

func newVirtual(t *testing.T, nodes int, options Options) *virtual {
	t.Helper()
	v := &virtual{cluster: fakecluster.New(), refusal: &refusal{}}
	for i := range nodes {
		v.cluster.AddNode(nodeName(i))
	}
	types := runtime.NewScheme()
	if err := errors.Join(scheme.AddToScheme(types), maintenancev1alpha1.AddToScheme(types)); err != nil {
		t.Fatal(err)
	}
	config := v.cluster.Direct(func(next http.RoundTripper) http.RoundTripper {
		v.refusal.next = next
		return v.refusal
	})
	config.Timeout = timeout
	connection, err := Connect(config, types)
	if err != nil {
		t.Fatal(err)
	}
	v.log.Store(new(string))
	options.Log = funcr.New(func(_, args string) {
		for before := v.log.Load(); ; before = v.log.Load() {
			if after := *before + args + "\n"; v.log.CompareAndSwap(before, &after) {
				return
			}
		}
	}, funcr.Options{})
	options.Identity, options.Namespace = Identity{"nvidia.com", "gpu"}, fakecluster.Namespace
	options.DriverLabels, options.Interval, options.Clock = map[string]string{"app": "driver"}, time.Hour, clock.RealClock{}
	if options.Engine == nil {
		options.Engine = engine.New
	}
	if v.Host, err = New(connection, options); err != nil {
		t.Fatal(err)
	}
	return v
}

// Timeout of the rest.Config, shorter than a watch.
const timeout = 30 * time.Second

func nodeName(i int) string { return fmt.Sprintf("n%03d", i) }

// end ends the host, so that no goroutine is left in the bubble.
func (v *virtual) end() {
	v.Close()
	v.running.Wait()
	v.cluster.Close()
	synctest.Wait()
}

// counted counts the passes.
type counted struct {
	engine.Engine
	passes *atomic.Int64
}

func (e counted) Apply(nodes, policy []byte, now time.Time) (engine.Pass, error) {
	e.passes.Add(1)
	return e.Engine.Apply(nodes, policy, now)
}

// If deadlines ran against outdated objects, a node whose driver pod has become Ready would fail.
func TestNoPassIsMadeWhileAWatchHasBeenFailingForAMinute(t *testing.T) {
	for _, resource := range []string{"/pods", "daemonsets", "controllerrevisions", "nodemaintenances", "nodes"} {
		t.Run(strings.Trim(resource, "/"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var passes atomic.Int64
				requestor := &engine.Requestor{ID: "requestor", Namespace: "maintenance", Enabled: true}
				v := newVirtual(t, 1, Options{Requestor: requestor, Engine: func(options engine.Options) (engine.Engine, error) {
					made, err := engine.New(options)
					return counted{made, &passes}, err
				}})
				defer v.end()
				apply := func() error {
					return v.Apply(t.Context(), Part{Nodes: []string{nodeName(0)}}, []byte(`{"autoUpgrade":true}`), false)
				}
				if _, _, err := v.Members(t.Context()); err != nil {
					t.Fatal(err)
				}
				if err := apply(); err != nil {
					t.Fatal(err)
				}
				v.refusal.refuse(resource)
				v.cluster.MissedByWatches(synctest.Wait) // the versions of the watches expire
				if resource != "nodes" {                 // without the nodes, no pass is made from the start
					time.Sleep(staleMax / 2)
					if err := apply(); err != nil {
						t.Errorf("after half a minute: %v", err)
					}
				}
				time.Sleep(2 * staleMax)
				before := passes.Load()
				v.ring()
				if err := apply(); err == nil || !strings.Contains(err.Error(), "no permission") {
					t.Errorf("the call returned %v", err)
				}
				if made := passes.Load() - before; made > 0 {
					t.Errorf("%d passes used outdated objects", made)
				}
				if lines := *v.log.Load(); !strings.Contains(lines, "no permission") {
					t.Errorf("the log does not contain the reason: %s", lines)
				}
				v.refusal.refuse("")
				time.Sleep(2 * time.Minute) // longer than the pauses between attempts
				if err := apply(); err != nil || passes.Load() == before {
					t.Errorf("after the failure: %v, %d passes", err, passes.Load()-before)
				}
			})
		})
	}
}

func TestASourceIsStaleAfterAMinuteOfFailures(t *testing.T) {
	for name, row := range map[string]struct {
		optional bool
		happens  func(source *health)
		stale    bool
	}{
		"works":                {false, func(*health) {}, false},
		"fails":                {false, func(source *health) { source.fails(io.EOF) }, true},
		"resumes":              {false, func(source *health) { source.fails(io.EOF); source.works() }, false},
		"never listed":         {true, func(source *health) { source.fails(io.EOF) }, false},
		"fails after the list": {true, func(source *health) { source.lists(); source.fails(io.EOF) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			now := testclock.NewFakeClock(time.Unix(1_700_000_000, 0))
			source := &health{clock: now, mended: func() {}, optional: row.optional}
			row.happens(source)
			if err := source.stale(now.Now().Add(staleMax - 1)); err != nil {
				t.Errorf("too early: %v", err)
			}
			now.Step(staleMax / 2)
			if row.stale {
				source.fails(io.ErrUnexpectedEOF) // a later failure does not prolong the time
			}
			if err := source.stale(now.Now().Add(staleMax / 2)); (err != nil) != row.stale {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestTheTimeoutOfTheConfigurationDoesNotEndWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVirtual(t, 1, Options{})
		defer v.end()
		if _, _, err := v.Members(t.Context()); err != nil {
			t.Fatal(err)
		}
		before := len(v.cluster.Requests())
		time.Sleep(4 * timeout)
		if requests := v.cluster.Requests()[before:]; len(requests) > 0 || !v.nodes.isReady() {
			t.Errorf("further requests: %v", requests)
		}
	})
}

func TestTheTimeoutOfTheConfigurationEndsLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVirtual(t, 1, Options{})
		defer v.end()
		v.cluster.SetOld() // lists are separate requests
		v.cluster.MissedByWatches(func() {
			time.Sleep(2 * timeout)
			for _, source := range v.sources {
				if source.due().IsZero() {
					t.Error("a list waits longer than the timeout")
				}
			}
		})
	})
}
