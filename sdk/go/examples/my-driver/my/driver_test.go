package my

import (
	"errors"
	"testing"

	"github.com/machinist-dev/machinist/sdk/go/driver"
	"github.com/machinist-dev/machinist/sdk/go/driver/drivertest"
)

func create(answers ...any) (*drivertest.Host, driver.Creation, error) {
	host := &drivertest.Host{
		Cloud:   drivertest.Answers(answers...),
		Secrets: map[string]string{"token": "s3cret-token"},
		Places:  map[string][]drivertest.Place{"token": {{Header: "authorization"}}},
	}
	class := drivertest.Class("my", map[string]string{"size": "s"})
	created, err := host.Serve(Driver{Version: "0.1.0"}).Create(drivertest.Request(1, class))
	return host, created, err
}

func TestTheTokenTravelsAndIsNotSeen(t *testing.T) {
	host, created, err := create(drivertest.JSON(201, map[string]string{"id": "vm-1"}))
	if vm, is := created.(driver.VM); !is || vm.ProviderID != "my:///vm-1" {
		t.Fatal(created, err)
	}
	if host.Seen[0].Header["authorization"] != "Bearer s3cret-token" || host.Sent[0].Header["authorization"] == "Bearer s3cret-token" {
		t.Fatal(host.Sent)
	}
}

func TestAnAnswerThatIsLostMayHaveHappened(t *testing.T) {
	_, _, err := create(driver.TimedOut)
	var said *driver.Error
	if !errors.As(err, &said) || said.Code != driver.DeadlineExceeded || !said.MayHaveHappened {
		t.Fatal(err)
	}
}
