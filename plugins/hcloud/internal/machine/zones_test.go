package machine

import (
	"strings"
	"testing"

	"github.com/machinist-dev/machinist/sdk/go/driver"
	"github.com/machinist-dev/machinist/sdk/go/driver/drivertest"
)

// A class with an alternative of its own; the host names another one.
func threeZones() driver.Request {
	asked := request(1, object{"alternativeZones": []string{"fsn1"}})
	asked.Class.Zones = []string{"hel1", "nbg1"}
	return asked
}

func lostRequest(func() *driver.HTTPAnswer) (*driver.HTTPAnswer, error) {
	return nil, drivertest.Silence(driver.TimedOut)
}

// Creates once, and returns the request of the next call, in the zone that the driver names.
func (of *fixture) next(asked driver.Request, zone string) driver.Request {
	of.Helper()
	created, err := of.driver.Create(asked)
	of.ok(err)
	progress, is := created.(driver.Progress)
	of.check(is && strings.HasSuffix(progress.Message, "zone "+zone+" is tried next"), created)
	asked.Machine.LastKnownState = progress.ResumeToken
	noted, _ := stateOf(asked)
	of.check(noted.Zone == zone && noted.Server == 0, noted)
	return asked
}

func (of *fixture) orders() (count int) {
	for _, line := range of.requests() {
		if line == "POST /v1/servers" {
			count++
		}
	}
	return count
}

func TestALocationWithoutRoomIsFollowedByTheNextInACallOfItsOwn(test *testing.T) {
	fixture := newFixture(test)
	fixture.cloud.full = []string{"hel1"}
	asked := fixture.next(threeZones(), "fsn1")
	fixture.check(fixture.orders() == 1 && len(fixture.cloud.servers) == 0, "the host stores the zone before it is asked there")
	vm := fixture.created(asked)
	fixture.check(vm.FailureDomain == "fsn1" && len(fixture.live()) == 1, vm)
	// Without id and facts, and with another class, it is found in any zone.
	seen, err := fixture.driver.GetStatus(request(1, nil))
	fixture.check(err == nil && seen.ProviderID == vm.ProviderID, seen, err)
	fixture.ok(second(fixture.driver.Delete(request(1, nil))))
	fixture.check(len(fixture.live()) == 0)
}

func TestALostAnswerStaysInItsZoneAndMakesOneServer(test *testing.T) {
	for _, full := range [][]string{nil, {"hel1"}} {
		fixture := newFixture(test)
		asked, zone := threeZones(), "hel1-dc2"
		if fixture.cloud.full = full; len(full) > 0 {
			asked, zone = fixture.next(asked, "fsn1"), "fsn1"
		}
		fixture.cloud.faults["POST servers"] = done(nil, driver.TimedOut)
		said := fixture.fails(driver.DeadlineExceeded, second(fixture.driver.Create(asked)))
		fixture.check(said.MayHaveHappened && len(fixture.live()) == 1, said)
		clear(fixture.cloud.faults)
		// Whatever room there is then, and whatever the host has stored, the server of the lost answer is the Machine's.
		fixture.cloud.full = []string{"hel1", "fsn1"}
		kept := asked
		if said.LastKnownState != "" {
			kept.Machine.LastKnownState = said.LastKnownState
		}
		for _, again := range []driver.Request{kept, asked, request(1, nil)} {
			vm := fixture.created(again)
			fixture.check(vm.FailureDomain == zone && len(fixture.live()) == 1, vm)
		}
	}
}

func TestARequestThatWasLostIsRepeatedInItsZone(test *testing.T) {
	fixture := newFixture(test)
	fixture.cloud.full = []string{"hel1"}
	asked := fixture.next(threeZones(), "fsn1")
	fixture.cloud.faults["POST servers"] = lostRequest
	fixture.requests()
	said := fixture.fails(driver.DeadlineExceeded, second(fixture.driver.Create(asked)))
	fixture.check(said.MayHaveHappened && fixture.orders() == 1, said)
	clear(fixture.cloud.faults)
	fixture.cloud.full = nil
	asked.Machine.LastKnownState = said.LastKnownState
	fixture.check(fixture.created(asked).FailureDomain == "fsn1")
}

