package wasm_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"driverupgrade.example/go/internal/instance"
	"driverupgrade.example/go/internal/timezones"
	"driverupgrade.example/go/internal/wasm"
	"driverupgrade.example/go/pkg/upgrade"
)

func TestKeysMatchThePackageForFiveDrivers(t *testing.T) {
	for _, driver := range []string{"gpu", "ofed", "doca", "vgpu-manager", "x.y_z-1"} {
		upgrade.SetDriverName(driver)
		text, err := wasm.Keys([]byte(`{"domain":"nvidia.com","driver":"` + driver + `"}`))
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

func TestAnErrorMatchesTheNativeEngine(t *testing.T) {
	for document, want := range map[string]string{
		"{":                  "policy: ",
		`{"autoUpgrade":7}`:  "autoUpgrade: ",
		`{"maxParallel": 1}`: "maxParallel",
	} {
		_, err := wasm.NormalizePolicy([]byte(document))
		if err == nil || !strings.Contains(err.Error(), want) || err.(*instance.Error).Code != 3 {
			t.Errorf("%s: %v", document, err)
		}
	}
}

func TestAPolicyWithATimeZoneIsNormalized(t *testing.T) {
	policy := []byte(`{"rollout":{"closedTimeZone":"Asia/Tokyo","windows":[{"start":"22:00","durationSeconds":3600,"timeZone":"Europe/Berlin"}]}}`)
	now := time.Unix(1_800_000_000, 0)
	zones, err := timezones.TablesOf(policy, now, now.AddDate(1, 0, 0))
	if err != nil {
		t.Fatal(err)
	}
	text, err := wasm.NormalizePolicy(policy, zones...)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), `"timeZone":"Europe/Berlin"`) || !strings.Contains(string(text), `"closedTimeZone":"Asia/Tokyo"`) {
		t.Errorf("the policy is %s", text)
	}
	again, err := wasm.NormalizePolicy(text, zones...)
	if err != nil || string(again) != string(text) {
		t.Errorf("again it is %s, %v", again, err)
	}
	_, err = wasm.NormalizePolicy(policy, zones[:1]...)
	if err == nil || !strings.Contains(err.Error(), "time zone Europe/Berlin is not in timeZones") {
		t.Errorf("without the table of a zone: %v", err)
	}
}

func TestATrapIsAnErrorAndEndsTheInstance(t *testing.T) {
	instance, err := wasm.NewInstance()
	if err != nil {
		t.Fatal(err)
	}
	if _, err = instance.Call(nil, func(*wasm.Module, []int32, int32) int32 { panic("unreachable") }); err == nil {
		t.Fatal("no error")
	}
	_, again := instance.Call(nil, func(m *wasm.Module, _ []int32, out int32) int32 { return m.Xdu_engine_settle(0, 0, out) })
	if again != err {
		t.Errorf("afterwards: %v", again)
	}
	if fresh, err := wasm.NewInstance(); err != nil || fresh == nil {
		t.Errorf("a fresh one: %v", err)
	}
}

func TestAHundredThousandCallsDoNotGrow(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds under the race detector")
	}
	instance, err := wasm.NewInstance()
	if err != nil {
		t.Fatal(err)
	}
	identity := [][]byte{[]byte(`{"domain":"nvidia.com","driver":"gpu"}`)}
	call := func() {
		if _, err := instance.Call(identity, func(m *wasm.Module, text []int32, out int32) int32 { return m.Xdu_keys(text[0], out) }); err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		call()
	}
	before := instance.Size()
	for range 100_000 {
		call()
	}
	if after := instance.Size(); after != before {
		t.Errorf("the memory has grown from %d to %d", before, after)
	}
}
