package main

import (
	"github.com/machinist-dev/machinist/sdk/go/driver/component"
	"github.com/machinist-dev/machinist/sdk/go/examples/my-driver/my"
)

var version = "0.1.0"

func init() { component.Serve(my.Driver{Version: version}) }

func main() {}
