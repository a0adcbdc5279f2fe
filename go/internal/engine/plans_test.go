package engine

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

// namesAZone tells whether the policy has a time zone but UTC, which plain Go knows nothing of (docs/go.md, What is not served).
func namesAZone(t *testing.T, request string) bool {
	t.Helper()
	var document struct {
		Policy struct {
			Rollout struct{ Windows []struct{ TimeZone string } }
		}
	}
	if err := json.Unmarshal([]byte(request), &document); err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(document.Policy.Rollout.Windows, func(window struct{ TimeZone string }) bool {
		return window.TimeZone != "" && window.TimeZone != "UTC"
	})
}

// The plans of the native library for every pass of the scenarios, by tests/c/scenario_plans.cc.
func TestPlansOfAllScenariosAreByteForByteTheNativeOnes(t *testing.T) {
	name := os.Getenv("DRIVERUPGRADE_PLANS")
	if name == "" {
		t.Skip("DRIVERUPGRADE_PLANS names no file: scripts/go.sh --plans makes one")
	}
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 64<<20)
	plans, failed, zones := 0, 0, 0
	for ; lines.Scan() && failed < 5; plans++ {
		var native struct {
			Request, Cluster, Plan string
			Code                   int
		}
		if err := json.Unmarshal(lines.Bytes(), &native); err != nil {
			t.Fatal(err)
		}
		plan, err := Plan([]byte(native.Request), []byte(native.Cluster))
		code, text := 0, string(plan)
		if err != nil {
			code, text = err.(*Error).Code, err.(*Error).Message
		}
		// With cgo the engine is the native one, and knows all zones.
		if refused := strings.Contains(text, "no time zone but UTC is known here"); refused {
			zones++
			if !namesAZone(t, native.Request) {
				failed++
				t.Errorf("pass %d: a zone is refused that nobody has named: %s\nrequest: %s", plans, text, native.Request)
			}
			continue
		}
		if code != native.Code || text != native.Plan {
			failed++
			t.Errorf("pass %d: code %d, %s\n where the native library says %d, %s\nrequest: %s", plans, code, text, native.Code, native.Plan,
				native.Request)
		}
	}
	if err := lines.Err(); err != nil || plans == 0 {
		t.Fatalf("%d plans: %v", plans, err)
	}
	t.Logf("%d plans, %d of them with a time zone, which plain Go has not", plans, zones)
}
