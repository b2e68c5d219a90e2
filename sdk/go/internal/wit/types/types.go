// Package types has the generic types of the component model that the generated bindings need.
package types

// Unit is the empty value.
type Unit struct{}

// Tuple2 is a pair.
type Tuple2[First, Second any] struct {
	F0 First
	F1 Second
}

// The tags of an Option.
const (
	OptionNone = 0
	OptionSome = 1
)

// Option is a value or none.
type Option[Value any] struct {
	isSome bool
	value  Value
}

// None is no value.
func None[Value any]() Option[Value] { return Option[Value]{} }

// Some is this value.
func Some[Value any](value Value) Option[Value] { return Option[Value]{true, value} }

// Tag returns OptionNone or OptionSome.
func (option Option[Value]) Tag() uint8 {
	if option.isSome {
		return OptionSome
	}
	return OptionNone
}

// Some returns the value. Panics if there is none.
func (option Option[Value]) Some() Value {
	if !option.isSome {
		panic("there is no value")
	}
	return option.value
}

// Get returns the value, and whether there is one.
func (option Option[Value]) Get() (Value, bool) { return option.value, option.isSome }

// The tags of a Result.
const (
	ResultOk  = 0
	ResultErr = 1
)

// Result is a value or an error.
type Result[Value, Failure any] struct {
	isErr   bool
	value   Value
	failure Failure
}

// Ok is a value.
func Ok[Value, Failure any](value Value) Result[Value, Failure] {
	return Result[Value, Failure]{value: value}
}

// Err is an error.
func Err[Value, Failure any](failure Failure) Result[Value, Failure] {
	return Result[Value, Failure]{isErr: true, failure: failure}
}

// Tag returns ResultOk or ResultErr.
func (result Result[Value, Failure]) Tag() uint8 {
	if result.isErr {
		return ResultErr
	}
	return ResultOk
}

// Ok returns the value. Panics if there is an error.
func (result Result[Value, Failure]) Ok() Value {
	if result.isErr {
		panic("there is an error, and no value")
	}
	return result.value
}

// Err returns the error. Panics if there is a value.
func (result Result[Value, Failure]) Err() Failure {
	if !result.isErr {
		panic("there is a value, and no error")
	}
	return result.failure
}

// IsErr returns whether it is an error.
func (result Result[Value, Failure]) IsErr() bool { return result.isErr }
