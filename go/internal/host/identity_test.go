package host

import "testing"

// src/model/node_marks.cc reads these marks on a node without a state label. A node that counts as not started would
// leave its order, and would keep its cordon or the taints of its devices.
func TestANodeHasStartedIfItHasAMarkOfProgress(t *testing.T) {
	const prefix = "nvidia.com/gpu-driver-upgrade"
	for name, row := range map[string]struct {
		key, value string
		started    bool
	}{
		"a timer":                     {prefix + ".stage", "drain-required@1700000000@hash", true},
		"the timer of a waiting node": {prefix + ".stage", "upgrade-required@1700000000@hash", false},
		"a failed revision":           {prefix + ".failed-revision", "hash", true},
		"a pod to restart":            {prefix + ".restart-pod", "uid", true},
		"only a restart":              {prefix + ".restart-only", "a@b", true},
		"isolated devices":            {prefix + ".isolated-devices", "8", true},
		"maintenance":                 {prefix + "-requestor-mode", "true", true},
		"the cordon":                  {cordonedByKey, "nvidia.com/gpu", true},
		"a shared cordon":             {cordonedByKey, "nvidia.com/ofed, nvidia.com/gpu", true},
		"another driver's cordon":     {cordonedByKey, "nvidia.com/ofed", false},
		"an earlier failure":          {prefix + ".failures", "1@1700000000", false},
		"a requested upgrade":         {prefix + "-requested", "true", false},
	} {
		t.Run(name, func(t *testing.T) {
			node := newNode("n")
			node.Annotations = map[string]string{row.key: row.value}
			if started := (Identity{"nvidia.com", "gpu"}).hasStarted(node); started != row.started {
				t.Errorf("got %v", started)
			}
		})
	}
}
