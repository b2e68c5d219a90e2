//go:build wasip1

// Package export_machinist_provider_driver is called by the generated exports of the interface.
package export_machinist_provider_driver

import (
	wit "github.com/machinist-dev/machinist/sdk/go/internal/bindings/provider/machinist_provider_types"
	"github.com/machinist-dev/machinist/sdk/go/internal/component/provider"
	"github.com/machinist-dev/machinist/sdk/go/internal/wit/types"
)

func Describe() wit.About { return provider.AboutOut(provider.Calls().Describe()) }

func ValidateClass(class wit.Class) types.Result[[]string, wit.DriverError] {
	warnings, err := provider.Calls().ValidateClass(provider.ClassIn(class))
	return provider.Answered(warnings, err)
}

func Create(request wit.Request) types.Result[wit.Creation, wit.DriverError] {
	created, err := provider.Calls().Create(provider.RequestIn(request))
	return provider.AnsweredAs(created, err, provider.CreationOut)
}

func Initialize(request wit.Request) types.Result[wit.Vm, wit.DriverError] {
	vm, err := provider.Calls().Initialize(provider.RequestIn(request))
	return provider.AnsweredAs(vm, err, provider.VMOut)
}

func Delete(request wit.Request) types.Result[wit.Deletion, wit.DriverError] {
	deleted, err := provider.Calls().Delete(provider.RequestIn(request))
	return provider.AnsweredAs(deleted, err, provider.DeletionOut)
}

func GetStatus(request wit.Request) types.Result[wit.Vm, wit.DriverError] {
	vm, err := provider.Calls().GetStatus(provider.RequestIn(request))
	return provider.AnsweredAs(vm, err, provider.VMOut)
}

func List(class wit.Class, cluster string, token types.Option[string]) types.Result[wit.Page, wit.DriverError] {
	at, _ := token.Get()
	page, err := provider.Calls().List(provider.ClassIn(class), cluster, at)
	return provider.AnsweredAs(page, err, provider.PageOut)
}

func GetVolumeIds(specs []string) types.Result[[]types.Option[string], wit.DriverError] {
	ids, err := provider.Calls().GetVolumeIDs(specs)
	return provider.AnsweredAs(ids, err, provider.VolumeIDsOut)
}
