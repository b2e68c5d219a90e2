package sim

import (
	"errors"
	"net/url"
	"testing"

	"github.com/machinist-dev/machinist/sdk/go/driver"
	"github.com/machinist-dev/machinist/sdk/go/driver/drivertest"
)

const userData = "#cloud-config\nbootstrap: abcdef.0123456789abcdef\n"

// The places of grants.yaml.
func places() map[string][]drivertest.Place {
	return map[string][]drivertest.Place{"token": {{Header: "authorization"}}, "userData": {{JSON: "/userData"}}}
}

// A driver, its host and the cloud, and the functions that tests use.
type fixture struct {
	*testing.T
	cloud  *fakeCloud
	host   *drivertest.Host
	driver *drivertest.Calls
}

func newFixture(test *testing.T) *fixture {
	cloud := newFakeCloud()
	host := &drivertest.Host{
		Cloud:    cloud,
		Secrets:  map[string]string{"token": token},
		UserData: userData,
		Places:   places(),
		Settings: `{"endpoint": "http://cloud.test:8080"}`,
	}
	return &fixture{test, cloud, host, host.Serve(Driver{Version: "0.1.0"})}
}

// Uses a cloud that gives the same answer to every request.
func newLie(test *testing.T, body string) *fixture {
	of := newFixture(test)
	of.host.Cloud = drivertest.Function(func(driver.HTTPRequest) (*driver.HTTPAnswer, error) {
		return &driver.HTTPAnswer{Status: 200, Body: []byte(body)}, nil
	})
	return of
}

func (of *fixture) created(request driver.Request) driver.VM {
	of.Helper()
	created, err := of.driver.Create(request)
	vm, isVM := created.(driver.VM)
	if err != nil || !isVM {
		of.Fatalf("no VM: %v, %v", created, err)
	}
	return vm
}

// Returns the requests since the last call, one line each.
func (of *fixture) requests() []string {
	lines := []string{}
	for _, request := range of.host.Sent {
		parsed, _ := url.Parse(request.URL)
		lines = append(lines, request.Method+" "+parsed.Path)
	}
	of.host.Sent = nil
	return lines
}

// Returns the error that a call must have.
func (of *fixture) fails(code driver.Code, err error) *driver.Error {
	of.Helper()
	var said *driver.Error
	if !errors.As(err, &said) || said.Code != code {
		of.Fatalf("must fail with %v: %v", code, err)
	}
	return said
}

func (of *fixture) check(isSo bool, what ...any) {
	of.Helper()
	if !isSo {
		of.Fatal(what...)
	}
}

func (of *fixture) ok(err error) {
	of.Helper()
	if err != nil {
		of.Fatal(err)
	}
}

func second[First any](_ First, err error) error { return err }

func specWith(changes object) object {
	spec := object{"zone": "sim-1a", "type": "sim.small", "image": "linux-1"}
	for name, value := range changes {
		spec[name] = value
	}
	return spec
}

// Returns a request for the Machine with this number.
func request(number int, changes object, zones ...string) driver.Request {
	return drivertest.Request(number, drivertest.Class("sim", specWith(changes), zones...))
}

// Returns the same request after the host has stored the id.
func withID(request driver.Request, id string) driver.Request {
	request.Machine.ProviderID = id
	return request
}
