// Package drivercalls answers the calls of the host with an author's driver: the same in a component and in a native
// test.
//
// Every mistake in the author's code becomes a *driver.Error, so no mistake ends in a trap.
package drivercalls

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/machinist-dev/machinist/sdk/go/driver"
	"github.com/machinist-dev/machinist/sdk/go/internal/blame"
	"github.com/machinist-dev/machinist/sdk/go/internal/shape"
	"github.com/machinist-dev/machinist/sdk/go/internal/text"
)

// Calls holds a driver, and a function that opens the host for each call by the call's name.
type Calls struct {
	Driver driver.Driver
	Open   func(call string) driver.Backend
}

// About is the answer of Describe, with the calls that the driver offers.
type About struct {
	driver.About
	Offers Offers
}

var checkMethods = func(driver.Driver) error { return nil }

// One call, with the facts that its errors need.
type call struct {
	name string
	// True if a broken call may have changed the cloud.
	changes bool
	backend driver.Backend
	host    *driver.Host
}

func (calls *Calls) offline(name string) call {
	backend := calls.Open(name)
	return call{name, false, backend, driver.NewOfflineHost(backend, name)}
}

func (calls *Calls) online(name string, changes bool) call {
	backend := calls.Open(name)
	return call{name, changes, backend, driver.NewHost(backend)}
}

// Describe panics if the author's code does: the host then rejects the version before it serves.
func (calls *Calls) Describe() About {
	if err := checkMethods(calls.Driver); err != nil {
		panic(err.Error())
	}
	about := calls.Driver.Describe(calls.offline("Describe").host)
	if err := shape.Check(about, "the answer of Describe"); err != nil {
		panic(err.Error())
	}
	return About{about, OffersOf(calls.Driver)}
}

// ValidateClass returns warnings.
func (calls *Calls) ValidateClass(class driver.Class) ([]string, *driver.Error) {
	return run(calls.offline("ValidateClass"), func(host *driver.Host) ([]string, error) {
		return calls.Driver.ValidateClass(host, class)
	})
}

// Create returns a VM or Progress.
func (calls *Calls) Create(request driver.Request) (driver.Creation, *driver.Error) {
	return run(calls.online("Create", true), func(host *driver.Host) (driver.Creation, error) {
		return calls.Driver.Create(host, request)
	})
}

// Delete returns Deleted or Progress.
func (calls *Calls) Delete(request driver.Request) (driver.Deletion, *driver.Error) {
	return run(calls.online("Delete", true), func(host *driver.Host) (driver.Deletion, error) {
		return calls.Driver.Delete(host, request)
	})
}

// Initialize returns the VM.
func (calls *Calls) Initialize(request driver.Request) (driver.VM, *driver.Error) {
	served, offered := calls.Driver.(driver.Initializer)
	if !offered {
		return driver.VM{}, notOffered("initialize")
	}
	return run(calls.online("Initialize", true), func(host *driver.Host) (driver.VM, error) {
		return served.Initialize(host, request)
	})
}

// GetStatus returns the VM.
func (calls *Calls) GetStatus(request driver.Request) (driver.VM, *driver.Error) {
	served, offered := calls.Driver.(driver.StatusGetter)
	if !offered {
		return driver.VM{}, notOffered("get-status")
	}
	return run(calls.online("GetStatus", false), func(host *driver.Host) (driver.VM, error) {
		return served.GetStatus(host, request)
	})
}

// List returns a page.
func (calls *Calls) List(class driver.Class, cluster, token string) (driver.Page, *driver.Error) {
	served, offered := calls.Driver.(driver.Lister)
	if !offered {
		return driver.Page{}, notOffered("list")
	}
	return run(calls.online("List", false), func(host *driver.Host) (driver.Page, error) {
		return served.List(host, class, cluster, token)
	})
}

// GetVolumeIDs returns one entry for each spec.
func (calls *Calls) GetVolumeIDs(specs []string) ([]string, *driver.Error) {
	served, offered := calls.Driver.(driver.VolumeIdentifier)
	if !offered {
		return nil, notOffered("get-volume-ids")
	}
	ids, err := run(calls.offline("GetVolumeIDs"), func(host *driver.Host) ([]string, error) {
		return served.GetVolumeIDs(host, specs)
	})
	if err == nil && len(ids) != len(specs) {
		message := fmt.Sprintf("GetVolumeIDs must answer one entry for each of %d specs, got %d", len(specs), len(ids))
		return nil, driver.Failed(driver.Internal, message)
	}
	return ids, err
}

// Reboot returns nil for success.
func (calls *Calls) Reboot(request driver.Request) *driver.Error {
	served, offered := calls.Driver.(driver.Rebooter)
	if !offered {
		return notOffered("reboot")
	}
	_, err := run(calls.online("Reboot", true), func(host *driver.Host) (struct{}, error) {
		return struct{}{}, served.Reboot(host, request)
	})
	return err
}

