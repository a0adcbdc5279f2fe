// Package wasm is the C interface as plain Go: driverupgrade.go is its WebAssembly, translated (scripts/build-wasm.sh). It needs no
// cgo and reaches nothing of the outside world.
package wasm

import (
	"encoding/binary"
	"fmt"
)

// CodeDefect is the canonical code of a defect of the library.
const CodeDefect = 13

// Error is an answer that is none: a canonical status code, and a text for a person.
type Error struct {
	Code    int
	Message string
}

func (e *Error) Error() string { return fmt.Sprintf("%s (code %d)", e.Message, e.Code) }

// Instance has a memory of its own, and what is made in it dies with it. One call at a time.
type Instance struct {
	module *Module
	trap   error // why the instance answers no more
}

// NewInstance makes one. It takes some megabytes and no time to speak of.
func NewInstance() (instance *Instance, err error) {
	defer catch(&err)
	module := New()
	module.X_initialize()
	return &Instance{module: module}, nil
}

// Call runs a function of the interface: `run` is handed the documents, each as a Text, and the address of the du_buf. A trap
// is an error, after which every call is that error: the memory is not to be trusted any more.
func (i *Instance) Call(documents [][]byte, run func(m *Module, texts []int32, out int32) int32) (answer []byte, err error) {
	if i.trap != nil {
		return nil, i.trap
	}
	defer func() {
		if defect, _ := err.(*Error); defect != nil && defect.Code == CodeDefect {
			i.trap = err
		}
	}()
	defer catch(&err)
	addresses := make([]int32, 0, len(documents))
	for _, document := range documents {
		addresses = append(addresses, i.put(document))
	}
	out := i.alloc(8)
	clear(i.memory()[uint32(out) : uint32(out)+8])
	code := run(i.module, addresses, out)
	memory := i.memory()
	data, size := binary.LittleEndian.Uint32(memory[uint32(out):]), binary.LittleEndian.Uint32(memory[uint32(out)+4:])
	text := append([]byte(nil), memory[data:data+size]...)
	i.module.Xdu_free(int32(data))
	i.module.Xdu_free(out)
	for _, address := range addresses {
		i.module.Xdu_free(address)
	}
	if code != 0 {
		return nil, &Error{int(code), string(text)}
	}
	return text, nil
}

// Word is a word of the instance's memory for a function to write to. Freed with the instance.
func (i *Instance) Word() (address int32, err error) {
	defer catch(&err)
	address = i.alloc(4)
	i.SetWord(address, 0)
	return address, nil
}

// GetWord and SetWord read and write it.
func (i *Instance) GetWord(address int32) int32 {
	return int32(binary.LittleEndian.Uint32(i.memory()[uint32(address):]))
}

func (i *Instance) SetWord(address, value int32) {
	binary.LittleEndian.PutUint32(i.memory()[uint32(address):], uint32(value))
}

func (i *Instance) memory() []byte { return *i.module.Slice() }

func (i *Instance) alloc(size int) int32 {
	address := i.module.Xdu_alloc(int32(size))
	if address == 0 {
		panic("out of memory")
	}
	return address
}

// put copies a document into the memory, behind the du_str that says where it is.
func (i *Instance) put(document []byte) int32 {
	address := i.alloc(8 + len(document))
	memory := i.memory()
	binary.LittleEndian.PutUint32(memory[uint32(address):], uint32(address)+8)
	binary.LittleEndian.PutUint32(memory[uint32(address)+4:], uint32(len(document)))
	copy(memory[uint32(address)+8:], document)
	return address
}

// catch makes an error of a trap: an access outside the memory, or code that is not to be reached.
func catch(err *error) {
	if trap := recover(); trap != nil {
		*err = &Error{CodeDefect, fmt.Sprintf("trap: %v", trap)}
	}
}

// Keys, NormalizePolicy and Plan are du_keys, du_policy_normalize and du_plan, each in an instance of its own.
func Keys(identity []byte) ([]byte, error) {
	return alone([][]byte{identity}, func(m *Module, t []int32, out int32) int32 { return m.Xdu_keys(t[0], out) })
}

func NormalizePolicy(policy []byte) ([]byte, error) {
	return alone([][]byte{policy}, func(m *Module, t []int32, out int32) int32 { return m.Xdu_policy_normalize(t[0], out) })
}

func Plan(request, cluster []byte) ([]byte, error) {
	return alone([][]byte{request, cluster}, func(m *Module, t []int32, out int32) int32 { return m.Xdu_plan(t[0], t[1], out) })
}

func alone(documents [][]byte, run func(m *Module, texts []int32, out int32) int32) ([]byte, error) {
	instance, err := NewInstance()
	if err != nil {
		return nil, err
	}
	return instance.Call(documents, run)
}
