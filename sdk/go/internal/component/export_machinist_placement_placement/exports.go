//go:build wasip1

// Package export_machinist_placement_placement is called by the generated exports of the interface.
package export_machinist_placement_placement

import (
	wit "github.com/machinist-dev/machinist/sdk/go/internal/bindings/provider/machinist_provider_types"
	"github.com/machinist-dev/machinist/sdk/go/internal/component/provider"
	"github.com/machinist-dev/machinist/sdk/go/internal/wit/types"
)

func Place(class wit.Class, failureDomain string) types.Result[string, wit.DriverError] {
	return provider.Answered(provider.Calls().Place(provider.ClassIn(class), failureDomain))
}
