//go:build wasip1

// Package provider is the way between the contract's exports and imports and an author's driver.
package provider

import (
	"github.com/machinist-dev/machinist/sdk/go/driver"
	"github.com/machinist-dev/machinist/sdk/go/internal/drivercalls"
)

var served driver.Driver

// Serve keeps the driver. Two are a mistake that shows when the component is made.
func Serve(chosen driver.Driver) {
	if served != nil {
		panic("component.Serve was called twice: a component serves one driver")
	}
	served = chosen
}

// Calls of the driver.
func Calls() *drivercalls.Calls {
	if served == nil {
		panic("no driver is served: call component.Serve in an init function of package main, not in main")
	}
	return &drivercalls.Calls{Driver: served, Open: func(string) driver.Backend { return newBackend() }}
}
