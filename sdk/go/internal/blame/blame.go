// Package blame finds the place of a panic.
package blame

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/machinist-dev/machinist/sdk/go/internal/text"
)

// Panic returns the recovered value, and the place: the file's name without its folders. Call it in the deferred
// function itself.
func Panic(recovered any) string {
	return text.Quoted(fmt.Sprint(recovered)) + place()
}

// place returns the first function below the runtime's own, after the one that panicked.
func place() string {
	callers := make([]uintptr, 32)
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
	hasPanicked := false
	for {
		frame, more := frames.Next()
		isRuntime := strings.HasPrefix(frame.Function, "runtime.")
		if hasPanicked && !isRuntime {
			return fmt.Sprintf(" (%s line %d)", filepath.Base(frame.File), frame.Line)
		}
		hasPanicked = hasPanicked || frame.Function == "runtime.gopanic"
		if !more {
			return ""
		}
	}
}
