// Package shape compares what an author's code answers with what the contract can carry.
//
// The host cannot take a value of another shape: the component would trap. The error names the field.
package shape

import (
	"fmt"
	"reflect"
	"time"
	"unicode/utf8"
)

// A number of which not all values mean something.
type number interface{ IsKnown() bool }

var (
	moment = reflect.TypeFor[time.Time]()
	span   = reflect.TypeFor[time.Duration]()
)

// Check walks through structs, lists and interfaces.
func Check(value any, at string) error { return check(reflect.ValueOf(value), at) }

func check(value reflect.Value, at string) error {
	if !value.IsValid() {
		return fmt.Errorf("%s is nil", at)
	}
	if value.Type() == moment {
		return nil
	}
	if known, is := value.Interface().(number); is && !known.IsKnown() {
		return fmt.Errorf("%s has a value that does not exist: %d", at, value.Uint())
	}
	switch value.Kind() {
	case reflect.String:
		if !utf8.ValidString(value.String()) {
			return fmt.Errorf("%s is not UTF-8", at)
		}
	case reflect.Int64:
		if value.Type() == span && value.Int() < 0 {
			return fmt.Errorf("%s is negative", at)
		}
	case reflect.Slice:
		for index := range value.Len() {
			if err := check(value.Index(index), fmt.Sprintf("%s[%d]", at, index)); err != nil {
				return err
			}
		}
	case reflect.Struct:
		for index := range value.NumField() {
			if err := check(value.Field(index), at+"."+value.Type().Field(index).Name); err != nil {
				return err
			}
		}
	}
	return nil
}
