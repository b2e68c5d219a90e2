//go:build wasip1

// Package export_machinist_node_id_node_id is called by the generated exports of the interface.
package export_machinist_node_id_node_id

import (
	wit "github.com/machinist-dev/machinist/sdk/go/internal/bindings/provider/machinist_provider_types"
	"github.com/machinist-dev/machinist/sdk/go/internal/component/provider"
	"github.com/machinist-dev/machinist/sdk/go/internal/wit/types"
)

func NodeId(request wit.Request, vm wit.Vm) types.Result[string, wit.DriverError] {
	return provider.Answered(provider.Calls().NodeID(provider.RequestIn(request), provider.VMIn(vm)))
}
