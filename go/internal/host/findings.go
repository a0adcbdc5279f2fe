package host

import (
	"time"

	"driverupgrade.example/go/internal/engine"
)

// Time for which a momentary finding must last before it is logged.
const momentMax = 5 * time.Second

// isMomentary reports whether the finding is normal as long as it does not persist. Right after a DaemonSet changes,
// the DaemonSet controller has not observed the change yet. Similarly, the host answers the engine's questions only
// after the pass that raises them.
func isMomentary(finding engine.Finding) bool {
	return finding.Code == "RevisionUnknown" || finding.Code == "HookFailed"
}

// noted is the record of a finding: the time since which every pass has reported it, and whether it has been logged.
type noted struct {
	since  time.Time
	logged bool
}

// logPass logs each finding when it first appears, and again only if it clears and returns. A momentary finding is
// logged only after it has persisted. logPass returns the time at which another pass must check whether a momentary
// finding has persisted, or zero if no finding requires such a pass.
func (h *Host) logPass(o *order, found engine.Pass, now time.Time) (due time.Time) {
	for _, gate := range found.Gates {
		h.log.V(1).Info("node waits", "node", gate.Node, "state", gate.State, "reason", gate.Reason, "detail", gate.Detail)
	}
	findings := map[engine.Finding]noted{}
	for _, finding := range found.Findings {
		if _, twice := findings[finding]; twice {
			continue
		}
		one, known := o.findings[finding]
		if !known {
			one.since = now
		}
		reported := one.since
		if isMomentary(finding) {
			reported = reported.Add(momentMax)
		}
		switch {
		case one.logged:
		case now.Before(reported):
			due = earliest(due, reported)
		default:
			h.log.Info("finding", "code", finding.Code, "node", finding.Node, "message", finding.Message)
			one.logged = true
		}
		findings[finding] = one
	}
	o.findings = findings
	return due
}

// earliest returns the earlier of two times; zero means never.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}
