package whatif

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"
	"time"

	"driverupgrade.example/go/internal/timezones"
)

// withTimeZones adds the offsets of the policy's time zones to the request, as a host that knows time zones does.
func withTimeZones(t *testing.T, request string) []byte {
	t.Helper()
	var document map[string]json.RawMessage
	if err := json.Unmarshal([]byte(request), &document); err != nil {
		t.Fatal(err)
	}
	var at time.Time
	if err := json.Unmarshal(document["at"], &at); err != nil {
		t.Fatal(err)
	}
	var zones []timezones.Zone
	for _, name := range timezones.ZonesOf(document["policy"]) {
		zone, err := timezones.ZoneOf(name, at.AddDate(-1, 0, 0), at.AddDate(3, 0, 0))
		if err != nil {
			t.Fatal(err)
		}
		zones = append(zones, zone)
	}
	if zones == nil {
		return []byte(request)
	}
	document["timeZones"], _ = json.Marshal(zones)
	whole, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	return whole
}

// The file, which tests/c/scenario_plans.cc writes, contains the native library's plans for every pass of the
// scenarios.
func TestPlansOfAllScenariosMatchTheNativeEngine(t *testing.T) {
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
	plans, failed := 0, 0
	for ; lines.Scan() && failed < 5; plans++ {
		var native struct {
			Request, Cluster, Plan string
			Code                   int
		}
		if err := json.Unmarshal(lines.Bytes(), &native); err != nil {
			t.Fatal(err)
		}
		found, err := plan(withTimeZones(t, native.Request), []byte(native.Cluster))
		code, text := 0, string(found)
		if err != nil {
			code, text = err.(*Error).Code, err.(*Error).Message
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
	t.Logf("%d plans", plans)
}
