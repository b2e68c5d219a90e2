package machine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/machinist-dev/machinist/sdk/go/driver"
	"github.com/machinist-dev/machinist/sdk/go/driver/drivertest"
)

const (
	cloudToken = "hcloud-tests-token-0123456789"
	// Calls of one step. A step without faults needs a few.
	mostCalls = 400
	// Between two calls; the host waits longer.
	pause = 2 * time.Millisecond
)

// The cloud of tests/clouds/hcloud, with its controls.
type remote struct {
	*testing.T
	url      string
	requests int
}

// Journeys need that cloud: its own tests start it and run these.
func newRemote(test *testing.T) *remote {
	url := os.Getenv("HETZNER_TESTS_URL")
	if url == "" {
		test.Skip("HETZNER_TESTS_URL is not set: `cargo test -p hetzner driver` starts the cloud and runs the journeys")
	}
	return &remote{T: test, url: url}
}

// Answer sends a request of the driver to the cloud, as the host does.
func (of *remote) Answer(request driver.HTTPRequest) (*driver.HTTPAnswer, error) {
	of.requests++
	sent, err := http.NewRequest(request.Method, request.URL, bytes.NewReader(request.Body))
	if err != nil {
		return nil, err
	}
	for name, value := range request.Header {
		sent.Header.Set(name, value)
	}
	if request.Header.Get(driver.AuthHeader) == driver.AuthBearer {
		sent.Header.Set("Authorization", "Bearer "+cloudToken)
	}
	// A request that is sent once more on a new connection would hide a lost answer.
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(sent)
	if err != nil {
		return nil, drivertest.Silence(driver.CutOff)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, drivertest.Silence(driver.CutOff)
	}
	header := driver.Header{}
	for name := range answer.Header {
		header[strings.ToLower(name)] = answer.Header.Get(name)
	}
	return &driver.HTTPAnswer{Status: answer.StatusCode, Header: header, Body: body}, nil
}

func (of *remote) control(method, path string, body, into any) {
	of.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		of.Fatal(err)
	}
	request, err := http.NewRequest(method, of.url+"/test/"+path, bytes.NewReader(text))
	if err != nil {
		of.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		of.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode >= 300 {
		of.Fatal(path, answer.Status)
	}
	if into == nil {
		return
	}
	if err := json.NewDecoder(answer.Body).Decode(into); err != nil {
		of.Fatal(err)
	}
}

type leftovers struct {
	Servers     []string
	FloatingIPs []struct {
		Name   string
		Server *int64
	} `json:"floating_ips"`
	Most map[string]int
}

func (of *remote) leftovers() (left leftovers) {
	of.control("GET", "leftovers", nil, &left)
	return left
}

// A host that keeps the driver's facts, or forgets everything whenever a call fails, as after a crash.
type traveller struct {
	*remote
	driver      *drivertest.Calls
	request     driver.Request
	isForgetful bool
	calls       int
}

func (of *remote) traveller(name string, changes object, isForgetful bool) *traveller {
	host := &drivertest.Host{
		Cloud:    of,
		Secrets:  map[string]string{"token": "sealed-token-of-the-tests"},
		UserData: userData,
		Places:   map[string][]drivertest.Place{"userData": {{JSON: "/user_data"}}},
		Settings: fmt.Sprintf(`{"endpoint": "%s/v1"}`, of.url),
	}
	request := drivertest.Request(1, drivertest.Class("hcloud", specWith(changes)))
	request.Machine.Name, request.Machine.UID = name, "uid-"+name
	return &traveller{remote: of, driver: host.Serve(Driver{Version: "0.1.0"}), request: request, isForgetful: isForgetful}
}

// Keeps the facts of an error as the host does. A terminal error has no fault as its cause.
func (of *traveller) suffer(err error) {
	of.Helper()
	var said *driver.Error
	if !errors.As(err, &said) || said.Terminal {
		of.Fatal(of.request.Machine.Name, err)
	}
	if of.isForgetful {
		of.request.Machine.ProviderID, of.request.Machine.LastKnownState = "", ""
	} else if said.LastKnownState != "" {
		of.request.Machine.LastKnownState = said.LastKnownState
	}
}

// Calls until a step is decided.
func (of *traveller) until(step string, call func() (isDone bool)) {
	of.Helper()
	for range mostCalls {
		of.calls++
		if call() {
			return
		}
		time.Sleep(pause)
	}
	of.Fatal(of.request.Machine.Name, "never ends:", step)
}

func (of *traveller) keep(vm driver.VM) {
	of.request.Machine.ProviderID = vm.ProviderID
	if vm.LastKnownState != "" {
		of.request.Machine.LastKnownState = vm.LastKnownState
	}
}

