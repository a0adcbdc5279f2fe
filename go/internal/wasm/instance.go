// Package wasm provides the C interface of engines in plain Go: driverupgrade.go is translated from WebAssembly
// (scripts/build-wasm.sh). The module does not need cgo, and cannot access anything outside its own memory.
package wasm

import (
	"encoding/json"

	"driverupgrade.example/go/internal/instance"
	"driverupgrade.example/go/internal/timezones"
)

// Instance is the module with its own memory.
type Instance = instance.Instance[*Module]

// NewInstance creates an instance.
func NewInstance() (*Instance, error) { return instance.New(New) }

// Keys calls du_keys in a separate instance.
func Keys(identity []byte) ([]byte, error) {
	return instance.Alone(New, [][]byte{identity}, func(m *Module, t []int32, out int32) int32 { return m.Xdu_keys(t[0], out) })
}

// NormalizePolicy calls du_policy_normalize in a separate instance. The module has no time zone database, so zones must
// contain the time zones that the policy names, as timezones.TablesOf returns them.
func NormalizePolicy(policy []byte, zones ...timezones.Zone) ([]byte, error) {
	request := policy
	if len(zones) > 0 {
		var err error
		if request, err = json.Marshal(map[string]any{"policy": json.RawMessage(policy), "timeZones": zones}); err != nil {
			return nil, err
		}
	}
	return instance.Alone(New, [][]byte{request}, func(m *Module, t []int32, out int32) int32 {
		return m.Xdu_policy_normalize(t[0], out)
	})
}
