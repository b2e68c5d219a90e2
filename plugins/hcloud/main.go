// Command hcloud is the driver of Hetzner Cloud as a component.
package main

import (
	"github.com/machinist-dev/machinist/plugins/hcloud/internal/machine"
	"github.com/machinist-dev/machinist/sdk/go/driver/component"
)

// The build sets another version.
var version = "0.1.0"

func init() { component.Serve(machine.Driver{Version: version}) }

func main() {}
