package upgrade

import (
	"encoding/json"
	"fmt"

	"github.com/NVIDIA/k8s-operator-libs/api/upgrade/v1alpha1"
)

// policyMembers converts the policy to the members of the engine's policy document. The Go types omit zeros from their
// JSON, but the engine distinguishes a zero, which means no limit or no timeout, from a missing field. The fields of
// extra take precedence over the fields of the policy, but cannot switch upgrades on.
func policyMembers(policy *v1alpha1.DriverUpgradePolicySpec, extra map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	if policy == nil || !policy.AutoUpgrade {
		return map[string]json.RawMessage{"autoUpgrade": json.RawMessage("false")}, nil
	}
	document := map[string]any{"autoUpgrade": true, "maxParallelUpgrades": policy.MaxParallelUpgrades}
	if policy.MaxUnavailable != nil {
		document["maxUnavailable"] = policy.MaxUnavailable
	}
	if wait := policy.WaitForCompletion; wait != nil {
		document["waitForCompletion"] = map[string]any{"podSelector": wait.PodSelector, "timeoutSeconds": wait.TimeoutSecond}
	}
	if deletion := policy.PodDeletion; deletion != nil {
		document["podDeletion"] = map[string]any{"force": deletion.Force, "timeoutSeconds": deletion.TimeoutSecond,
			"deleteEmptyDir": deletion.DeleteEmptyDir}
	}
	if drain := policy.DrainSpec; drain != nil {
		document["drain"] = map[string]any{"enable": drain.Enable, "force": drain.Force, "podSelector": drain.PodSelector,
			"timeoutSeconds": drain.TimeoutSecond, "deleteEmptyDir": drain.DeleteEmptyDir}
	}
	members := map[string]json.RawMessage{}
	for name, value := range document {
		text, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("the upgrade policy: %w", err)
		}
		members[name] = text
	}
	overlay(members, extra)
	return members, nil
}

// overlay adds the members of extra to base. Objects are merged member by member, so that a section of extra keeps the
// other fields of the same section: without its `enable`, a drain would be off. All other values replace the value in
// base.
func overlay(base, extra map[string]json.RawMessage) {
	for name, value := range extra {
		base[name] = overlaid(base[name], value)
	}
}

func overlaid(base, extra json.RawMessage) json.RawMessage {
	below, above := objectIn(base), objectIn(extra)
	if below == nil || above == nil {
		return extra
	}
	overlay(below, above)
	merged, err := json.Marshal(below)
	if err != nil {
		return extra // cannot happen: both objects have just been parsed
	}
	return merged
}

// objectIn returns the members of an object, or nil if the text is not an object.
func objectIn(text json.RawMessage) (members map[string]json.RawMessage) {
	if json.Unmarshal(text, &members) != nil {
		return nil
	}
	return members
}
