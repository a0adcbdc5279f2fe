package upgrade

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"driverupgrade.example/go/internal/engine"
)

// Types of the conditions that Conditions returns.
const (
	// ConditionProgressing is True while nodes are in progress or wait for the new driver.
	ConditionProgressing = "DriverUpgradeProgressing"
	// ConditionDegraded is True while the rollout is halted or has failed nodes.
	ConditionDegraded = "DriverUpgradeDegraded"
	// ConditionPolicyWarning is True while the policy has fields that have no effect: see Manager.Warnings.
	ConditionPolicyWarning = "DriverUpgradePolicyWarning"
)

// Conditions returns the conditions as of the last passes. The conditions have neither a LastTransitionTime nor an
// ObservedGeneration; meta.SetStatusCondition can add them to the status of a custom resource.
func (m *Manager) Conditions() []metav1.Condition { return m.conditionsOf(m.parts()) }

// ConditionsOf returns the conditions of the parts of an owner (PartOf), for the status of the owner.
func (m *Manager) ConditionsOf(owner string) []metav1.Condition {
	return m.conditionsOf(m.partsOf(owner))
}

func (m *Manager) conditionsOf(parts []engine.OwnedPart) []metav1.Condition {
	return conditionsOf(m.statsOf(parts), firstOf(rolloutsIn(parts)), warningsOf(parts))
}

func conditionsOf(stats Stats, rollout *Rollout, warnings []string) []metav1.Condition {
	counts := fmt.Sprintf("%d of %d nodes done, %d in progress, %d waiting, %d failed", stats.Done, stats.Total, stats.InProgress, stats.Pending, stats.Failed)
	progressing := metav1.Condition{Type: ConditionProgressing, Status: metav1.ConditionTrue, Reason: "InProgress", Message: counts}
	switch {
	case stats.InProgress > 0:
	case stats.Pending > 0:
		progressing.Reason = waitingReason(stats, rollout)
	default:
		progressing.Status, progressing.Reason = metav1.ConditionFalse, "UpToDate"
	}
	degraded := metav1.Condition{Type: ConditionDegraded, Status: metav1.ConditionFalse, Reason: "AsExpected", Message: counts}
	switch {
	case rollout != nil && rollout.Halted != nil:
		degraded.Status, degraded.Reason, degraded.Message = metav1.ConditionTrue, "RolloutHalted", rollout.Halted.Detail
	case stats.Failed > 0:
		degraded.Status, degraded.Reason = metav1.ConditionTrue, "NodesFailed"
	}
	warning := metav1.Condition{Type: ConditionPolicyWarning, Status: metav1.ConditionFalse, Reason: "AsExpected", Message: "every field of the policy has an effect"}
	if len(warnings) > 0 {
		warning.Status, warning.Reason, warning.Message = metav1.ConditionTrue, "FieldsWithoutEffect", strings.Join(warnings, "; ")
	}
	return []metav1.Condition{progressing, degraded, warning}
}

// waitingReason returns the reason why the rollout is closed or, if it is open, the most common reason why nodes wait.
// It resolves ties by name.
func waitingReason(stats Stats, rollout *Rollout) string {
	if rollout != nil && rollout.Closed != nil {
		return rollout.Closed.Reason
	}
	reason := "Waiting"
	for _, one := range slices.Sorted(maps.Keys(stats.Waiting)) {
		if stats.Waiting[one] > stats.Waiting[reason] {
			reason = one
		}
	}
	return reason
}