// Creates the server until it runs and has all its parts. The check before each create is the host's.
func (of *traveller) create() (vm driver.VM) {
	of.Helper()
	of.until("create", func() bool {
		_, err := of.driver.GetStatus(of.request)
		if err != nil && !isCode(err, driver.NotFound) && !isCode(err, driver.Uninitialized) {
			of.suffer(err)
			return false
		}
		created, err := of.driver.Create(of.request)
		if err != nil {
			of.suffer(err)
			return false
		}
		switch answer := created.(type) {
		case driver.Progress:
			of.request.Machine.LastKnownState = answer.ResumeToken
		case driver.VM:
			vm = answer
			of.keep(answer)
			return true
		}
		return false
	})
	of.until("initialize", func() bool {
		if _, err := of.driver.Initialize(of.request); err != nil && !isCode(err, driver.Unimplemented) {
			of.suffer(err)
			return false
		}
		seen, err := of.driver.GetStatus(of.request)
		if err != nil {
			of.suffer(err)
			return false
		}
		of.keep(seen)
		return seen.State == driver.VMRunning
	})
	return vm
}

func (of *traveller) delete() {
	of.Helper()
	of.until("delete", func() bool {
		deleted, err := of.driver.Delete(of.request)
		if err != nil {
			of.suffer(err)
			return false
		}
		if _, isOver := deleted.(driver.Deleted); !isOver {
			return false
		}
		_, err = of.driver.GetStatus(of.request)
		if err != nil && !isCode(err, driver.NotFound) {
			of.suffer(err)
		}
		return isCode(err, driver.NotFound)
	})
}

func isCode(err error, code driver.Code) bool {
	var said *driver.Error
	return errors.As(err, &said) && said.Code == code
}

// A class with everything that a server can have.
var everything = object{
	"floatingPoolName": "public", "networkName": "nodes", "placementGroupID": "897", "firewalls": []string{"nodes"},
}

// Creates and deletes a server: there is one, never two, and nothing is left of it.
func (of *remote) journey(name string, changes object, isForgetful bool) *traveller {
	of.Helper()
	traveller := of.traveller(name, changes, isForgetful)
	traveller.create()
	left := of.leftovers()
	if len(left.Servers) != 1 || (changes != nil && (len(left.FloatingIPs) != 1 || left.FloatingIPs[0].Server == nil)) {
		of.Fatal(name, left.Servers, left.FloatingIPs)
	}
	traveller.delete()
	left = of.leftovers()
	if len(left.Servers)+len(left.FloatingIPs) != 0 || left.Most[traveller.request.Machine.UID] != 1 {
		of.Fatal(name, left.Servers, left.FloatingIPs, left.Most[traveller.request.Machine.UID])
	}
	return traveller
}

func TestJourneyWithoutFaults(test *testing.T) {
	of := newRemote(test)
	plain := of.journey("plain", nil, false)
	test.Log("requests for a machine that is created and deleted:", of.requests, "in calls:", plain.calls)
	of.requests = 0
	of.journey("with-everything", everything, false)
	test.Log("with a network, a firewall, a placement group and a Floating IP:", of.requests)
}

func TestJourneyWithEachRequestDisturbedOnce(test *testing.T) {
	effects := []string{
		"lost-request", "lost-answer", "half-answer", "cut-json", "error", "error-after-work", "conflict", "throttle", "html",
		"html-after-work",
	}
	if chosen := os.Getenv("HETZNER_TESTS_EFFECTS"); chosen != "" {
		effects = strings.Split(chosen, ",")
	}
	of := newRemote(test)
	of.journey("counted", everything, false)
	count := of.requests
	if count < 8 {
		test.Fatal(count)
	}
	for _, effect := range effects {
		for nth := 1; nth <= count; nth++ {
			for _, isForgetful := range []bool{false, true} {
				of.control("POST", "faults", object{"nth": nth, "effect": effect}, nil)
				of.journey(fmt.Sprintf("%s-%d-%v", effect, nth, isForgetful), everything, isForgetful)
				of.control("DELETE", "faults", nil, nil)
			}
		}
	}
}

// A location without room says so at once, or only when the accepted server is to start: then the server is removed.
func TestJourneyToTheNextZoneThatHasRoom(test *testing.T) {
	of := newRemote(test)
	for _, isLate := range []bool{false, true} {
		of.control("POST", "full", object{"location": "hel1", "late": isLate}, nil)
		traveller := of.traveller(fmt.Sprintf("full-%v", isLate), object{"alternativeZones": []string{"fsn1"}}, false)
		if vm := traveller.create(); vm.FailureDomain != "fsn1" {
			test.Error(isLate, vm)
		}
		if left := of.leftovers(); len(left.Servers) != 1 || left.Most[traveller.request.Machine.UID] != 1 {
			test.Error(isLate, left)
		}
		traveller.delete()
		of.control("DELETE", "full", nil, nil)
	}
	if left := of.leftovers(); len(left.Servers) != 0 {
		test.Error(left)
	}
}
