package upgrade

import (
	"encoding/json"
	"fmt"

	"github.com/NVIDIA/k8s-operator-libs/api/upgrade/v1alpha1"
)

// isOff tells whether nothing is to be upgraded. extra may say so, too.
func isOff(policy *v1alpha1.DriverUpgradePolicySpec, extra map[string]json.RawMessage) bool {
	return policy == nil || !policy.AutoUpgrade || string(extra["autoUpgrade"]) == "false"
}

// policyDocument spells the policy out for the engine. The Go types leave zeros out of their JSON, and here a zero means
// something else than silence: no limit, or for ever.
func policyDocument(policy *v1alpha1.DriverUpgradePolicySpec, extra map[string]json.RawMessage) ([]byte, error) {
	if policy == nil || !policy.AutoUpgrade {
		return []byte(`{"autoUpgrade":false}`), nil
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
	for name, value := range extra {
		document[name] = value
	}
	text, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("the upgrade policy: %w", err)
	}
	return text, nil
}
