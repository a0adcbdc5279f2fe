// Package instance calls functions of the C interface that were translated from WebAssembly to Go. The functions
// receive and return documents.
package instance

import (
	"encoding/binary"
	"fmt"
)

// CodeDefect is the canonical code of a defect in the library.
const CodeDefect = 13

// Error is the failure of a call: a canonical status code, and a message.
type Error struct {
	Code    int
	Message string
}

func (e *Error) Error() string { return fmt.Sprintf("%s (code %d)", e.Message, e.Code) }

// Module contains the functions that all translated modules have in common.
type Module interface {
	X_initialize()
	Slice() *[]byte
	Xdu_alloc(size int32) int32
	Xdu_free(address int32)
}

// Instance is a module with its own memory. Everything created in this memory is destroyed with the instance. Calls on
// an instance must not overlap.
type Instance[M Module] struct {
	module M
	trap   error // the trap that ended the instance
}

// New creates an instance. An instance takes a few megabytes of memory, and New takes almost no time.
func New[M Module](create func() M) (instance *Instance[M], err error) {
	defer catch(&err)
	module := create()
	module.X_initialize()
	return &Instance[M]{module: module}, nil
}

// Alone runs one function in a separate instance.
func Alone[M Module](create func() M, documents [][]byte, run func(m M, texts []int32, out int32) int32) ([]byte, error) {
	instance, err := New(create)
	if err != nil {
		return nil, err
	}
	return instance.Call(documents, run)
}

// Call runs a function of the interface. `run` receives the address of a du_str for each document, and the address of
// the du_buf for the result. If the function traps, Call returns an error, and every later call returns the same error,
// because the memory can no longer be trusted.
func (i *Instance[M]) Call(documents [][]byte, run func(m M, texts []int32, out int32) int32) (answer []byte, err error) {
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

// Word allocates a word in the instance's memory for a function to write to. The word is freed with the instance.
func (i *Instance[M]) Word() (address int32, err error) {
	defer catch(&err)
	address = i.alloc(4)
	i.SetWord(address, 0)
	return address, nil
}

// GetWord reads the word at this address, and SetWord writes it.
func (i *Instance[M]) GetWord(address int32) int32 {
	return int32(binary.LittleEndian.Uint32(i.memory()[uint32(address):]))
}

func (i *Instance[M]) SetWord(address, value int32) {
	binary.LittleEndian.PutUint32(i.memory()[uint32(address):], uint32(value))
}

// Size returns the size of the instance's memory in bytes. The memory never shrinks.
func (i *Instance[M]) Size() int { return len(i.memory()) }

func (i *Instance[M]) memory() []byte { return *i.module.Slice() }

func (i *Instance[M]) alloc(size int) int32 {
	address := i.module.Xdu_alloc(int32(size))
	if address == 0 {
		panic("out of memory")
	}
	return address
}

// put copies a document into the memory, and returns the address of a du_str that refers to the copy.
func (i *Instance[M]) put(document []byte) int32 {
	address := i.alloc(8 + len(document))
	memory := i.memory()
	binary.LittleEndian.PutUint32(memory[uint32(address):], uint32(address)+8)
	binary.LittleEndian.PutUint32(memory[uint32(address)+4:], uint32(len(document)))
	copy(memory[uint32(address)+8:], document)
	return address
}

// catch converts a trap to an error. A trap occurs if a function accesses an address outside the memory, or reaches
// code that is marked as unreachable.
func catch(err *error) {
	if trap := recover(); trap != nil {
		*err = &Error{CodeDefect, fmt.Sprintf("trap: %v", trap)}
	}
}
