//go:build wasip1

// Package export_machinist_delete_by_id_delete_by_id is called by the generated exports of the interface.
package export_machinist_delete_by_id_delete_by_id

import (
	wit "github.com/machinist-dev/machinist/sdk/go/internal/bindings/provider/machinist_provider_types"
	"github.com/machinist-dev/machinist/sdk/go/internal/component/provider"
	"github.com/machinist-dev/machinist/sdk/go/internal/wit/types"
)

func DeleteById(request wit.Request, providerID string) types.Result[types.Unit, wit.DriverError] {
	return provider.Answered(types.Unit{}, provider.Calls().DeleteByID(provider.RequestIn(request), providerID))
}
