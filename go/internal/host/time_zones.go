package host

import (
	"encoding/json"
	"fmt"
	"time"

	"driverupgrade.example/go/internal/engine"
)

const (
	zoneYears = 3 // years of offsets that the engine gets
	// Time before the end of the offsets at which the engine gets new ones. A window may open more than a year from now.
	zoneReserve = 2 * 365 * 24 * time.Hour
)

// zonesOf returns the names of the time zones in the policy. The engine refuses a policy that cannot be read.
func zonesOf(policy []byte) []string {
	var with struct {
		Rollout struct {
			ClosedTimeZone string
			Windows        []struct{ TimeZone string }
		}
	}
	if json.Unmarshal(policy, &with) != nil {
		return nil
	}
	names := []string{with.Rollout.ClosedTimeZone}
	for _, window := range with.Rollout.Windows {
		names = append(names, window.TimeZone)
	}
	return names
}

// putTimeZones gives the engine the time zones that the policy names. Errors: this machine does not know one of them.
func (h *Host) putTimeZones(policy []byte, now time.Time) error {
	for _, name := range zonesOf(policy) {
		if name == "" || name == "UTC" || now.Add(zoneReserve).Before(h.zones[name]) {
			continue
		}
		location, err := time.LoadLocation(name)
		if err != nil || name == "Local" {
			return fmt.Errorf("the policy's time zone %q is not known here; a binary that imports time/tzdata knows all of them", name)
		}
		until := now.AddDate(zoneYears, 0, 0)
		zone := engine.TimeZone{Name: name, Offsets: offsetsOf(location, now.AddDate(-1, 0, 0), until)}
		if err := h.engine.PutTimeZone(zone); err != nil {
			return err
		}
		h.zones[name] = until
	}
	return nil
}

func offsetsOf(location *time.Location, from, until time.Time) (offsets []engine.TimeZoneOffset) {
	for at := from.In(location); at.Before(until); {
		_, seconds := at.Zone()
		begin, end := at.ZoneBounds()
		if begin.IsZero() {
			begin = at
		}
		offsets = append(offsets, engine.TimeZoneOffset{From: begin.Unix(), Seconds: seconds})
		if end.IsZero() {
			break
		}
		at = end
	}
	return offsets
}
