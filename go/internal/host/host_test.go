package host

import (
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"

	"driverupgrade.example/go/internal/engine"
	"driverupgrade.example/go/internal/fakecluster"
)

func TestAClosedHostRejectsOrders(t *testing.T) {
	cluster := fakecluster.New()
	defer cluster.Close()
	connection, err := Connect(cluster.Config(), runtime.NewScheme())
	if err != nil {
		t.Fatal(err)
	}
	h, err := New(connection, Options{Identity: Identity{"nvidia.com", "gpu"}, Namespace: fakecluster.Namespace, DriverLabels: map[string]string{"app": "driver"},
		Interval: time.Minute, Clock: clock.RealClock{}, Log: logr.Discard(), Engine: engine.New})
	if err != nil {
		t.Fatal(err)
	}
	h.Close()
	h.running.Wait()
	for range 3 {
		if err := h.Apply(t.Context(), Part{Nodes: []string{"n"}}, []byte(`{}`), false); !errors.Is(err, ErrClosed) {
			t.Errorf("got %v", err)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.orders) > 0 {
		t.Errorf("%d orders are kept", len(h.orders))
	}
}
