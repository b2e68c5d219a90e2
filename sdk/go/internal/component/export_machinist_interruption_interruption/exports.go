//go:build wasip1

// Package export_machinist_interruption_interruption is called by the generated exports of the interface.
package export_machinist_interruption_interruption

import (
	wit "github.com/machinist-dev/machinist/sdk/go/internal/bindings/provider/machinist_provider_types"
	"github.com/machinist-dev/machinist/sdk/go/internal/component/provider"
	"github.com/machinist-dev/machinist/sdk/go/internal/wit/types"
)

func IsInterruptible(class wit.Class) types.Result[bool, wit.DriverError] {
	return provider.Answered(provider.Calls().IsInterruptible(provider.ClassIn(class)))
}
