package upgrade

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/yaml"

	"driverupgrade.example/go/internal/engine"
	"driverupgrade.example/go/internal/host"
)

// WithLedger names the ConfigMap that serves as the ledger: it stores the grants of nodes and the record of a rollout.
// With a ledger, budgets hold even if two replicas believe that they are the leader. A policy with a rollout requires a
// ledger. The ConfigMap may be shared with native operators, and is created if it is missing. The operator needs
// permission to get, create and patch the ConfigMap, and to list nodes.
//
// With a ledger, BuildState must select all of the driver's nodes, because the record covers all of them. With several
// policies, each record covers the nodes of one part: see PartOf.
func WithLedger(namespace, name string) Option {
	return func(m *Manager) { m.options.Ledger = &engine.Ledger{Namespace: namespace, Name: name} }
}

// WithGrantsMax sets how many nodes the ledger admits at the same time (default: 5000, also for zero and negative
// numbers). A ConfigMap can contain at most 1 MiB, and a grant takes about 50 bytes. Without WithLedger, this option has
// no effect.
func WithGrantsMax(grants int) Option {
	return func(m *Manager) { m.options.GrantsMax = max(grants, 0) }
}

// ApplyPolicy is like ApplyState, but takes a complete policy as described in docs/policy.md, in YAML or JSON,
// including stages, canaries, windows, groups and health. Upgrades start only with `autoUpgrade: true`. Errors: same as
// for ApplyState; the document is not a policy; the policy has a rollout, but the Manager has no ledger; this machine
// does not know a time zone in the policy. If the document is invalid, the previous policy still applies, except that
// an explicit `autoUpgrade: false` or `paused: true` takes effect if the document can be parsed.
func (m *Manager) ApplyPolicy(ctx context.Context, currentState *ClusterUpgradeState, policy []byte) error {
	var members map[string]json.RawMessage
	text, err := yaml.YAMLToJSONStrict(policy)
	if err == nil {
		err = json.Unmarshal(text, &members)
	}
	if err != nil {
		err = fmt.Errorf("the upgrade policy: %w", err)
		if parts, _, unknown := partsOf(currentState); unknown == nil {
			refuse(parts, err)
		}
		return err
	}
	return m.apply(ctx, currentState, members)
}

// refuse makes the page show why the policy of these parts was refused.
func refuse(parts []*part, err error) {
	for _, of := range parts {
		of.host.Refuse(of.Part, err)
	}
}

// Pause prevents further nodes from starting, regardless of the applied policies, until Resume is called. Nodes in
// progress continue.
func (m *Manager) Pause() {
	m.hold("paused by the operator")
}

// Resume reverts Pause. Nodes start again with the next ApplyState or ApplyPolicy.
func (m *Manager) Resume() {
	m.hold("")
}

// hold keeps the lock while it notifies the hosts, so that no host created in the meantime misses the reason.
func (m *Manager) hold(reason string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held = reason
	for _, one := range m.hosts {
		one.Hold(reason)
	}
}

// ReportSick reports why the operator considers the rollout sick, for example because of metrics that the Manager does
// not know. While there is a reason, every rollout is halted: no further node starts, and nodes in progress finish. An
// empty reason withdraws the report, but a halt stays until Approve lifts it. Policies without a rollout are not
// affected: see Pause.
func (m *Manager) ReportSick(reason string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sick = reason
	for _, one := range m.hosts {
		one.ReportSick(reason)
	}
}

// Approve allows the stage that follows `stage` to start, or lifts the halt of `stage`. It sets an annotation on the
// driver's DaemonSet, so the operator needs permission to patch DaemonSets. Errors: no rollout waits for this approval;
// the server refuses the write. An approval given before the halt does not lift the halt: if there is such an approval,
// Approve removes it and returns an error, and the caller must approve again. If the rollouts of several owners wait
// for an approval of a stage with this name, Approve approves none of them: use ApprovePart.
func (m *Manager) Approve(ctx context.Context, stage string) error {
	return m.approve(ctx, nil, stage)
}

// ApprovePart is Approve for the rollout of an owner's part: see PartOf.
func (m *Manager) ApprovePart(ctx context.Context, owner, stage string) error {
	return m.approve(ctx, &owner, stage)
}

func (m *Manager) approve(ctx context.Context, owner *string, stage string) error {
	err := errors.New("no rollout was applied")
	for _, one := range m.allHosts() {
		if err = one.Approve(ctx, owner, stage); err == nil {
			return nil
		}
	}
	return fmt.Errorf("approve stage %s: %w", stage, err)
}

// Warnings returns warnings about fields of the last policy that have no effect, or not the effect that the author
// probably expects. Each warning is a sentence that starts with the path of the field, as spelled in docs/policy.md.
// The list is empty for most policies, and before the first pass.
func (m *Manager) Warnings() []string {
	return warningsOf(m.parts())
}

