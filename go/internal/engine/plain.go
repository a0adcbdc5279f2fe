//go:build !driverupgrade_cgo

package engine

import (
	"errors"
	"math"

	"driverupgrade.example/go/internal/instance"
	"driverupgrade.example/go/internal/timezones"
	"driverupgrade.example/go/internal/wasm"
)

// plain is the backend in plain Go. The engine lives in the instance's memory, and is destroyed with it.
type plain struct {
	instance *wasm.Instance
	engine   int32 // address of the engine
}

func newBackend(options []byte) (backend, error) {
	memory, err := wasm.NewInstance()
	if err != nil {
		return nil, codeOf(err)
	}
	word, err := memory.Word()
	if err != nil {
		return nil, codeOf(err)
	}
	made := &plain{instance: memory}
	if _, err := made.call([][]byte{options}, func(m *wasm.Module, t []int32, out int32) int32 {
		return m.Xdu_engine_new(t[0], word, out)
	}); err != nil {
		return nil, err
	}
	made.engine = memory.GetWord(word)
	return made, nil
}

func (p *plain) call(documents [][]byte, run func(m *wasm.Module, texts []int32, out int32) int32) ([]byte, error) {
	answer, err := p.instance.Call(documents, run)
	return answer, codeOf(err)
}

func normalizePolicy(policy []byte, zones []timezones.Zone) error {
	_, err := wasm.NormalizePolicy(policy, zones...)
	return codeOf(err)
}

func codeOf(err error) error {
	if failed := (*instance.Error)(nil); errors.As(err, &failed) {
		return &Error{failed.Code, failed.Message}
	}
	return err
}

func (p *plain) put(kind int32, list []byte) ([]byte, error) {
	return p.call([][]byte{list}, func(m *wasm.Module, t []int32, out int32) int32 {
		return m.Xdu_engine_put(p.engine, kind, t[0], out)
	})
}

func (p *plain) watchLine(kind int32, line []byte) ([]byte, error) {
	return p.call([][]byte{line}, func(m *wasm.Module, t []int32, out int32) int32 {
		return m.Xdu_engine_watch_line(p.engine, kind, t[0], out)
	})
}

func (p *plain) putPods(node string, list, usesDriver []byte) ([]byte, error) {
	return p.call([][]byte{[]byte(node), list, usesDriver}, func(m *wasm.Module, t []int32, out int32) int32 {
		return m.Xdu_engine_put_pods(p.engine, t[0], t[1], t[2], out)
	})
}

func (p *plain) read(nowMs int64) ([]byte, error) {
	return p.call(nil, func(m *wasm.Module, _ []int32, out int32) int32 { return m.Xdu_engine_read(p.engine, nowMs, out) })
}

func (p *plain) tell(answers []byte) ([]byte, error) {
	return p.call([][]byte{answers}, func(m *wasm.Module, t []int32, out int32) int32 {
		return m.Xdu_engine_tell(p.engine, t[0], out)
	})
}

func (p *plain) putTimeZone(zone []byte) ([]byte, error) {
	return p.call([][]byte{zone}, func(m *wasm.Module, t []int32, out int32) int32 {
		return m.Xdu_engine_put_time_zone(p.engine, t[0], out)
	})
}

func (p *plain) apply(nodes, policy []byte, nowMs int64) ([]byte, error) {
	return p.call([][]byte{nodes, policy}, func(m *wasm.Module, t []int32, out int32) int32 {
		return m.Xdu_engine_apply(p.engine, t[0], t[1], nowMs, out)
	})
}

func (p *plain) release(nodes []byte, nowMs int64) ([]byte, error) {
	return p.call([][]byte{nodes}, func(m *wasm.Module, t []int32, out int32) int32 {
		return m.Xdu_engine_release(p.engine, t[0], nowMs, out)
	})
}

func (p *plain) next(node string, nowMs int64) ([]byte, error) {
	return p.call([][]byte{[]byte(node)}, func(m *wasm.Module, t []int32, out int32) int32 {
		return m.Xdu_engine_next(p.engine, t[0], nowMs, out)
	})
}

func (p *plain) answer(node string, status, retryAfterS int32, body []byte, nowMs int64) ([]byte, error) {
	return p.call([][]byte{[]byte(node), body}, func(m *wasm.Module, t []int32, out int32) int32 {
		return m.Xdu_engine_answer(p.engine, t[0], status, retryAfterS, t[1], nowMs, out)
	})
}

func (p *plain) settle(nowMs int64) ([]byte, error) {
	return p.call(nil, func(m *wasm.Module, _ []int32, out int32) int32 { return m.Xdu_engine_settle(p.engine, nowMs, out) })
}

func (p *plain) explain(node string) ([]byte, error) {
	return p.call([][]byte{[]byte(node)}, func(m *wasm.Module, t []int32, out int32) int32 {
		return m.Xdu_engine_explain(p.engine, t[0], out)
	})
}

func (p *plain) everything() ([]byte, error) {
	return p.call(nil, func(m *wasm.Module, _ []int32, out int32) int32 { return m.Xdu_engine_everything(p.engine, out) })
}

func (p *plain) rollout(facts []byte, nowMs int64) ([]byte, error) {
	return p.call([][]byte{facts}, func(m *wasm.Module, t []int32, out int32) int32 {
		return m.Xdu_engine_rollout(p.engine, t[0], nowMs, out)
	})
}

// Break makes the next call to the engine trap, by moving the engine's address outside the module's memory. Break is
// only for tests.
func Break(e Engine) {
	of := e.(*locked)
	of.mu.Lock()
	defer of.mu.Unlock()
	of.backend.(*plain).engine = math.MaxInt32 - 16
}

func (p *plain) free() { p.instance = nil }
