//go:build !wasip1

package drivercalls

import (
	"fmt"
	"reflect"

	"github.com/machinist-dev/machinist/sdk/go/driver"
)

// Not in a component: enumerating methods keeps the linker from omitting any of them, which doubles the size. The build
// tool checks them before.
func init() { checkMethods = CheckMethods }

// Optional methods of a driver, by interface.
var optional = []reflect.Type{
	reflect.TypeFor[driver.StatusGetter](),
	reflect.TypeFor[driver.Initializer](),
	reflect.TypeFor[driver.Lister](),
	reflect.TypeFor[driver.VolumeIdentifier](),
	reflect.TypeFor[driver.Rebooter](),
	reflect.TypeFor[driver.IDDeleter](),
	reflect.TypeFor[driver.NodeNamer](),
	reflect.TypeFor[driver.Placer](),
	reflect.TypeFor[driver.InterruptionTeller](),
	reflect.TypeFor[driver.CapacityTeller](),
}

// Names that could be mistaken for those of the contract, and the right names.
var wrongNames = map[string]string{
	"Status": "GetStatus", "GetMachineStatus": "GetStatus", "InitializeMachine": "Initialize", "Init": "Initialize",
	"ListMachines": "List", "VolumeIDs": "GetVolumeIDs", "GetVolumeIds": "GetVolumeIDs", "RebootMachine": "Reboot",
	"Restart": "Reboot", "DeleteById": "DeleteByID", "NodeId": "NodeID", "Capacity": "NodeCapacity", "Interruptible": "IsInterruptible",
}

// CheckMethods finds methods with the name of an optional one and another signature, which the compiler ignores.
func CheckMethods(served driver.Driver) error {
	if served == nil {
		return fmt.Errorf("the driver is nil")
	}
	of := reflect.TypeOf(served)
	methods := of
	if of.Kind() != reflect.Pointer {
		// The pointer's methods exist too, but nobody calls them.
		methods = reflect.PointerTo(of)
	}
	for _, wanted := range optional {
		name := wanted.Method(0).Name
		has, found := method(methods, name)
		if !found || of.Implements(wanted) {
			continue
		}
		if methods.Implements(wanted) {
			return fmt.Errorf("%s of %s has a pointer receiver: serve &%s{} instead of %s{}", name, of, of.Name(), of.Name())
		}
		return fmt.Errorf("%s of %s is %s: it must be %s", name, of, signature(has.Type, 1), signature(wanted.Method(0).Type, 0))
	}
	for wrong, meant := range wrongNames {
		_, exists := method(methods, wrong)
		if _, found := method(methods, meant); exists && !found {
			return fmt.Errorf("%s has a method %s: the host calls %s; call it so, or give it a name that is not taken for it", of, wrong, meant)
		}
	}
	return nil
}

func method(of reflect.Type, name string) (reflect.Method, bool) {
	for index := range of.NumMethod() {
		if found := of.Method(index); found.Name == name {
			return found, true
		}
	}
	return reflect.Method{}, false
}

func signature(of reflect.Type, first int) string {
	text := "func("
	for index := first; index < of.NumIn(); index++ {
		if index > first {
			text += ", "
		}
		text += of.In(index).String()
	}
	text += ")"
	switch of.NumOut() {
	case 0:
	case 1:
		text += " " + of.Out(0).String()
	default:
		text += " ("
		for index := range of.NumOut() {
			if index > 0 {
				text += ", "
			}
			text += of.Out(index).String()
		}
		text += ")"
	}
	return text
}
