// Package wasm is the C interface of engines as plain Go: driverupgrade.go is its WebAssembly, translated (scripts/build-wasm.sh). It
// needs no cgo and reaches nothing of the outside world.
package wasm

import "driverupgrade.example/go/internal/instance"

// Instance is the module with a memory of its own.
type Instance = instance.Instance[*Module]

// NewInstance makes one.
func NewInstance() (*Instance, error) { return instance.New(New) }

// Keys and NormalizePolicy are du_keys and du_policy_normalize, each in an instance of its own.
func Keys(identity []byte) ([]byte, error) {
	return instance.Alone(New, [][]byte{identity}, func(m *Module, t []int32, out int32) int32 { return m.Xdu_keys(t[0], out) })
}

func NormalizePolicy(policy []byte) ([]byte, error) {
	return instance.Alone(New, [][]byte{policy}, func(m *Module, t []int32, out int32) int32 {
		return m.Xdu_policy_normalize(t[0], out)
	})
}
