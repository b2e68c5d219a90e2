package drivercalls_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/machinist-dev/machinist/sdk/go/driver"
	"github.com/machinist-dev/machinist/sdk/go/driver/drivertest"
	"github.com/machinist-dev/machinist/sdk/go/internal/drivercalls"
)

// Returns the answers that a test sets.
type puppet struct {
	create func(*driver.Host) (driver.Creation, error)
	status func(*driver.Host) (driver.VM, error)
	about  driver.About
}

func (of puppet) Describe(*driver.Host) driver.About { return of.about }
func (of puppet) ValidateClass(host *driver.Host, _ driver.Class) ([]string, error) {
	_, err := host.Send(driver.HTTPRequest{URL: "http://cloud.test/"})
	return nil, err
}
func (of puppet) Create(host *driver.Host, _ driver.Request) (driver.Creation, error) {
	return of.create(host)
}
func (puppet) Delete(*driver.Host, driver.Request) (driver.Deletion, error) { return nil, nil }
func (of puppet) GetStatus(host *driver.Host, _ driver.Request) (driver.VM, error) {
	return of.status(host)
}

func failure(test *testing.T, err error) *driver.Error {
	test.Helper()
	var said *driver.Error
	if !errors.As(err, &said) {
		test.Fatal("no *driver.Error: ", err)
	}
	return said
}

func created(test *testing.T, create func(*driver.Host) (driver.Creation, error)) *driver.Error {
	test.Helper()
	_, err := new(drivertest.Host).Serve(puppet{create: create}).Create(driver.Request{})
	return failure(test, err)
}

func TestWhatAnAuthorDidNotThinkOfIsAnErrorOfTheContract(test *testing.T) {
	var none *driver.Error
	var index int
	table := []struct {
		create func(*driver.Host) (driver.Creation, error)
		words  string
	}{
		{func(*driver.Host) (driver.Creation, error) { return nil, errors.New("oops") }, "failed to answer Create: oops"},
		{func(*driver.Host) (driver.Creation, error) { return nil, nil }, "the answer of Create is nil"},
		{func(*driver.Host) (driver.Creation, error) { return driver.VM{}, none }, "a nil pointer: answer nil itself"},
		{func(*driver.Host) (driver.Creation, error) { panic("oops") }, "Create panicked: oops (calls_test.go line "},
		{func(*driver.Host) (driver.Creation, error) { return []driver.VM{}[index], nil }, "index out of range [0] with length 0 (calls_test.go line "},
		{func(*driver.Host) (driver.Creation, error) { return driver.VM{NodeName: "\xff"}, nil }, "the answer of Create.NodeName is not UTF-8"},
		{func(*driver.Host) (driver.Creation, error) { return driver.VM{State: 99}, nil }, "the answer of Create.State has a value that does not exist: 99"},
		{func(*driver.Host) (driver.Creation, error) { return driver.Progress{AskAgain: -1}, nil }, "the answer of Create.AskAgain is negative"},
		{func(*driver.Host) (driver.Creation, error) { return nil, &driver.Error{Code: 99} }, "the error of Create.Code has a value that does not exist"},
		{func(*driver.Host) (driver.Creation, error) {
			return driver.VM{Addresses: []driver.Address{{}, {Kind: "\xff"}}}, nil
		}, "the answer of Create.Addresses[1].Kind is not UTF-8"},
	}
	for _, row := range table {
		said := created(test, row.create)
		if said.Code != driver.Internal || !said.MayHaveHappened || !strings.Contains(said.Message, row.words) {
			test.Errorf("%v, %v: %s", said.Code, said.MayHaveHappened, said.Message)
		}
	}
}

func TestAPanicIsInTheLog(test *testing.T) {
	host := &drivertest.Host{}
	calls := host.Serve(puppet{create: func(*driver.Host) (driver.Creation, error) { panic("oops") }})
	_, err := calls.Create(driver.Request{})
	failure(test, err)
	if len(host.Lines) != 1 || !strings.HasPrefix(host.Lines[0].Fields["panic"], "oops (calls_test.go") {
		test.Error(host.Lines)
	}
}

