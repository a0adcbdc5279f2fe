package host

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"driverupgrade.example/go/internal/engine"
)

// Mark is a label or an annotation with which an operator controls the upgrade of a node.
type Mark struct {
	Kind  string // labels or annotations
	Key   string
	Value *string // nil: the mark is removed
}

// Node returns the node with this name if it has a driver pod or the driver's state label, and nil if it has neither.
// Node first waits for the watches to show the module's own writes. The caller must not change the object.
func (h *Host) Node(ctx context.Context, name string) (*corev1.Node, error) {
	if err := h.begins(); err != nil {
		return nil, err
	}
	defer h.ends()
	if err := h.catchUp(ctx); err != nil {
		return nil, err
	}
	node, found := h.nodes.find(name)
	if !found {
		return nil, nil
	}
	_, labelled := node.Labels[h.options.Identity.stateLabel()]
	if !labelled && !slices.ContainsFunc(h.pods.all(), func(pod *corev1.Pod) bool { return pod.Spec.NodeName == name }) {
		return nil, nil
	}
	return node, nil
}

// SetMark writes a mark. It fails if the node has changed since it was read, or if the server refuses the patch.
func (h *Host) SetMark(ctx context.Context, node *corev1.Node, mark Mark) error {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": node.UID, "resourceVersion": node.ResourceVersion,
		mark.Kind: map[string]*string{mark.Key: mark.Value}}})
	if err != nil {
		return err
	}
	request := engine.Request{Verb: http.MethodPatch, Target: "/api/v1/nodes/" + node.Name + "?fieldManager=driverupgrade",
		ContentType: string(types.MergePatchType), Body: string(body)}
	write := h.ownWriteOf(request)
	told := h.connection.send(ctx, ctx, request, true, write.sent)
	write.answered(told)
	return told.refusal("node " + node.Name)
}

// refusal returns the reason why a patch to the object was not applied, or nil if it was.
func (a answer) refusal(object string) error {
	switch {
	case a.err != nil:
		return a.err
	case a.status == http.StatusConflict:
		return fmt.Errorf("patch %s: the object has changed since it was read; call again", object)
	case a.status < 200 || a.status > 299:
		var refused metav1.Status
		_ = json.Unmarshal(a.body, &refused)
		return fmt.Errorf("patch %s: %d: %s", object, a.status, refused.Message)
	}
	return nil
}
