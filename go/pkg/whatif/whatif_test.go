package whatif

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

const tests = "../../../tests/"

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(tests + name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// jobs returns the request that tests/c/forecast_test.cc makes about tests/field/training-jobs.
func jobs(policy []byte) Request {
	return Request{
		Domain:         "nvidia.com",
		Driver:         "gpu",
		Namespace:      "gpu-operator",
		DriverLabels:   "app=nvidia-driver-daemonset",
		PolicyDefaults: "gpu-operator",
		Policy:         policy,
		At:             time.Date(2026, 1, 2, 12, 5, 0, 0, time.UTC),
	}
}

func TestSimulationsMatchTheNativeEngineByteForByte(t *testing.T) {
	trials := Trials{Policies: []Policy{
		{"by-name.yaml", read(t, "field/training-jobs/by-name.yaml")},
		{"gangs.yaml", read(t, "field/training-jobs/gangs.yaml")},
	}}
	cluster := read(t, "field/training-jobs/dump.json")
	text, err := SimulateJSON(jobs(nil), trials, cluster)
	if err != nil {
		t.Fatal(err)
	}
	if want := read(t, "tools/upgradectl/testdata/jobs.simulated.json"); !bytes.Equal(text, want) {
		t.Errorf("the simulation is\n%s\nnatively it is\n%s", text, want)
	}
	rollouts, err := Simulate(jobs(nil), trials, cluster)
	if err != nil {
		t.Fatal(err)
	}
	if len(rollouts) != 2 || rollouts[1].Policy != "gangs.yaml" || !rollouts[1].Finishes || rollouts[1].GangInterruptions != 5 {
		t.Errorf("%+v", rollouts)
	}
}

func TestPoliciesThatIsolateDevicesAreComparedWithCordons(t *testing.T) {
	policy := func(scope string) []byte {
		return []byte(`{autoUpgrade: true, maxUnavailable: 100%, drain: {enable: true}, isolation: {scope: ` + scope + `}}`)
	}
	trials := Trials{Policies: []Policy{{"node", policy("Node")}, {"devices", policy("Devices")}}}
	cluster := read(t, "tools/upgradectl/testdata/devices.json")
	text, err := SimulateJSON(jobs(nil), trials, cluster)
	if err != nil {
		t.Fatal(err)
	}
	if want := read(t, "tools/upgradectl/testdata/devices.simulated.json"); !bytes.Equal(text, want) {
		t.Errorf("the simulation is\n%s\nnatively it is\n%s", text, want)
	}
	rollouts, err := Simulate(jobs(nil), trials, cluster)
	if err != nil {
		t.Fatal(err)
	}
	if len(rollouts) != 2 || *rollouts[0].NodesCordoned != 3 || *rollouts[1].NodesCordoned != 0 || *rollouts[1].PodsKept != 3 {
		t.Errorf("%+v", rollouts)
	}
}

func TestPreflightsMatchTheNativeEngineByteForByte(t *testing.T) {
	request := jobs(read(t, "field/training-jobs/by-name.yaml"))
	cluster := read(t, "field/training-jobs/dump.json")
	text, err := PreflightJSON(request, cluster)
	if err != nil {
		t.Fatal(err)
	}
	if want := read(t, "tools/upgradectl/testdata/jobs.preflight.json"); !bytes.Equal(text, want) {
		t.Errorf("the obstacles are\n%s\nnatively they are\n%s", text, want)
	}
	obstacles, err := Preflight(request, cluster)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, obstacle := range obstacles {
		found = found || obstacle.Code == "GangInterruptedSeveralTimes" && len(obstacle.Objects) == 5
	}
	if !found {
		t.Errorf("%+v", obstacles)
	}
}

func TestPlansMatchTheNativeEngineByteForByte(t *testing.T) {
	request := jobs(read(t, "tools/upgradectl/testdata/policy.yaml"))
	request.DriverLabels = "app=driver"
	text, err := PlanJSON(request, read(t, "tools/upgradectl/testdata/fleet.json"))
	if err != nil {
		t.Fatal(err)
	}
	if want := read(t, "tools/upgradectl/testdata/c.expected.json"); !bytes.Equal(text, want) {
		t.Errorf("the plan is\n%s\nnatively it is\n%s", text, want)
	}
}

// fleet contains one node with a driver pod and a pod of a workload. Like objects from a client, these objects have no
// TypeMeta.
func fleet(t *testing.T, more ...runtime.Object) []byte {
	t.Helper()
	ready := corev1.PodStatus{
		Phase:             corev1.PodRunning,
		ContainerStatuses: []corev1.ContainerStatus{{Name: "c", Ready: true}},
	}
	owned := func(kind, name string) []metav1.OwnerReference {
		controller := true
		return []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: name, UID: "uid-of-owner", Controller: &controller}}
	}
	cluster, err := Dump(append(more,
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", UID: "n1", ResourceVersion: "1"}},
		&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "drivers", Name: "driver-1", UID: "d1", Labels: map[string]string{"app": "driver", "controller-revision-hash": "driver-1"},
				OwnerReferences: owned("DaemonSet", "driver")},
			Spec:   corev1.PodSpec{NodeName: "n1"},
			Status: ready,
		},
		&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", UID: "w1", OwnerReferences: owned("ReplicaSet", "web")},
			Spec:       corev1.PodSpec{NodeName: "n1"},
			Status:     ready,
		},
		&appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "drivers", Name: "driver", UID: "uid-of-owner",
			Labels: map[string]string{"app": "driver"}}})...)
	if err != nil {
		t.Fatal(err)
	}
	return cluster
}