func TestAnErrorThatIsWrappedKeepsEverythingButItsWords(test *testing.T) {
	said := created(test, func(*driver.Host) (driver.Creation, error) {
		cause := &driver.Error{Code: driver.Aborted, Message: "in between", RetryAfter: time.Second, CloudCode: "c", Terminal: true}
		return nil, fmt.Errorf("made no VM: %w", cause)
	})
	expected := driver.Error{Code: driver.Aborted, Message: "made no VM: in between", RetryAfter: time.Second, CloudCode: "c", Terminal: true}
	if *said != expected {
		test.Error(*said)
	}
}

func TestARequestWithoutAnAnswerIsTheFailureThatItMeans(test *testing.T) {
	send := func(host *driver.Host) error {
		_, err := host.Send(driver.HTTPRequest{URL: "http://cloud.test/"})
		return err
	}
	host := &drivertest.Host{Cloud: drivertest.Answers(driver.CutOff, driver.CutOff)}
	calls := host.Serve(puppet{
		create: func(host *driver.Host) (driver.Creation, error) { return nil, send(host) },
		status: func(host *driver.Host) (driver.VM, error) { return driver.VM{}, send(host) },
	})
	_, err := calls.Create(driver.Request{})
	said := failure(test, err)
	if said.Code != driver.Unavailable || !said.MayHaveHappened || !strings.HasPrefix(said.Message, "failed to create the machine: the connection to cloud.test") {
		test.Error(said)
	}
	_, err = calls.GetStatus(driver.Request{})
	if said = failure(test, err); said.MayHaveHappened {
		test.Error("a look changes nothing: ", said)
	}
}

func TestASecretThatIsNotGrantedSaysWhatToGrant(test *testing.T) {
	host := &drivertest.Host{Secrets: map[string]string{"token": "s3cret-token"}}
	_, err := host.Serve(puppet{create: func(host *driver.Host) (driver.Creation, error) {
		secret, err := host.Secret("token", "a token")
		if err == nil {
			_, err = secret.Placeholder()
		}
		return nil, err
	}}).Create(driver.Request{})
	if said := failure(test, err); said.Code != driver.FailedPrecondition || !strings.Contains(said.Message, "add { key: token") {
		test.Error(said)
	}
}

func TestACallWithoutNetworkSaysSoToWhoTries(test *testing.T) {
	_, err := new(drivertest.Host).Serve(puppet{}).ValidateClass(driver.Class{})
	if said := failure(test, err); said.Code != driver.Internal || said.MayHaveHappened || !strings.Contains(said.Message, "neither secrets nor network") {
		test.Error(said)
	}
}

func TestADriverOffersWhatItHasMethodsFor(test *testing.T) {
	calls := new(drivertest.Host).Serve(puppet{about: driver.About{Name: "a"}})
	if about := calls.Describe(); about.Offers != (drivercalls.Offers{Status: true}) {
		test.Error(about.Offers)
	}
	errs := []error{calls.Reboot(driver.Request{})}
	_, err := calls.List(driver.Class{}, "", "")
	errs = append(errs, err)
	_, err = calls.Initialize(driver.Request{})
	errs = append(errs, err)
	_, err = calls.GetVolumeIDs(nil)
	for _, err := range append(errs, err) {
		if failure(test, err).Code != driver.Unimplemented {
			test.Error(err)
		}
	}
}

// Methods with names of the contract and other signatures.
type misshapen struct{ puppet }

func (misshapen) Reboot(driver.Request) error { return nil }

type renamed struct{ puppet }

func (renamed) ListMachines() {}

type pointed struct{ puppet }

func (*pointed) Reboot(*driver.Host, driver.Request) error { return nil }

func TestMethodsThatTheHostWouldNotFindAreMistakes(test *testing.T) {
	table := map[string]driver.Driver{
		"Reboot of drivercalls_test.misshapen is func(driver.Request) error: it must be func(*driver.Host, driver.Request) error": misshapen{},
		"Reboot of drivercalls_test.pointed has a pointer receiver: serve &pointed{} instead of pointed{}":                        pointed{},
		"has a method ListMachines: the host calls List":                                                                          renamed{},
		"the driver is nil": nil,
	}
	for words, served := range table {
		if err := drivercalls.CheckMethods(served); err == nil || !strings.Contains(err.Error(), words) {
			test.Error(err)
		}
	}
	for _, served := range []driver.Driver{puppet{}, &pointed{}} {
		if err := drivercalls.CheckMethods(served); err != nil {
			test.Error(err)
		}
	}
}
