//go:build wasip1

// Package provider connects the contract's exports and imports with an author's driver.
package provider

import (
	"github.com/machinist-dev/machinist/sdk/go/driver"
	"github.com/machinist-dev/machinist/sdk/go/internal/drivercalls"
)

var served driver.Driver

// Serve registers the driver. A second one is a mistake, which fails the build of the component.
func Serve(chosen driver.Driver) {
	if served != nil {
		panic("component.Serve was called twice: a component serves one driver")
	}
	served = chosen
}

// Calls returns the calls of the driver.
func Calls() *drivercalls.Calls {
	if served == nil {
		panic("no driver is served: call component.Serve in an init function of package main, not in main")
	}
	return &drivercalls.Calls{Driver: served, Open: func(string) driver.Backend { return newBackend() }}
}
