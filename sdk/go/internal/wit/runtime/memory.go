//go:build wasip1

package runtime

import (
	goruntime "runtime"
	"runtime/debug"
	"unsafe"
)

// From this many bytes on, the next call of Sweep frees the heap.
const sweepBytes = 16 << 20

// Memory that the host has written and the bindings have not read yet.
var given goruntime.Pinner

// The garbage collector reads clocks, and any allocation can start it. While the host writes an answer into the
// component's memory (cabi_realloc), a component must not call the host: reading a clock is a trap. So the collector
// never starts on its own. Sweep starts it where it may run.
func init() { debug.SetGCPercent(-1) }

// Sweep frees memory if there is much of it. Do not call it while the host waits for memory.
func Sweep() {
	var memory goruntime.MemStats
	goruntime.ReadMemStats(&memory)
	if memory.HeapAlloc >= sweepBytes {
		goruntime.GC()
	}
}

// Allocate returns memory that stays at its address until the pinner releases it.
func Allocate(pinner *goruntime.Pinner, size, align uintptr) unsafe.Pointer {
	if size == 0 {
		return nil
	}
	var memory unsafe.Pointer
	if align == 1 {
		memory = unsafe.Pointer(unsafe.SliceData(make([]byte, size)))
	} else {
		// No type of the contract needs more than eight.
		memory = unsafe.Pointer(unsafe.SliceData(make([]uint64, (size+7)/8)))
	}
	pinner.Pin(memory)
	return memory
}

// Unpin releases the memory that the host has written, after the bindings have read it.
func Unpin() { given.Unpin() }

// The scheduler sometimes reads the clock, too. While this is set, it gets the previous time.
//
//go:wasmimport wasi_snapshot_preview1 adapter_monotonic_clock_set_paused
func pauseClock(isPaused bool)

//go:wasmexport cabi_realloc
func realloc(old unsafe.Pointer, oldSize, align, size uintptr) unsafe.Pointer {
	if old != nil || oldSize != 0 {
		panic("nothing of the contract grows")
	}
	if !isUp {
		return earlyMemory(size, align)
	}
	pauseClock(true)
	memory := Allocate(&given, size, align)
	pauseClock(false)
	return memory
}

// The adapter between Go's system calls and the host takes memory at the first of them: a stack and its state, 64 KiB
// each. Go has no heap then. The adapter cannot take the memory from the host, because Go treats all memory that is
// added to the component's as its own.
var (
	isUp      bool
	early     [192 << 10]byte
	earlyUsed uintptr
)

func init() { isUp = true }

// Returns nil, which the adapter treats as the end of memory, if it asks for more than it is known to need.
//
//go:nosplit
func earlyMemory(size, align uintptr) unsafe.Pointer {
	start := uintptr(unsafe.Pointer(&early))
	at := (start+earlyUsed+align-1)&^(align-1) - start
	if at+size > uintptr(len(early)) {
		return nil
	}
	earlyUsed = at + size
	return unsafe.Pointer(&early[at])
}
