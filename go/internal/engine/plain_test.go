//go:build !driverupgrade_cgo

package engine

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

// newOne returns an engine with one node, whose driver is up to date.
func newOne(t *testing.T) *locked {
	made, err := New(Options{Identity: Identity{Domain: "nvidia.com", Driver: "gpu"}, Namespace: "gpu-operator", DriverLabels: "app=driver"})
	if err != nil {
		t.Fatal(err)
	}
	owner := `"ownerReferences":[{"apiVersion":"apps/v1","kind":"DaemonSet","name":"driver","uid":"set","controller":true}]`
	for kind, item := range map[Kind]string{
		Nodes: `{"metadata":{"name":"n","uid":"n","resourceVersion":"1"},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`,
		DriverPods: `{"metadata":{"namespace":"gpu-operator","name":"p","uid":"p","resourceVersion":"1","labels":{"app":"driver",
			"controller-revision-hash":"h"},` + owner + `},"spec":{"nodeName":"n"},"status":{"phase":"Running"}}`,
		DaemonSets: `{"metadata":{"namespace":"gpu-operator","name":"driver","uid":"set","resourceVersion":"1","labels":{"app":"driver"}},
			"spec":{"selector":{"matchLabels":{"app":"driver"}},"updateStrategy":{"type":"OnDelete"}},"status":{}}`,
		ControllerRevisions: `{"metadata":{"namespace":"gpu-operator","name":"driver-h","uid":"r","resourceVersion":"1",
			"labels":{"controller-revision-hash":"h"},` + owner + `},"revision":1}`,
	} {
		if err := made.Put(kind, []byte(fmt.Sprintf(`{"kind":"%sList","metadata":{"resourceVersion":"1"},"items":[%s]}`, kind, item))); err != nil {
			t.Fatal(kind, err)
		}
	}
	return made.(*locked)
}

func TestAHundredThousandCallsOfAnEngineDoNotGrow(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute under the race detector")
	}
	engine := newOne(t)
	defer engine.Close()
	now := time.Unix(1_700_000_000, 0)
	policy := []byte(`{"autoUpgrade":true}`)
	round := func() {
		now = now.Add(time.Second)
		_, err := engine.Apply(nil, policy, now)
		for err == nil {
			var request Request
			if request, err = engine.Next("n", now); request.Verb == "" {
				break
			}
			_, err = engine.Answer("n", 503, 0, []byte("later"), now)
		}
		if err == nil {
			_, err = engine.Settle(now)
		}
		if err == nil {
			_, err = engine.Explain("n")
		}
		if err == nil {
			_, err = engine.Read(now)
		}
		if err == nil {
			_, err = engine.Everything()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 1000 {
		round()
	}
	before := engine.backend.(*plain).instance.Size()
	for range 16_000 { // six calls in each round, and two more in some rounds
		round()
	}
	if after := engine.backend.(*plain).instance.Size(); after != before {
		t.Errorf("the memory has grown from %d to %d", before, after)
	}
}

func TestATrapOfTheModuleIsADefectFromThenOn(t *testing.T) {
	broken, whole := newOne(t), newOne(t)
	Break(broken)
	for _, call := range []func() error{
		func() error { _, err := broken.Settle(time.Unix(1, 0)); return err },
		func() error { _, err := broken.Read(time.Unix(1, 0)); return err },
		func() error { return broken.Put(Nodes, []byte(`{}`)) },
	} {
		var failed *Error
		if err := call(); !errors.As(err, &failed) || failed.Code != CodeDefect {
			t.Errorf("got %v", err)
		}
	}
	if reading, err := whole.Read(time.Unix(1, 0)); err != nil || len(reading.Nodes) != 1 {
		t.Errorf("another engine: %v, %v", reading, err)
	}
}
