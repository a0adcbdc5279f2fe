// Package timezones determines the offsets of the time zones that policies name, because the engine does not read zone
// files.
package timezones

import (
	"encoding/json"
	"fmt"
	"time"
)

// Zone contains the offsets of a zone from UTC.
type Zone struct {
	Name    string   `json:"name"`
	Offsets []Offset `json:"offsets"`
}

// Offset is an offset from UTC in seconds, and the time from which it applies, in seconds since 1970.
type Offset struct {
	From    int64 `json:"from"`
	Seconds int   `json:"seconds"`
}

// ZonesOf returns the names of the time zones in the policy, except UTC. It returns no names if the policy cannot be
// parsed, because the engine rejects such a policy.
func ZonesOf(policy []byte) (names []string) {
	var with struct {
		Rollout struct {
			ClosedTimeZone string
			Windows        []struct{ TimeZone string }
		}
	}
	if json.Unmarshal(policy, &with) != nil {
		return nil
	}
	all := []string{with.Rollout.ClosedTimeZone}
	for _, window := range with.Rollout.Windows {
		all = append(all, window.TimeZone)
	}
	for _, name := range all {
		if name != "" && name != "UTC" {
			names = append(names, name)
		}
	}
	return names
}

// TablesOf returns the time zones that the policy names, with their offsets during a span of time. Errors: same as for
// ZoneOf.
func TablesOf(policy []byte, from, until time.Time) (zones []Zone, err error) {
	for _, name := range ZonesOf(policy) {
		zone, err := ZoneOf(name, from, until)
		if err != nil {
			return nil, err
		}
		zones = append(zones, zone)
	}
	return zones, nil
}

// ZoneOf returns the offsets of a time zone during a span of time. It fails if the zone is not in this machine's time
// zone database.
func ZoneOf(name string, from, until time.Time) (Zone, error) {
	location, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return Zone{}, fmt.Errorf("the policy's time zone %q is not known here; a binary that imports time/tzdata knows all of them", name)
	}
	return Zone{Name: name, Offsets: offsetsOf(location, from, until)}, nil
}

func offsetsOf(location *time.Location, from, until time.Time) (offsets []Offset) {
	for at := from.In(location); at.Before(until); {
		_, seconds := at.Zone()
		begin, end := at.ZoneBounds()
		if begin.IsZero() {
			begin = at
		}
		offsets = append(offsets, Offset{From: begin.Unix(), Seconds: seconds})
		if end.IsZero() {
			break
		}
		at = end
	}
	return offsets
}
