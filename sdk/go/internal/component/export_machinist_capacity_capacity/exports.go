//go:build wasip1

// Package export_machinist_capacity_capacity is called by the generated exports of the interface.
package export_machinist_capacity_capacity

import (
	"slices"
	"strings"

	"github.com/machinist-dev/machinist/sdk/go/driver"
	capacity "github.com/machinist-dev/machinist/sdk/go/internal/bindings/provider/machinist_capacity_capacity"
	wit "github.com/machinist-dev/machinist/sdk/go/internal/bindings/provider/machinist_provider_types"
	"github.com/machinist-dev/machinist/sdk/go/internal/component/provider"
	"github.com/machinist-dev/machinist/sdk/go/internal/wit/types"
)

func NodeCapacity(class wit.Class) types.Result[capacity.NodeResources, wit.DriverError] {
	found, err := provider.Calls().NodeCapacity(provider.ClassIn(class))
	return provider.AnsweredAs(found, err, resourcesOut)
}

func resourcesOut(found driver.NodeResources) capacity.NodeResources {
	resources := make([]types.Tuple2[string, string], 0, len(found.Resources))
	for name, quantity := range found.Resources {
		resources = append(resources, types.Tuple2[string, string]{F0: name, F1: quantity})
	}
	// The order of a map is random, and an answer is not.
	slices.SortFunc(resources, func(one, other types.Tuple2[string, string]) int { return strings.Compare(one.F0, other.F0) })
	return capacity.NodeResources{
		Resources:       resources,
		Architecture:    provider.Option(found.Architecture),
		OperatingSystem: provider.Option(found.OperatingSystem),
	}
}
