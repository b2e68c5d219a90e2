// Package drivertest has a mock host for drivers: unit tests without WebAssembly and without a cloud.
//
// Calls go the way that they go in a component, with the same mapping of errors and panics and the same checks of answers.
package drivertest

import (
	"log/slog"
	"time"

	"github.com/machinist-dev/machinist/sdk/go/driver"
	"github.com/machinist-dev/machinist/sdk/go/internal/drivercalls"
)

// Host hosts the calls of a driver, as a plugin's operator set it up.
type Host struct {
	// Cloud answers the requests, in which the secrets are filled in.
	Cloud Cloud
	// Secrets are the values of the MachineClass's Secret.
	Secrets map[string]string
	// UserData is what the machine gets at boot; empty for none.
	UserData string
	// Places say where each secret may travel, as `secrets` in grants does.
	Places map[string][]Place
	// Revealed are keys that the operator granted to reveal.
	Revealed []string
	// Settings of the plugin; empty is `{}`.
	Settings string
	// Remaining time of each call; zero is five minutes. A cloud that takes its time takes it from here.
	Remaining time.Duration

	// Sent are requests as the driver made them, with placeholders.
	Sent []driver.HTTPRequest
	// Seen are those that the cloud saw, with secrets.
	Seen []driver.HTTPRequest
	// Lines of the log.
	Lines []Line
}

// Cloud is what answers a request: an answer, or an error, which a *driver.NoAnswer or a driver.Trouble (by Silence) is.
type Cloud interface {
	Answer(request driver.HTTPRequest) (*driver.HTTPAnswer, error)
}

// Function is a cloud.
type Function func(request driver.HTTPRequest) (*driver.HTTPAnswer, error)

// Answer calls the function.
func (cloud Function) Answer(request driver.HTTPRequest) (*driver.HTTPAnswer, error) {
	return cloud(request)
}

// Line is one of the log.
type Line struct {
	Level   slog.Level
	Message string
	Fields  map[string]string
}

// Place is where a secret may travel: one of the three.
type Place struct {
	// Header is a name, in any case.
	Header string
	// JSON is a pointer into the body.
	JSON string
	// Form is a field of the body.
	Form string
}

// About is the answer of Describe, with what the driver offers by its methods.
type About = drivercalls.About

// Serve hosts this driver. Panics when a method looks like one of the contract and is none.
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

// Calls are those of the host. Each has placeholders of its own. An error is a *driver.Error.
type Calls struct{ calls drivercalls.Calls }

// Describe panics when the driver does.
func (of *Calls) Describe() About { return of.calls.Describe() }

// ValidateClass answers warnings.
func (of *Calls) ValidateClass(class driver.Class) ([]string, error) {
	warnings, err := of.calls.ValidateClass(class)
	return warnings, orNil(err)
}

// Create answers a VM or Progress.
func (of *Calls) Create(request driver.Request) (driver.Creation, error) {
	created, err := of.calls.Create(request)
	return created, orNil(err)
}

// Initialize answers the VM.
func (of *Calls) Initialize(request driver.Request) (driver.VM, error) {
	vm, err := of.calls.Initialize(request)
	return vm, orNil(err)
}

// Delete answers Deleted or Progress.
func (of *Calls) Delete(request driver.Request) (driver.Deletion, error) {
	deleted, err := of.calls.Delete(request)
	return deleted, orNil(err)
}

// GetStatus answers the VM.
func (of *Calls) GetStatus(request driver.Request) (driver.VM, error) {
	vm, err := of.calls.GetStatus(request)
	return vm, orNil(err)
}

// List answers a page.
func (of *Calls) List(class driver.Class, cluster, token string) (driver.Page, error) {
	page, err := of.calls.List(class, cluster, token)
	return page, orNil(err)
}

// GetVolumeIDs answers one entry for each spec.
func (of *Calls) GetVolumeIDs(specs []string) ([]string, error) {
	ids, err := of.calls.GetVolumeIDs(specs)
	return ids, orNil(err)
}

// Reboot answers nothing.
func (of *Calls) Reboot(request driver.Request) error { return orNil(of.calls.Reboot(request)) }

// A nil pointer in an error is not nil.
func orNil(err *driver.Error) error {
	if err == nil {
		return nil
	}
	return err
}
