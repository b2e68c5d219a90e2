// Package shape checks that the contract can represent an author's answer.
//
// The component would trap on a value of another shape. The error names the field.
package shape

import (
	"fmt"
	"reflect"
	"time"
	"unicode/utf8"
)

// A number of which only some values are defined.
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