func warningsOf(parts []engine.OwnedPart) []string {
	var warnings []string
	for _, part := range parts {
		for _, warning := range part.Warnings {
			if !slices.Contains(warnings, warning) {
				warnings = append(warnings, warning)
			}
		}
	}
	return warnings
}

// Rollout is the progress of a rollout, for the status of a custom resource.
type Rollout struct {
	Owner    string    // owner of the part (PartOf); empty: the part has no owner
	Revision string    // revision of the driver, as in approvals
	Began    time.Time // zero if unknown
	Stage    string    // the open stage
	Stages   []RolloutStage
	Gangs    *RolloutGangs
	Rollback string // Staged or Fast if the rollout returns the fleet to the revision that it completed last; otherwise empty
	WaitsFor *Gate  // reason why the next stage has not started; nil after the last stage
	Halted   *Gate  // reason why no node starts; nil: the rollout is not halted
	Closed   *Gate  // reason why no node starts at this time; nil: nodes may start
}

// RolloutStage counts the nodes of a stage. The last stage, `rest`, contains the nodes that no stage names.
type RolloutStage = engine.RolloutStage

// RolloutGangs counts the gang interruptions that are still expected, and those that this process has caused.
// Rollout.Gangs is nil if the policy ignores gangs.
type RolloutGangs = engine.RolloutGangs

// Rollout returns the progress of the rollout as of the last pass, or false if the policy had no rollout. If several
// owners have rollouts, it returns the first halted rollout or, if none is halted, the first rollout by owner: see
// Rollouts.
func (m *Manager) Rollout() (Rollout, bool) {
	if rollout := firstOf(m.Rollouts()); rollout != nil {
		return *rollout, true
	}
	return Rollout{}, false
}

// Rollouts returns the rollout progress of all parts, by owner.
func (m *Manager) Rollouts() []Rollout { return rolloutsIn(m.parts()) }

func rolloutsIn(parts []engine.OwnedPart) (rollouts []Rollout) {
	for _, part := range parts {
		if part.Rollout != nil {
			rollouts = append(rollouts, rolloutOf(part.Owner, *part.Rollout))
		}
	}
	return rollouts
}

func firstOf(rollouts []Rollout) *Rollout {
	for i := range rollouts {
		if rollouts[i].Halted != nil {
			return &rollouts[i]
		}
	}
	if len(rollouts) == 0 {
		return nil
	}
	return &rollouts[0]
}

func rolloutOf(owner string, of engine.Rollout) Rollout {
	made := Rollout{Owner: owner, Revision: of.Revision, Stage: of.Stage, Stages: of.Stages, Gangs: of.Gangs, Rollback: of.Rollback}
	if of.Began != nil {
		made.Began = time.UnixMilli(*of.Began)
	}
	for _, one := range []struct {
		from *engine.Gate
		to   **Gate
	}{{of.WaitsFor, &made.WaitsFor}, {of.Halted, &made.Halted}, {of.Closed, &made.Closed}} {
		if one.from != nil {
			gate := gateOf(*one.from)
			*one.to = &gate
		}
	}
	return made
}

const validMax = 100 // maximum number of policies that are known to be valid

// validate returns an error if the document is not a policy. It must be called before the document replaces the
// previous policy, even if autoUpgrade is not true: otherwise, a typo could turn upgrades off. Operators apply the same
// policies again and again, so valid documents are validated only once.
func (m *Manager) validate(policy []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.valid[string(policy)] {
		return nil
	}
	if err := engine.ValidatePolicy(policy, m.options.Clock.Now()); err != nil {
		return err
	}
	if len(m.valid) >= validMax {
		clear(m.valid)
	}
	m.valid[string(policy)] = true
	return nil
}

// apply makes one pass under a policy, and leaves later work to the hosts. An explicit stop takes effect even if the
// policy is invalid: an administrator who stops the upgrades must not depend on the other fields.
func (m *Manager) apply(ctx context.Context, currentState *ClusterUpgradeState, members map[string]json.RawMessage) error {
	parts, foreign, err := partsOf(currentState)
	if err != nil {
		return err
	}
	off := string(members["autoUpgrade"]) != "true"
	if err := checkOurs(foreign); err != nil && !off {
		return err
	}
	policy, err := json.Marshal(members)
	if err != nil {
		return fmt.Errorf("the upgrade policy: %w", err)
	}
	var failures []error
	if err := m.validate(policy); err != nil {
		err = fmt.Errorf("the upgrade policy: %w", err)
		failures = append(failures, err)
		defer refuse(parts, err) // after the stop, if there is one
		if string(members["autoUpgrade"]) != "false" {
			if string(members["paused"]) == "true" {
				for _, of := range parts {
					of.host.HoldPart(of.Part, "paused by a policy with an error; no node starts before the next valid policy")
				}
			}
			return err
		}
	}
	if off {
		policy = []byte(`{"autoUpgrade":false}`)
	}
	for _, of := range parts {
		err := of.host.Apply(ctx, of.Part, policy, off)
		if off && errors.Is(err, host.ErrClosed) {
			continue // nothing is left to switch off
		}
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}