func vendor(policy string) Request {
	return Request{Domain: "example.com", Driver: "fpga", Namespace: "drivers", DriverLabels: "app=driver", Policy: []byte(policy),
		At: time.Date(2026, 1, 2, 12, 5, 0, 0, time.UTC)}
}

func TestObjectsOfClientsAreADump(t *testing.T) {
	rollouts, err := Simulate(vendor("{autoUpgrade: true, drain: {enable: true}}"), Trials{Seeds: 1}, fleet(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(rollouts) != 1 || rollouts[0].Policy != "policy" || rollouts[0].Done != 1 || rollouts[0].Evictions != 1 {
		t.Errorf("%+v", rollouts)
	}
}

func TestConfiguredDurationsApply(t *testing.T) {
	start, none := 100*time.Second, 0
	durations := Durations{DriverStart: &start, DriverStop: new(time.Duration), PodStop: new(time.Duration), JitterPercent: &none}
	rollouts, err := Simulate(vendor("autoUpgrade: true"), Trials{Seeds: 1, Durations: durations}, fleet(t))
	if err != nil {
		t.Fatal(err)
	}
	if seconds := *rollouts[0].MakespanSecondsMedian; seconds < 100 || seconds > 110 {
		t.Errorf("the rollout takes %d s", seconds)
	}
}

func TestPodsThatUseTheDriverAreEvicted(t *testing.T) {
	request := vendor("autoUpgrade: true")
	request.UsesDriver = []string{"w1"}
	rollouts, err := Simulate(request, Trials{Seeds: 1}, fleet(t))
	if err != nil {
		t.Fatal(err)
	}
	if rollouts[0].Evictions != 1 {
		t.Errorf("%+v", rollouts[0])
	}
}

// revisionsOf returns revisions of the driver in fleet. The driver pod in fleet runs driver-1.
func revisionsOf(images ...string) (revisions []runtime.Object) {
	controller := true
	for i, image := range images {
		name := fmt.Sprintf("driver-%d", i+1)
		revisions = append(revisions, &appsv1.ControllerRevision{
			ObjectMeta: metav1.ObjectMeta{Namespace: "drivers", Name: name, Labels: map[string]string{"app": "driver", "controller-revision-hash": name},
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "driver", UID: "uid-of-owner", Controller: &controller}}},
			Revision: int64(i + 1),
			Data:     runtime.RawExtension{Raw: []byte(`{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"` + image + `"}]}}}}`)},
		})
	}
	return revisions
}

