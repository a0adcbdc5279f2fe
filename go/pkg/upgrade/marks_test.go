package upgrade

import (
	"context"
	"testing"
)

// check fails the test unless the error contains this text. If the text is empty, the error must be nil.
func (w *world) check(err error, text string) {
	w.t.Helper()
	if (err == nil) != (text == "") || (err != nil && !contains(err.Error(), text)) {
		w.t.Errorf("got %v, not %q", err, text)
	}
}

func TestASkippedNodeIsNotUpgradedBeforeUnskip(t *testing.T) {
	w := newWorld(t, 2)
	w.check(w.manager.Skip(t.Context(), "n0"), "skip node n0: no state returned by BuildState contains this node")
	w.apply(t.Context(), policyOf(0))
	w.eventually("the states of current nodes", w.allIn(UpgradeStateDone))
	for range 2 {
		w.check(w.manager.Skip(t.Context(), "n0"), "")
	}
	w.check(w.manager.Skip(t.Context(), "n9"), "no state returned by BuildState contains this node")
	w.cluster.NewDriver()
	w.eventually("the upgrade of the other node", func() bool {
		return w.cluster.State("n1") == UpgradeStateDone && w.cluster.Revision("n1") == "hash-2"
	})
	w.awaitGate("n0", "SkipLabel")
	if w.cluster.TimesCordoned("n0") > 0 {
		t.Error("the node was upgraded")
	}
	for range 2 {
		w.check(w.manager.Unskip(t.Context(), "n0"), "")
	}
	w.awaitEnd()
}

func TestANodeInProgressCanNeitherBeSkippedNorRequestedNorRetried(t *testing.T) {
	w, started := inTheMiddle(t, 2, 1)
	for text, verb := range map[string]func(ctx context.Context, node string) error{
		"it is in pod-restart-required, and the skip label has an effect only before": w.manager.Skip,
		"it is already in pod-restart-required":                                       w.manager.RequestUpgrade,
		`it has not failed: its state is "pod-restart-required"`:                      w.manager.Retry,
	} {
		w.check(verb(t.Context(), started[0]), text)
	}
}

func TestAFailedNodeIsUpgradedAfterRetry(t *testing.T) {
	w, started := inTheMiddle(t, 1, 1)
	w.cluster.FailDriver(started[0])
	w.awaitState(started[0], UpgradeStateFailed)
	w.check(w.manager.RequestUpgrade(t.Context(), started[0]), "it has failed; call Retry")
	w.check(w.manager.Retry(t.Context(), started[0]), "")
	w.eventually("its new driver pod", func() bool {
		w.cluster.SetReady(started[0])
		return w.cluster.State(started[0]) == UpgradeStateDone
	})
}

func TestARequestedNodeIsUpgradedAlthoughItsDriverIsCurrent(t *testing.T) {
	w := newWorld(t, 1)
	w.apply(t.Context(), policyOf(1))
	w.eventually("the state of a current node", w.allIn(UpgradeStateDone))
	w.check(w.manager.RequestUpgrade(t.Context(), "n0"), "")
	w.eventually("its upgrade", func() bool { return w.cluster.TimesCordoned("n0") == 1 && w.allIn(UpgradeStateDone)() })
}

func TestAMarkThatTheServerRefusesIsAnError(t *testing.T) {
	w := newWorld(t, 1)
	w.apply(t.Context(), policyOf(1))
	w.eventually("the state of a current node", w.allIn(UpgradeStateDone))
	w.cluster.SetBefore(func(string, string) bool { return false })
	w.check(w.manager.Skip(t.Context(), "n0"), "skip node n0: patch node n0: 503: ServiceUnavailable")
}
