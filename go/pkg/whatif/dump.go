package whatif

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

// Dump creates the argument `cluster` of Simulate and Preflight from objects that a client has read. Objects of
// built-in kinds need no TypeMeta, because clients omit it; Dump fails if an object of any other kind has no TypeMeta.
func Dump(objects ...runtime.Object) ([]byte, error) {
	items := make([]json.RawMessage, 0, len(objects))
	for _, object := range objects {
		if object.GetObjectKind().GroupVersionKind().Empty() {
			kinds, _, err := scheme.Scheme.ObjectKinds(object)
			if err != nil {
				return nil, fmt.Errorf("the kind of an object: %w", err)
			}
			object = object.DeepCopyObject()
			object.GetObjectKind().SetGroupVersionKind(kinds[0])
		}
		item, err := json.Marshal(object)
		if err != nil {
			return nil, fmt.Errorf("an object as JSON: %w", err)
		}
		items = append(items, item)
	}
	return json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
}
