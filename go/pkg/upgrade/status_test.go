package upgrade

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestConditionsDescribeTheUpgrade(t *testing.T) {
	for name, test := range map[string]struct {
		stats                 Stats
		rollout               *Rollout
		progressing, degraded string // status and reason
	}{
		"no node":           {Stats{}, nil, "False UpToDate", "False AsExpected"},
		"all nodes done":    {Stats{Total: 3, Done: 3}, nil, "False UpToDate", "False AsExpected"},
		"nodes in progress": {Stats{Total: 3, InProgress: 1, Pending: 2, Waiting: map[string]int{"MaxParallel": 2}}, nil, "True InProgress", "False AsExpected"},
		"nodes that wait":   {Stats{Total: 3, Pending: 3, Waiting: map[string]int{"Paused": 1, "Window": 2}}, nil, "True Window", "False AsExpected"},
		"nodes that failed": {Stats{Total: 3, Done: 2, Failed: 1}, nil, "False UpToDate", "True NodesFailed"},
		"a closed rollout":  {Stats{Total: 3, Pending: 3}, &Rollout{Closed: &Gate{Reason: "Window"}}, "True Window", "False AsExpected"},
		"a halted rollout": {Stats{Total: 3, Pending: 2, Failed: 1, Waiting: map[string]int{"Halted": 2}}, &Rollout{Halted: &Gate{Detail: "node n1 is sick"}},
			"True Halted", "True RolloutHalted"},
	} {
		t.Run(name, func(t *testing.T) {
			found := map[string]metav1.Condition{}
			for _, one := range conditionsOf(test.stats, test.rollout, nil) {
				found[one.Type] = one
			}
			for kind, wanted := range map[string]string{ConditionProgressing: test.progressing, ConditionDegraded: test.degraded} {
				if one := found[kind]; string(one.Status)+" "+one.Reason != wanted || one.Message == "" {
					t.Errorf("%s is %+v, not %s", kind, one, wanted)
				}
			}
		})
	}
}
