// Package forecast provides the functions of the C interface that answer questions about a cluster, in plain Go:
// driverupgrade.go is translated from WebAssembly (scripts/build-wasm.sh). The WebAssembly module is separate from the
// module of engines, because operators do not need the simulation.
package forecast

import "driverupgrade.example/go/internal/instance"

// Plan, Simulate and Preflight call du_plan, du_simulate and du_preflight, each in a separate instance.
func Plan(request, cluster []byte) ([]byte, error) {
	return instance.Alone(New, [][]byte{request, cluster}, func(m *Module, t []int32, out int32) int32 {
		return m.Xdu_plan(t[0], t[1], out)
	})
}

func Simulate(request, cluster []byte) ([]byte, error) {
	return instance.Alone(New, [][]byte{request, cluster}, func(m *Module, t []int32, out int32) int32 {
		return m.Xdu_simulate(t[0], t[1], out)
	})
}

func Preflight(request, cluster []byte) ([]byte, error) {
	return instance.Alone(New, [][]byte{request, cluster}, func(m *Module, t []int32, out int32) int32 {
		return m.Xdu_preflight(t[0], t[1], out)
	})
}
