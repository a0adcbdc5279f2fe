package upgrade

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"driverupgrade.example/go/internal/engine"
)

// mute is an engine that temporarily hides its questions, so that they remain unanswered. It keeps the findings of its
// last pass.
type mute struct {
	engine.Engine
	hides    atomic.Bool
	findings atomic.Pointer[[]engine.Finding]
}

func (e *mute) Read(now time.Time) (engine.Reading, error) {
	reading, err := e.Engine.Read(now)
	if e.hides.Load() {
		reading.Questions = nil
	}
	return reading, err
}

func (e *mute) Apply(nodes, policy []byte, now time.Time) (engine.Pass, error) {
	found, err := e.Engine.Apply(nodes, policy, now)
	e.findings.Store(&found.Findings)
	return found, err
}

// has reports whether the last pass has a finding with this code.
func (e *mute) has(code string) bool {
	return slices.ContainsFunc(*e.findings.Load(), func(finding engine.Finding) bool { return finding.Code == code })
}

// W43: a finding can be momentary if the DaemonSet's controller is behind, or if a question has not been answered yet.
func TestAMomentaryFindingIsLoggedAfterFiveSeconds(t *testing.T) {
	for code, one := range map[string]struct {
		text       string
		begin, end func(w *world, e *mute)
	}{
		"RevisionUnknown": {"has not seen generation 1 yet",
			func(w *world, _ *mute) { w.cluster.SetObserved(0) },
			func(w *world, _ *mute) { w.cluster.SetObserved(1) }},
		"HookFailed": {"has not answered yet",
			func(w *world, e *mute) { e.hides.Store(true); w.cluster.NewDriver() },
			func(w *world, e *mute) {
				e.hides.Store(false)
				w.cluster.SetLabel("n0", "round", "another")
				w.awaitRevision("hash-2")
			}},
	} {
		t.Run(code, func(t *testing.T) {
			w, muted := newWorld(t, 1), new(mute)
			log, lines := logged(0)
			w.manage(setup{log: log})
			w.manager.options.Engine = func(options engine.Options) (engine.Engine, error) {
				made, err := engine.New(options)
				muted.Engine = made
				return muted, err
			}
			w.manager.WithRestartOnlyPredicate(func(_, _ *corev1.PodSpec) (bool, error) { return true, nil })
			reported := func() int {
				return len(slices.DeleteFunc(lines(), func(line string) bool { return !contains(line, code, one.text) }))
			}
			w.apply(t.Context(), policyOf(1))
			w.eventually("the state of a current node", w.allIn(UpgradeStateDone))
			one.begin(w, muted)
			w.eventually("the finding", func() bool { return muted.has(code) })
			w.clock.Step(4 * time.Second)
			one.end(w, muted)
			w.eventually("the end of the finding", func() bool { return !muted.has(code) })
			if times := reported(); times > 0 {
				t.Errorf("logged though it has lasted for four seconds: %q", lines())
			}
			one.begin(w, muted)
			w.eventually("the finding", func() bool { return muted.has(code) })
			w.eventually("its report", func() bool { w.clock.Step(time.Second); return reported() > 0 })
			w.apply(t.Context(), policyOf(1))
			if times := reported(); times != 1 {
				t.Errorf("logged %d times: %q", times, lines())
			}
		})
	}
}
