//go:build wasip1

// Package runtime has the functions for memory and handles that the generated bindings need.
package runtime

// Handle is a resource of the host, or empty after it was passed on.
type Handle struct{ value int32 }

// MakeHandle keeps a handle from the host.
func MakeHandle(value int32) *Handle {
	handle := &Handle{}
	handle.Set(value)
	return handle
}

// Use lends the handle for a call.
func (handle *Handle) Use() int32 {
	if handle.value == 0 {
		panic("the handle was given away")
	}
	return handle.value
}

// Take passes the handle on.
func (handle *Handle) Take() int32 {
	value := handle.Use()
	handle.value = 0
	return value
}

// TakeOrNil passes the handle on; 0 if that was done before.
func (handle *Handle) TakeOrNil() int32 {
	value := handle.value
	handle.value = 0
	return value
}

// Set fills an empty handle.
func (handle *Handle) Set(value int32) {
	if value == 0 || handle.value != 0 {
		panic("a handle is set once, and never to 0")
	}
	handle.value = value
}
