//go:build wasip1

// Package runtime has what the generated bindings need of memory and handles.
package runtime

// Handle is a resource of the host, or none after it was given away.
type Handle struct{ value int32 }

// MakeHandle keeps a handle that the host gave.
func MakeHandle(value int32) *Handle {
	handle := &Handle{}
	handle.Set(value)
	return handle
}

// Use is for a call that borrows it.
func (handle *Handle) Use() int32 {
	if handle.value == 0 {
		panic("the handle was given away")
	}
	return handle.value
}

// Take gives it away.
func (handle *Handle) Take() int32 {
	value := handle.Use()
	handle.value = 0
	return value
}

// TakeOrNil gives it away; 0 when that was done before.
func (handle *Handle) TakeOrNil() int32 {
	value := handle.value
	handle.value = 0
	return value
}

// Set fills an empty one.
func (handle *Handle) Set(value int32) {
	if value == 0 || handle.value != 0 {
		panic("a handle is set once, and never to 0")
	}
	handle.value = value
}
