package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"

	"driverupgrade.example/go/internal/engine"
)

func (i Identity) approvedKey() string { return i.String() + "-driver-upgrade.approved" }

// approvalsOn returns the approvals in the DaemonSet's annotation with this key.
func approvalsOn(set *appsv1.DaemonSet, key string) []string {
	return strings.FieldsFunc(set.Annotations[key], func(r rune) bool { return r == ',' || r == ' ' })
}

// Approve sets the approval of a stage on one of the driver's DaemonSets. A nil owner means any part whose rollout
// waits for the approval; otherwise, Approve considers only this owner's part. Approve fails if no rollout waits for
// this approval, or if the rollouts of several owners wait for it. It also fails if a DaemonSet has changed since it
// was read, or if the server refuses the patch. An approval given before the rollout halted does not lift the halt:
// Approve then removes the approval and returns an error.
func (h *Host) Approve(ctx context.Context, owner *string, stage string) error {
	if err := h.begins(); err != nil {
		return err
	}
	defer h.ends()
	approval, halted, err := h.awaited(owner, stage)
	if err != nil {
		return err
	}
	key := h.options.Identity.approvedKey()
	sets := slices.SortedFunc(slices.Values(h.sets.all()), func(a, b *appsv1.DaemonSet) int { return strings.Compare(a.Name, b.Name) })
	if len(sets) == 0 {
		return errors.New("the driver has no DaemonSet")
	}
	given := slices.ContainsFunc(sets, func(set *appsv1.DaemonSet) bool { return slices.Contains(approvalsOn(set, key), approval) })
	if given && !halted {
		return nil // the approval takes effect once the stage has soaked
	}
	for i, set := range sets {
		approvals := slices.DeleteFunc(approvalsOn(set, key), func(one string) bool { return one == approval })
		if !given && i == 0 {
			approvals = append(approvals, approval)
		}
		if err := h.annotate(ctx, set, key, strings.Join(approvals, ",")); err != nil {
			return err
		}
	}
	if given {
		return fmt.Errorf("the approval %s was set before the rollout was halted, so it does not lift the halt; it was removed: approve again", approval)
	}
	return nil
}

// awaited returns the approval that a rollout awaits for this stage, and whether the rollout is halted. A nil owner
// matches every rollout.
func (h *Host) awaited(owner *string, stage string) (approval string, halted bool, err error) {
	found, err := h.engine.Everything()
	if err != nil {
		return "", false, err
	}
	parts := slices.DeleteFunc(found.Parts, func(part engine.OwnedPart) bool {
		return part.Rollout == nil || (owner != nil && part.Owner != *owner)
	})
	if len(parts) == 0 {
		return "", false, errors.New("there is no rollout: the policy of the last ApplyState or ApplyPolicy has no rollout")
	}
	var owners []string
	for _, part := range parts {
		for _, gate := range []*engine.Gate{part.Rollout.Halted, part.Rollout.WaitsFor} {
			if gate == nil || gate.Subject.Kind != "Approval" || !strings.HasPrefix(gate.Subject.Name, stage+"@") {
				continue
			}
			approval, halted, owners = gate.Subject.Name, gate == part.Rollout.Halted, append(owners, part.Owner)
			break
		}
	}
	switch len(owners) {
	case 0:
		return "", false, errors.New("the rollout does not wait for an approval of this stage")
	case 1:
		return approval, halted, nil
	}
	return "", false, fmt.Errorf("the rollouts of several owners wait for this approval (%s): approve each rollout with ApprovePart", strings.Join(owners, ", "))
}

// annotate sets an annotation, or removes it if the value is empty. It sends no request if the annotation already has
// this value.
func (h *Host) annotate(ctx context.Context, set *appsv1.DaemonSet, key, value string) error {
	if set.Annotations[key] == value {
		return nil
	}
	var wanted *string
	if value != "" {
		wanted = &value
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": set.UID, "resourceVersion": set.ResourceVersion,
		"annotations": map[string]*string{key: wanted}}})
	if err != nil {
		return err
	}
	request := engine.Request{Verb: http.MethodPatch, ContentType: string(types.MergePatchType), Body: string(body),
		Target: "/apis/apps/v1/namespaces/" + set.Namespace + "/daemonsets/" + set.Name + "?fieldManager=driverupgrade"}
	return h.connection.send(ctx, ctx, request, true, func() {}).refusal("DaemonSet " + set.Namespace + "/" + set.Name)
}

// Hold keeps further nodes from starting, including nodes of later orders, until Hold is called with an empty reason.
// Orders that exist during the hold stay held until the next ApplyState replaces them. Nodes in progress continue.
func (h *Host) Hold(reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hold = reason
	if reason != "" {
		h.holdOrders(reason, func(*order) bool { return true })
	}
}

// ReportSick reports the operator's reason to halt every rollout; an empty reason withdraws the report.
func (h *Host) ReportSick(reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sick = reason
	for _, o := range h.orders {
		if o.policy != nil && o.sick != reason {
			o.sick = reason
			o.name()
		}
	}
	h.ring()
}

// HoldPart prevents further nodes from starting in the orders that contain a node of the part, until a later call
// replaces these orders.
func (h *Host) HoldPart(part Part, reason string) {
	nodes := map[string]bool{}
	for _, node := range slices.Concat(part.Nodes, part.Podless) {
		nodes[node] = true
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.holdOrders(reason, func(o *order) bool { return o.hasOneOf(nodes) })
}

func (h *Host) holdOrders(reason string, has func(*order) bool) {
	for _, o := range h.orders {
		if o.policy != nil && o.held == "" && has(o) {
			o.held = reason
		}
	}
	for task := range h.underWay {
		if task.order.policy != nil && task.starts && has(task.order) {
			task.withdraw()
		}
	}
	h.ring()
}