func TestRestartOnlyRevisionsEvictNothing(t *testing.T) {
	cluster := fleet(t, revisionsOf("driver:1", "driver:2")...)
	request := vendor("{autoUpgrade: true, drain: {enable: true}}")
	for enough, evictions := range map[bool]int64{false: 1, true: 0} {
		request.RestartOnly = func(running, desired *corev1.PodSpec) (bool, error) {
			if running.Containers[0].Image != "driver:1" || desired.Containers[0].Image != "driver:2" {
				t.Errorf("compared %v with %v", running, desired)
			}
			return enough, nil
		}
		rollouts, err := Simulate(request, Trials{Seeds: 1}, cluster)
		if err != nil {
			t.Fatal(err)
		}
		if rollouts[0].Done != 1 || rollouts[0].Evictions != evictions {
			t.Errorf("a restart is enough: %v; %+v", enough, rollouts[0])
		}
	}
	request.RestartOnly = func(_, _ *corev1.PodSpec) (bool, error) { return false, errors.New("no such image") }
	if _, err := PlanJSON(request, cluster); err == nil || err.Error() != "compare ControllerRevisions driver-1 and driver-2: no such image" {
		t.Errorf("%v", err)
	}
}

// At the time of the request it is 13:05 in Berlin, so the window is open.
func TestAWindowIsInItsTimeZone(t *testing.T) {
	policy := `{autoUpgrade: true, rollout: {windows: [{days: [Fri], start: "13:00", durationSeconds: 1800, timeZone: Europe/Berlin}]}}`
	rollouts, err := Simulate(vendor(policy), Trials{Seeds: 1}, fleet(t))
	if err != nil {
		t.Fatal(err)
	}
	if !rollouts[0].Finishes || *rollouts[0].MakespanSecondsMedian > 600 {
		t.Errorf("%+v", rollouts[0])
	}
}

func TestErrorsNameTheProblem(t *testing.T) {
	_, noDocument := Preflight(vendor("autoUpgrade: true"), []byte("no list"))
	var failed *Error
	if !errors.As(noDocument, &failed) || failed.Code != 3 || !strings.HasPrefix(failed.Message, "cluster: ") {
		t.Errorf("%v", noDocument)
	}
	_, noPolicy := Simulate(vendor("colour: 1"), Trials{}, fleet(t))
	if !errors.As(noPolicy, &failed) || !strings.HasPrefix(failed.Message, "request.policy: ") {
		t.Errorf("%v", noPolicy)
	}
	if _, noZone := Preflight(vendor("{rollout: {closedTimeZone: Mars/Olympus}}"), fleet(t)); noZone == nil {
		t.Error("no error about a time zone")
	}
}

func TestARequestorHasItsOwnPrefixAndFilters(t *testing.T) {
	cluster := fleet(t, append(revisionsOf("driver:1", "driver:2"),
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n2", UID: "n2", ResourceVersion: "1",
			Labels:      map[string]string{"example.com/fpga-driver-upgrade-state": "node-maintenance-required"},
			Annotations: map[string]string{"example.com/fpga-driver-upgrade-requestor-mode": "true"}}})...)
	request := vendor("{autoUpgrade: true, drain: {enable: true}}")
	plan := func(requestor Requestor) string {
		t.Helper()
		request.Requestor = &requestor
		text, err := PlanJSON(request, cluster)
		if err != nil {
			t.Fatal(err)
		}
		var found struct {
			Nodes []struct {
				Name, Next  string
				Maintenance []string
				Path        []string
			}
		}
		if err := json.Unmarshal(text, &found); err != nil {
			t.Fatal(err)
		}
		for _, node := range found.Nodes {
			if node.Name == "n2" {
				return strings.Join(append(node.Path, node.Maintenance...), " ")
			}
		}
		return ""
	}
	requestor := Requestor{ID: "fpga.example.com", Namespace: "maintenance"}
	if got := plan(requestor); !strings.HasSuffix(got, "maintenance/nvidia-operator-n2") {
		t.Errorf("without a prefix: %q", got)
	}
	requestor.NamePrefix, requestor.ResourceNameFilters = "acme", []string{"acme.example/fpga"}
	if got := plan(requestor); !strings.HasSuffix(got, "maintenance/acme-n2") {
		t.Errorf("with a prefix: %q", got)
	}
	requestor.Off = true
	if got := plan(requestor); !strings.Contains(got, "upgrade-required") || strings.Contains(got, "maintenance/") {
		t.Errorf("with requestor mode off: %q", got)
	}
	document, err := documentOf(request, nil, cluster)
	if want := `"requestor":{"id":"fpga.example.com","namespace":"maintenance","namePrefix":"acme","resourceNameFilters":["acme.example/fpga"],"enabled":false}`; err != nil ||
		!bytes.Contains(document, []byte(want)) {
		t.Errorf("%s, %v", document, err)
	}
}
