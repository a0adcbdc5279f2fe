// The translator of the WebAssembly module, pinned by its checksum.
module driverupgrade.example/scripts/wasm

go 1.26.0

tool github.com/ncruces/wasm2go

require (
	github.com/ncruces/wasm2go v0.4.19 // indirect
	golang.org/x/tools v0.52.0 // indirect
)
