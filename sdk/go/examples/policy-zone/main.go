// Command policy-zone is the policy as a component.
package main

import (
	"github.com/machinist-dev/machinist/sdk/go/examples/policy-zone/zone"
	"github.com/machinist-dev/machinist/sdk/go/policy/component"
)

// Set by the build where another version is wanted.
var version = "0.1.0"

func init() { component.Serve(zone.Policy{Version: version}) }

func main() {}
