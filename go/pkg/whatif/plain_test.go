//go:build !driverupgrade_cgo

package whatif

import (
	"strings"
	"testing"
)

// Only the WebAssembly module needs offsets from its caller: the C library has its own time zone database.
func TestAnUnknownTimeZoneIsRefused(t *testing.T) {
	for zone, refused := range map[string]bool{"UTC": false, "Europe/Berlin": true} {
		request := `{"identity":{"domain":"nvidia.com","driver":"gpu"},"namespace":"gpu-operator","driverLabels":"app=driver",
			"at":"2026-01-01T00:00:00Z","policy":{"autoUpgrade":true,"rollout":{"windows":[{"durationSeconds":3600,"timeZone":"` + zone + `"}]}}}`
		_, err := plan([]byte(request), []byte(`{"apiVersion":"v1","kind":"List","items":[]}`))
		if told := err != nil && strings.Contains(err.Error(), "only the time zone UTC is known here"); told != refused ||
			told != (string(withTimeZones(t, request)) != request) {
			t.Errorf("%s: %v", zone, err)
		}
		if _, err := plan(withTimeZones(t, request), []byte(`{"apiVersion":"v1","kind":"List","items":[]}`)); err != nil {
			t.Errorf("%s with its offsets: %v", zone, err)
		}
	}
}
