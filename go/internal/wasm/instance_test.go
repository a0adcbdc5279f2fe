package wasm

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"driverupgrade.example/go/pkg/upgrade"
)

func TestKeysAreThoseOfThePackageForFiveDrivers(t *testing.T) {
	for _, driver := range []string{"gpu", "ofed", "doca", "vgpu-manager", "x.y_z-1"} {
		upgrade.SetDriverName(driver)
		text, err := Keys([]byte(`{"domain":"nvidia.com","driver":"` + driver + `"}`))
		if err != nil {
			t.Fatal(err)
		}
		keys := map[string]string{}
		if err := json.Unmarshal(text, &keys); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{
			"stateLabel":                       upgrade.GetUpgradeStateLabelKey(),
			"skipUpgradeLabel":                 upgrade.GetUpgradeSkipNodeLabelKey(),
			"safeLoadAnnotation":               upgrade.GetUpgradeDriverWaitForSafeLoadAnnotationKey(),
			"initiallyUnschedulableAnnotation": upgrade.GetUpgradeInitialStateAnnotationKey(),
			"podCompletionStartAnnotation":     upgrade.GetWaitForPodCompletionStartTimeAnnotationKey(),
			"validationStartAnnotation":        upgrade.GetValidationStartTimeAnnotationKey(),
			"upgradeRequestedAnnotation":       upgrade.GetUpgradeRequestedAnnotationKey(),
			"requestorModeAnnotation":          upgrade.GetUpgradeRequestorModeAnnotationKey(),
			"eventReason":                      upgrade.GetEventReason(),
		} {
			if keys[name] != want {
				t.Errorf("%s of %s: %q, the package says %q", name, driver, keys[name], want)
			}
		}
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile("../../../tests/tools/upgradectl/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// The request of tests/c/c_interface_test.c.
const request = `{"identity":{"domain":"nvidia.com","driver":"gpu"},"namespace":"gpu-operator","driverLabels":"app=driver",` +
	`"at":"2026-01-02T12:05:00Z","policyDefaults":"gpu-operator","policy":{"autoUpgrade":true,"maxParallelUpgrades":6,` +
	`"podDeletion":{"timeoutSeconds":600},"drain":{"enable":true,"timeoutSeconds":600}}}`

func TestAPlanIsByteForByteTheNativeOne(t *testing.T) {
	plan, err := Plan([]byte(request), read(t, "fleet.json"))
	if err != nil {
		t.Fatal(err)
	}
	if want := read(t, "c.expected.json"); !bytes.Equal(plan, want) {
		t.Errorf("the plan is\n%s\nnatively it is\n%s", plan, want)
	}
}

func TestAnErrorIsTheNativeOne(t *testing.T) {
	for document, want := range map[string]string{
		"{":                  "policy: ",
		`{"autoUpgrade":7}`:  "autoUpgrade: ",
		`{"maxParallel": 1}`: "maxParallel",
	} {
		_, err := NormalizePolicy([]byte(document))
		if err == nil || !strings.Contains(err.Error(), want) || err.(*Error).Code != 3 {
			t.Errorf("%s: %v", document, err)
		}
	}
}

func TestATrapIsAnErrorAndEndsTheInstance(t *testing.T) {
	instance, err := NewInstance()
	if err != nil {
		t.Fatal(err)
	}
	if _, err = instance.Call(nil, func(*Module, []int32, int32) int32 { panic("unreachable") }); err == nil {
		t.Fatal("no error")
	}
	_, again := instance.Call(nil, func(m *Module, _ []int32, out int32) int32 { return m.Xdu_engine_settle(0, 0, out) })
	if again != err {
		t.Errorf("afterwards: %v", again)
	}
	if fresh, err := NewInstance(); err != nil || fresh == nil {
		t.Errorf("a fresh one: %v", err)
	}
}

func TestAHundredThousandCallsDoNotGrow(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds under the race detector")
	}
	instance, err := NewInstance()
	if err != nil {
		t.Fatal(err)
	}
	identity := [][]byte{[]byte(`{"domain":"nvidia.com","driver":"gpu"}`)}
	call := func() {
		if _, err := instance.Call(identity, func(m *Module, text []int32, out int32) int32 { return m.Xdu_keys(text[0], out) }); err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		call()
	}
	before := len(instance.memory())
	for range 100_000 {
		call()
	}
	if after := len(instance.memory()); after != before {
		t.Errorf("the memory has grown from %d to %d", before, after)
	}
}
