// Package drivertest has a mock host for drivers: unit tests without WebAssembly and without a cloud.
//
// Calls take the same path as in a component, with the same mapping of errors and panics and the same checks of
// answers.
package drivertest

import (
	"log/slog"
	"time"

	"github.com/machinist-dev/machinist/sdk/go/driver"
	"github.com/machinist-dev/machinist/sdk/go/internal/drivercalls"
)

// Host hosts the calls of a driver, with the settings of an operator.
type Host struct {
	// Cloud answers the requests, in which the secrets are filled in.
	Cloud Cloud
	// Secrets are the values of the MachineClass's Secret.
	Secrets map[string]string
	// UserData is the machine's data at boot; empty for none.
	UserData string
	// Places name the granted places of each secret, like `secrets` in grants.
	Places map[string][]Place
	// Revealed are keys for which the operator granted `reveal`.
	Revealed []string
	// Settings of the plugin; empty means `{}`.
	Settings string
	// Remaining is the time left for each call; zero means five minutes. A fake cloud reduces it to simulate time that
	// passes.
	Remaining time.Duration

	// Sent holds the requests as the driver made them, with placeholders.
	Sent []driver.HTTPRequest
	// Seen holds the requests as the cloud saw them, with secrets.
	Seen []driver.HTTPRequest
	// Lines of the log.
	Lines []Line
}

// Cloud answers requests, with an answer or an error. Silence makes the error of a driver.NoAnswerReason.
type Cloud interface {
	Answer(request driver.HTTPRequest) (*driver.HTTPAnswer, error)
}

// Function is a cloud.
type Function func(request driver.HTTPRequest) (*driver.HTTPAnswer, error)

// Answer calls the function.
func (cloud Function) Answer(request driver.HTTPRequest) (*driver.HTTPAnswer, error) {
	return cloud(request)
}

// Line is a line of the log.
type Line struct {
	Level   slog.Level
	Message string
	Fields  map[string]string
}

// Place is a place of a secret: one of the three fields.
type Place struct {
	// Header is a name, in any case.
	Header string
	// JSON is a pointer into the body.
	JSON string
	// Form is a field of the body.
	Form string
}

// About is the answer of Describe, with the calls that the driver's methods offer.
type About = drivercalls.About

// Serve hosts this driver. Panics if a method has a name of the contract and another signature.
func (host *Host) Serve(served driver.Driver) *Calls {
	if err := drivercalls.CheckMethods(served); err != nil {
		panic(err.Error())
	}
	return &Calls{drivercalls.Calls{Driver: served, Open: func(call string) driver.Backend { return newCall(host, call) }}}
}

// Messages of the log.
func (host *Host) Messages() []string {
	var messages []string
	for _, line := range host.Lines {
		messages = append(messages, line.Message)
	}
	return messages
}

// Calls are the calls of the host. Each has placeholders of its own. An error is a *driver.Error.
type Calls struct{ calls drivercalls.Calls }

// Describe panics if the driver does.
func (of *Calls) Describe() About { return of.calls.Describe() }

// ValidateClass returns warnings.
func (of *Calls) ValidateClass(class driver.Class) ([]string, error) {
	warnings, err := of.calls.ValidateClass(class)
	return warnings, orNil(err)
}

// Create returns a VM or Progress.
func (of *Calls) Create(request driver.Request) (driver.Creation, error) {
	created, err := of.calls.Create(request)
	return created, orNil(err)
}

// Initialize returns the VM.
func (of *Calls) Initialize(request driver.Request) (driver.VM, error) {
	vm, err := of.calls.Initialize(request)
	return vm, orNil(err)
}

// Delete returns Deleted or Progress.
func (of *Calls) Delete(request driver.Request) (driver.Deletion, error) {
	deleted, err := of.calls.Delete(request)
	return deleted, orNil(err)
}

// GetStatus returns the VM.
func (of *Calls) GetStatus(request driver.Request) (driver.VM, error) {
	vm, err := of.calls.GetStatus(request)
	return vm, orNil(err)
}

// List returns a page.
func (of *Calls) List(class driver.Class, cluster, token string) (driver.Page, error) {
	page, err := of.calls.List(class, cluster, token)
	return page, orNil(err)
}

// GetVolumeIDs returns one entry for each spec.
func (of *Calls) GetVolumeIDs(specs []string) ([]string, error) {
	ids, err := of.calls.GetVolumeIDs(specs)
	return ids, orNil(err)
}

// Reboot returns nil for success.
func (of *Calls) Reboot(request driver.Request) error { return orNil(of.calls.Reboot(request)) }

// DeleteByID returns nil for success.
func (of *Calls) DeleteByID(request driver.Request, providerID string) error {
	return orNil(of.calls.DeleteByID(request, providerID))
}

// NodeID returns the id of the VM's Node.
func (of *Calls) NodeID(request driver.Request, vm driver.VM) (string, error) {
	id, err := of.calls.NodeID(request, vm)
	return id, orNil(err)
}

// Place returns the providerSpec of a class in a failure domain.
func (of *Calls) Place(class driver.Class, failureDomain string) (string, error) {
	spec, err := of.calls.Place(class, failureDomain)
	return spec, orNil(err)
}

// IsInterruptible reports whether the cloud may take VMs of a class away.
func (of *Calls) IsInterruptible(class driver.Class) (bool, error) {
	is, err := of.calls.IsInterruptible(class)
	return is, orNil(err)
}

// NodeCapacity returns the resources of a Node.
func (of *Calls) NodeCapacity(class driver.Class) (driver.NodeResources, error) {
	resources, err := of.calls.NodeCapacity(class)
	return resources, orNil(err)
}

// A nil pointer in an error is not nil.
func orNil(err *driver.Error) error {
	if err == nil {
		return nil
	}
	return err
}