// DeleteByID returns nil for success.
func (calls *Calls) DeleteByID(request driver.Request, providerID string) *driver.Error {
	served, offered := calls.Driver.(driver.IDDeleter)
	if !offered {
		return notOffered("delete-by-id")
	}
	_, err := run(calls.online("DeleteByID", true), func(host *driver.Host) (struct{}, error) {
		return struct{}{}, served.DeleteByID(host, request, providerID)
	})
	return err
}

// NodeID returns the id of the VM's Node.
func (calls *Calls) NodeID(request driver.Request, vm driver.VM) (string, *driver.Error) {
	served, offered := calls.Driver.(driver.NodeNamer)
	if !offered {
		return "", notOffered("node-id")
	}
	return run(calls.offline("NodeID"), func(host *driver.Host) (string, error) {
		return served.NodeID(host, request, vm)
	})
}

// Place returns the providerSpec of a class in a failure domain.
func (calls *Calls) Place(class driver.Class, failureDomain string) (string, *driver.Error) {
	served, offered := calls.Driver.(driver.Placer)
	if !offered {
		return "", notOffered("placement")
	}
	return run(calls.offline("Place"), func(host *driver.Host) (string, error) {
		return served.Place(host, class, failureDomain)
	})
}

// IsInterruptible reports whether the cloud may take VMs of a class away.
func (calls *Calls) IsInterruptible(class driver.Class) (bool, *driver.Error) {
	served, offered := calls.Driver.(driver.InterruptionTeller)
	if !offered {
		return false, notOffered("interruption")
	}
	return run(calls.offline("IsInterruptible"), func(host *driver.Host) (bool, error) {
		return served.IsInterruptible(host, class)
	})
}

// NodeCapacity returns the resources of a Node.
func (calls *Calls) NodeCapacity(class driver.Class) (driver.NodeResources, *driver.Error) {
	served, offered := calls.Driver.(driver.CapacityTeller)
	if !offered {
		return driver.NodeResources{}, notOffered("capacity")
	}
	return run(calls.online("NodeCapacity", false), func(host *driver.Host) (driver.NodeResources, error) {
		return served.NodeCapacity(host, class)
	})
}

func notOffered(name string) *driver.Error {
	return driver.Failed(driver.Unimplemented, "this driver does not offer "+name)
}

// run runs the author's code, and turns each result, error or panic into an answer or an error.
func run[Answer any](of call, code func(*driver.Host) (Answer, error)) (answer Answer, failure *driver.Error) {
	defer func() {
		if recovered := recover(); recovered != nil {
			said := blame.Panic(recovered)
			of.backend.Log().Error("the driver panicked", "call", of.name, "panic", said)
			failure = of.internal(of.name + " panicked: " + said)
		}
	}()
	answer, err := code(of.host)
	if err != nil {
		return answer, of.failure(err)
	}
	if err := shape.Check(answer, "the answer of "+of.name); err != nil {
		return answer, of.internal(err.Error())
	}
	return answer, nil
}

func (of call) internal(message string) *driver.Error {
	return &driver.Error{Code: driver.Internal, Message: message, MayHaveHappened: of.changes}
}

// failure converts an error. One that wraps a *driver.Error keeps its own text.
func (of call) failure(err error) *driver.Error {
	var said *driver.Error
	var none *driver.NoAnswer
	switch {
	case isNil(err):
		return of.internal(of.name + " answered an error that is a nil pointer: answer nil itself")
	case errors.As(err, &said) && said != nil:
		meant := *said
		meant.Message = err.Error()
		return of.sound(&meant)
	case errors.As(err, &none) && none != nil:
		doing := map[string]string{
			"GetStatus": "get the status", "List": "list machines", "DeleteByID": "delete the second VM of the machine",
		}[of.name]
		if doing == "" {
			doing = strings.ToLower(of.name) + " the machine"
		}
		errors.As(driver.Attempt{Doing: doing, Host: none.Host, Changes: of.changes}.NoAnswer(err), &said)
		return of.sound(said)
	default:
		return of.internal("failed to answer " + of.name + ": " + text.Quoted(err.Error()))
	}
}

// A nil pointer in an error is not nil, and its methods panic.
func isNil(err error) bool {
	value := reflect.ValueOf(err)
	return value.Kind() == reflect.Pointer && value.IsNil()
}

// sound returns the error, or another one if the contract cannot represent it.
func (of call) sound(failure *driver.Error) *driver.Error {
	failure.Message = strings.ToValidUTF8(failure.Message, "\uFFFD")
	if err := shape.Check(*failure, "the error of "+of.name); err != nil {
		return of.internal(err.Error())
	}
	return failure
}
