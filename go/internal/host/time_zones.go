package host

import (
	"time"

	"driverupgrade.example/go/internal/timezones"
)

const (
	zoneYears = 3 // years of offsets that are passed to the engine
	// New offsets are passed to the engine if the current offsets end within this time, because a window may open more
	// than a year from now.
	zoneReserve = 2 * 365 * 24 * time.Hour
)

// putTimeZones passes to the engine the time zones that the policy names. It fails if one of these time zones is
// missing from this machine's time zone database.
func (h *Host) putTimeZones(policy []byte, now time.Time) error {
	for _, name := range timezones.ZonesOf(policy) {
		if now.Add(zoneReserve).Before(h.zones[name]) {
			continue
		}
		until := now.AddDate(zoneYears, 0, 0)
		zone, err := timezones.ZoneOf(name, now.AddDate(-1, 0, 0), until)
		if err != nil {
			return err
		}
		if err := h.engine.PutTimeZone(zone); err != nil {
			return err
		}
		h.zones[name] = until
	}
	return nil
}
