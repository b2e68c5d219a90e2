// Command openstack is the driver of OpenStack as a component.
package main

import (
	"github.com/machinist-dev/machinist/plugins/openstack/machines"
	"github.com/machinist-dev/machinist/sdk/go/driver/component"
)

// The build sets another version.
var version = "0.1.0"

func init() { component.Serve(machines.Driver{Version: version}) }

func main() {}
