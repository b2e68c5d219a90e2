// Command driver-sim is the driver of the simulated cloud as a component.
package main

import (
	"github.com/machinist-dev/machinist/sdk/go/driver/component"
	"github.com/machinist-dev/machinist/sdk/go/examples/driver-sim/sim"
)

// The build sets another version.
var version = "0.1.0"

func init() { component.Serve(sim.Driver{Version: version}) }

func main() {}
