//go:build wasip1

package runtime

import (
	goruntime "runtime"
	"runtime/debug"
	"unsafe"
)

// From so many bytes on the heap is swept at the next opportunity.
const sweepBytes = 16 << 20

// What the host has written and nobody has taken over yet.
var given goruntime.Pinner

// The garbage collector reads clocks, and it starts in any allocation. While the host writes an answer into the component's memory
// (cabi_realloc) a component may call nobody: reading a clock is a trap. So the collector never starts by itself. Sweep starts it
// where it may.
func init() { debug.SetGCPercent(-1) }

// Sweep frees memory if there is much of it. Not to be called while the host waits for memory.
func Sweep() {
	var memory goruntime.MemStats
	goruntime.ReadMemStats(&memory)
	if memory.HeapAlloc >= sweepBytes {
		goruntime.GC()
	}
}

// Allocate is memory that stays where it is until the pinner lets go of it.
func Allocate(pinner *goruntime.Pinner, size, align uintptr) unsafe.Pointer {
	if size == 0 {
		return nil
	}
	var memory unsafe.Pointer
	if align == 1 {
		memory = unsafe.Pointer(unsafe.SliceData(make([]byte, size)))
	} else {
		// No type of the contract asks for more than eight.
		memory = unsafe.Pointer(unsafe.SliceData(make([]uint64, (size+7)/8)))
	}
	pinner.Pin(memory)
	return memory
}

// Unpin is called when what the host has written was taken over.
func Unpin() { given.Unpin() }

// The scheduler reads the clock now and then, too. While this is set it gets the time of before.
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

// The adapter between Go's system calls and the host takes memory at the first of them: a stack and its state, 64 KiB each. Go has no
// heap then. It cannot take it from the host itself, because Go holds all memory that is added to the component's for its own.
var (
	isUp      bool
	early     [192 << 10]byte
	earlyUsed uintptr
)

func init() { isUp = true }

// Nil, which the adapter takes for the end of memory, when it asks for more than it is known to need.
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
