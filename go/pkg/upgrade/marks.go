package upgrade

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"driverupgrade.example/go/internal/host"
)

// Skip excludes a node from all upgrades until Unskip is called. It does nothing if the node is already excluded.
// Errors: the upgrade of the node is in progress, no state returned by BuildState contains the node, or the server
// refuses the write.
func (m *Manager) Skip(ctx context.Context, node string) error {
	return m.mark(ctx, "skip", node, func(keys Keys, node *corev1.Node) (mark host.Mark, err error) {
		switch state := node.Labels[keys.StateLabel()]; {
		case node.Labels[keys.SkipNodeLabel()] == "true":
			return mark, nil
		case !slices.Contains(idleStates, state):
			return mark, fmt.Errorf("it is in %s, and the skip label has an effect only before an upgrade starts", state)
		}
		return host.Mark{Kind: "labels", Key: keys.SkipNodeLabel(), Value: new("true")}, nil
	})
}

// Unskip reverts Skip. It does nothing if the node has no skip label. Errors: same as for Skip.
func (m *Manager) Unskip(ctx context.Context, node string) error {
	return m.mark(ctx, "unskip", node, func(keys Keys, node *corev1.Node) (mark host.Mark, err error) {
		if _, skipped := node.Labels[keys.SkipNodeLabel()]; !skipped {
			return mark, nil
		}
		return host.Mark{Kind: "labels", Key: keys.SkipNodeLabel()}, nil
	})
}

// Retry starts the upgrade of a failed node again when its turn comes. It does nothing if the node is already waiting
// for its turn. Errors: the node has not failed, no state returned by BuildState contains the node, or the server
// refuses the write.
func (m *Manager) Retry(ctx context.Context, node string) error {
	return m.mark(ctx, "retry", node, func(keys Keys, node *corev1.Node) (mark host.Mark, err error) {
		switch state := node.Labels[keys.StateLabel()]; state {
		case UpgradeStateUpgradeRequired:
			return mark, nil
		case UpgradeStateFailed:
			return host.Mark{Kind: "labels", Key: keys.StateLabel(), Value: new(UpgradeStateUpgradeRequired)}, nil
		default:
			return mark, fmt.Errorf("it has not failed: its state is %q", state)
		}
	})
}

// RequestUpgrade requests an upgrade of a node even if its driver is current. It does nothing if an upgrade has already
// been requested. Errors: the node has failed, waits for its turn, or is in progress; no state returned by BuildState
// contains the node; or the server refuses the write.
func (m *Manager) RequestUpgrade(ctx context.Context, node string) error {
	return m.mark(ctx, "request an upgrade of", node, func(keys Keys, node *corev1.Node) (mark host.Mark, err error) {
		switch state := node.Labels[keys.StateLabel()]; {
		case node.Annotations[keys.RequestedAnnotation()] == "true":
			return mark, nil
		case state == UpgradeStateFailed:
			return mark, errors.New("it has failed; call Retry")
		case state != UpgradeStateUnknown && state != UpgradeStateDone:
			return mark, fmt.Errorf("it is already in %s", state)
		}
		return host.Mark{Kind: "annotations", Key: keys.RequestedAnnotation(), Value: new("true")}, nil
	})
}

// mark writes the mark that decide returns for the node; it writes nothing if the mark has no key.
func (m *Manager) mark(ctx context.Context, verb, name string, decide func(Keys, *corev1.Node) (host.Mark, error)) error {
	for _, one := range m.allHosts() {
		node, err := one.Node(ctx, name)
		if err == nil && node == nil {
			continue
		}
		var mark host.Mark
		if err == nil {
			mark, err = decide(Keys(one.Driver()), node)
		}
		if err == nil && mark.Key != "" {
			err = one.SetMark(ctx, node, mark)
		}
		if err != nil {
			return fmt.Errorf("%s node %s: %w", verb, name, err)
		}
		return nil
	}
	return fmt.Errorf("%s node %s: no state returned by BuildState contains this node", verb, name)
}
