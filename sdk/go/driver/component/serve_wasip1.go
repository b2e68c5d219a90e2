// Package component registers the driver that a component serves.
package component

import (
	"github.com/machinist-dev/machinist/sdk/go/driver"
	provider "github.com/machinist-dev/machinist/sdk/go/internal/component/provider"

	// The component's exports.
	_ "github.com/machinist-dev/machinist/sdk/go/internal/bindings/provider/wit_exports"
)

// Serve registers the driver. Call it in an init function.
func Serve(served driver.Driver) { provider.Serve(served) }
