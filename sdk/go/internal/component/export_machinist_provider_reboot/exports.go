//go:build wasip1

// Package export_machinist_provider_reboot is called by the generated exports of the interface.
package export_machinist_provider_reboot

import (
	wit "github.com/machinist-dev/machinist/sdk/go/internal/bindings/provider/machinist_provider_types"
	"github.com/machinist-dev/machinist/sdk/go/internal/component/provider"
	"github.com/machinist-dev/machinist/sdk/go/internal/wit/types"
)

func Reboot(request wit.Request) types.Result[types.Unit, wit.DriverError] {
	return provider.Answered(types.Unit{}, provider.Calls().Reboot(provider.RequestIn(request)))
}
