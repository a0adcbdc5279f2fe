package main

import (
	"strings"
	"testing"
)

const frame = `package wasm

func (m *Module) fn1(v0, v1 int32, v2 int64) {
BODY
}
func (m *Module) fn2(v0 int32) int32 {
	return v0
}
`

func TestWhatIsWrittenShorter(t *testing.T) {
	for _, test := range []struct{ what, long, short string }{
		{"a load of which the name is used next", `
	t0 := int32(load32(m.memory, uint64(uint32(v0))+8))
	v1 = t0`, `
	v1 = m.l(v0, 8)`},
		{"a store of a constant", `
	store32(m.memory, uint32(v0), uint32(i32(-1)))`, `
	m.w(v0, -1)`},
		{"a store of half of a longer number", `
	store32(m.memory, uint64(uint32(v0))+4, uint32(v2))`, `
	m.s(v0, 4, int32(v2))`},
		{"bytes", `
	m.memory[uint64(uint32(v0))+1] = byte(v1)
	v1 = int32(m.memory[uint32(v0)])`, `
	m.sb(v0, 1, v1)
	v1 = m.rb(v0)`},
		{"halves", `
	store16(m.memory, uint64(uint32(v0))+1, uint16(v1))
	v1 = int32(load16(m.memory, uint64(uint32(v0))+4))`, `
	m.sh(v0, 1, v1)
	v1 = m.lh(v0, 4)`},
		{"a constant beside an unsigned value", `
	if uint32(v0) > uint32(i32(9)) {
		v1 = int32(uint32(v0) / uint32(i32(10)))
	}`, `
	if uint32(v0) > 9 {
		v1 = int32(uint32(v0) / 10)
	}`},
		{"a variable that changes", `
	v1 = v1 + 8
	v1 = v1 - (v0 - 3)`, `
	v1 += 8
	v1 -= (v0 - 3)`},
		{"a sum with a negative constant", `
	v1 = v0 + i32(-16)`, `
	v1 = v0 - 16`},
		{"brackets stay where they are needed", `
	t0 := v0 + v1
	v1 = v0 - t0`, `
	v1 = v0 - (v0 + v1)`},
		{"a block that declares nothing", `
	{
		if v0 == 0 {
			goto l0
		}
		v0 = v1
	}
l0:
	v1 = v0`, `
	if v0 == 0 {
		goto l0
	}
	v0 = v1
l0:
	v1 = v0`},
		{"a name whose value does not change before its only use", `
	t0 := v0
	v1 = m.fn2(v1)
	store32(m.memory, uint32(t0), uint32(v1))`, `
	v1 = m.fn2(v1)
	m.w(v0, v1)`},
		{"a choice that is only kept", `
	p0 := i32(7)
	if v0 == 0 {
		p0 = v0
	}
	v1 = p0`, `
	v1 = 7
	if v0 == 0 {
		v1 = v0
	}`},
		{"a choice whose first value is there already", `
	p0 := v0
	if v1 == 0 {
		p0 = v1
	}
	v0 = p0`, `
	if v1 == 0 {
		v0 = v1
	}`},
		{"the result of a call that is only kept", `
	t0 := m.fn2(v0)
	v1 = t0`, `
	v1 = m.fn2(v0)`},
	} {
		check(t, test.what, test.long, test.short)
	}
}

func TestWhatStays(t *testing.T) {
	for _, test := range []struct{ what, text string }{
		{"a load before a store that may change it", `
	t0 := m.l(v0, 8)
	m.s(v1, 8, 1)
	m.s(v0, 4, t0)`},
		{"a call before a load that may see what it did", `
	t0 := m.fn2(v0)
	v1 = m.l(v0, 8) + t0`},
		{"a load after a call", `
	t0 := m.l(v0, 8)
	v1 = m.fn2(v1) + t0`},
		{"a name that is used twice", `
	t0 := m.l(v0, 8)
	v1 = t0 + t0`},
		{"a variable's value of before", `
	t0 := v0
	v0 = v1
	v1 = t0`},
		{"a negative or lone unsigned constant", `
	if uint32(v0) > uint32(i32(-9)) {
		v1 = int32(uint32(i32(9)) / uint32(v0))
	}`},
		{"a variable that changes by more than its right side", `
	v1 = v1 + v0 - v0
	v1 = v0 - v1`},
		{"a constant that gives a name its type", `
	t0 := i32(7)
	v0 = v1
	v1 = t0 + t0`},
		{"a variable's value of before, in a statement that changes the variable", `
	t0 := v0
	if v1 == 0 {
		v0 = v1
		v1 = t0
	}`},
		{"a variable's value of before a label", `
	t0 := v0
l0:
	m.s(v1, 8, t0)
	v0 += 1
	goto l0`},
		{"a choice that depends on the earlier value", `
	p0 := v0
	if v1 == 0 {
		p0 = v2
	}
	v1 = p0`},
		{"a block over whose declaration a goto would jump", `
	{
		if v0 == 0 {
			goto l0
		}
		t0 := v0
		v0 = v1
		v1 = t0
	}
l0:
	v1 = v0`},
	} {
		check(t, test.what, test.text, test.text)
	}
}

func check(t *testing.T, what, long, short string) {
	t.Helper()
	text := func(body string) string { return strings.Replace(frame, "\nBODY", body, 1) }
	got, err := shrink([]byte(text(long)))
	if err != nil {
		t.Fatal(what, err)
	}
	if !strings.HasPrefix(string(got), strings.NewReplacer("fn1(", "f1(", "fn2(", "f2(").Replace(text(short))) {
		t.Errorf("%s: %s", what, strings.TrimSuffix(string(got), helpers))
	}
}
