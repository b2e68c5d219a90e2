// Package component makes a driver the one that a component serves.
package component

import (
	"github.com/machinist-dev/machinist/sdk/go/driver"
	provider "github.com/machinist-dev/machinist/sdk/go/internal/component/provider"

	// The component's exports.
	_ "github.com/machinist-dev/machinist/sdk/go/internal/bindings/provider/wit_exports"
)

// Serve makes the driver the one that the component serves. Call it in an init function.
func Serve(served driver.Driver) { provider.Serve(served) }
