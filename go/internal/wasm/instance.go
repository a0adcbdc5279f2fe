// Package wasm is the C interface of engines as plain Go: driverupgrade.go is its WebAssembly, translated (scripts/build-wasm.sh). It
// needs no cgo and reaches nothing of the outside world.
package wasm

import (
	"encoding/json"

	"driverupgrade.example/go/internal/instance"
	"driverupgrade.example/go/internal/timezones"
)

// Instance is the module with a memory of its own.
type Instance = instance.Instance[*Module]

// NewInstance makes one.
func NewInstance() (*Instance, error) { return instance.New(New) }

// Keys and NormalizePolicy are du_keys and du_policy_normalize, each in an instance of its own.
func Keys(identity []byte) ([]byte, error) {
	return instance.Alone(New, [][]byte{identity}, func(m *Module, t []int32, out int32) int32 { return m.Xdu_keys(t[0], out) })
}

// The module knows no time zone but UTC. zones: the ones that the policy names, as timezones.TablesOf returns them.
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