func TestACertainNoOfTheLastZoneIsTheAnswerAndTheFirstIsNext(test *testing.T) {
	fixture := newFixture(test)
	fixture.cloud.full = []string{"hel1", "fsn1", "nbg1"}
	asked := fixture.next(fixture.next(threeZones(), "fsn1"), "nbg1")
	said := fixture.fails(driver.ResourceExhausted, second(fixture.driver.Create(asked)))
	fixture.check(strings.HasSuffix(said.Message, "asked for in hel1-dc2, fsn1, nbg1") && !said.Terminal && !said.MayHaveHappened, said)
	fixture.cloud.full = nil
	asked.Machine.LastKnownState = said.LastKnownState
	fixture.check(fixture.created(asked).FailureDomain == "hel1-dc2")
}

func TestALocationThatAcceptsAServerAndCannotStartItIsFollowedByTheNext(test *testing.T) {
	fixture := newFixture(test)
	asked := threeZones()
	created, err := fixture.driver.Create(asked)
	fixture.ok(err)
	fixture.cloud.startFailure = "resource_unavailable"
	fixture.cloud.complete()
	asked.Machine.LastKnownState = created.(driver.Progress).ResumeToken
	asked = fixture.next(asked, "fsn1")
	fixture.check(len(fixture.live()) == 0, "the server that never ran is ordered away")
	fixture.cloud.startFailure = ""
	// Its name is not free before it is gone.
	said := fixture.fails(driver.Aborted, second(fixture.driver.Create(asked)))
	noted, _ := stateOf(driver.Request{Machine: driver.Machine{LastKnownState: said.LastKnownState}})
	fixture.check(said.RetryAfter > 0 && noted.Zone == "fsn1", said)
	fixture.cloud.complete()
	asked.Machine.LastKnownState = said.LastKnownState
	fixture.check(fixture.created(asked).FailureDomain == "fsn1" && len(fixture.live()) == 1)
}

func TestNoOtherZoneIsTriedWhereItWouldNotHelp(test *testing.T) {
	for status, code := range map[int]string{403: "resource_limit_exceeded", 429: "rate_limit_exceeded", 503: "unavailable_for_tests"} {
		fixture := newFixture(test)
		fixture.cloud.faults["POST servers"] = instead(refused(status, code))
		fixture.check(second(fixture.driver.Create(threeZones())) != nil && fixture.orders() == 1, code)
		clear(fixture.cloud.faults)
		fixture.check(fixture.created(threeZones()).FailureDomain == "hel1-dc2", code)
	}
	// After another refusal in a later zone the next round begins with the first, so that no zone holds the Machine up.
	fixture := newFixture(test)
	fixture.cloud.full = []string{"hel1"}
	asked := fixture.next(threeZones(), "fsn1")
	fixture.cloud.faults["POST servers"] = instead(refused(409, "no_subnet_available"))
	said := fixture.fails(driver.ResourceExhausted, second(fixture.driver.Create(asked)))
	clear(fixture.cloud.faults)
	fixture.cloud.full = nil
	asked.Machine.LastKnownState = said.LastKnownState
	fixture.check(fixture.created(asked).FailureDomain == "hel1-dc2")
}

func TestAZoneThatTheClassNoLongerNamesMakesNoSecondServer(test *testing.T) {
	fixture := newFixture(test)
	fixture.cloud.full = []string{"hel1"}
	asked := fixture.next(threeZones(), "fsn1")
	fixture.cloud.faults["POST servers"] = done(nil, driver.TimedOut)
	said := fixture.fails(driver.DeadlineExceeded, second(fixture.driver.Create(asked)))
	clear(fixture.cloud.faults)
	fixture.cloud.full = nil
	asked.Class = request(1, nil).Class
	asked.Machine.LastKnownState = said.LastKnownState
	fixture.check(fixture.created(asked).FailureDomain == "fsn1" && len(fixture.live()) == 1)
}
