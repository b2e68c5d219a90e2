package sim

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/machinist-dev/machinist/sdk/go/driver"
	"github.com/machinist-dev/machinist/sdk/go/driver/drivertest"
)

var pageOfAProxy = driver.Header{"content-type": "text/html"}

func proxy(status int) *driver.HTTPAnswer {
	return &driver.HTTPAnswer{Status: status, Header: pageOfAProxy, Body: []byte("<html>bad gateway</html>")}
}

// The cloud does the work, and gives another answer.
func done(given *driver.HTTPAnswer, reason driver.NoAnswerReason) fault {
	return func(answer func() *driver.HTTPAnswer) (*driver.HTTPAnswer, error) {
		answer()
		if given == nil {
			return nil, drivertest.Silence(reason)
		}
		return given, nil
	}
}

// The cloud does not get the request.
func instead(given *driver.HTTPAnswer) fault {
	return func(func() *driver.HTTPAnswer) (*driver.HTTPAnswer, error) { return given, nil }
}

func silent(reason driver.NoAnswerReason) fault {
	return func(func() *driver.HTTPAnswer) (*driver.HTTPAnswer, error) { return nil, drivertest.Silence(reason) }
}

func TestAnOutcomeThatNobodyKnowsSaysSoAndTheKeyBringsTheVMBack(test *testing.T) {
	cut := func(answer func() *driver.HTTPAnswer) (*driver.HTTPAnswer, error) {
		whole := answer()
		return &driver.HTTPAnswer{Status: whole.Status, Header: whole.Header, Body: whole.Body[:len(whole.Body)/2]}, nil
	}
	table := []struct {
		fault fault
		code  driver.Code
	}{
		{done(nil, driver.TimedOut), driver.DeadlineExceeded},
		{done(refused(500, "internal"), 0), driver.Unavailable},
		{done(nil, driver.CutOff), driver.Unavailable},
		{cut, driver.Unavailable},
		{done(&driver.HTTPAnswer{Status: 200, Body: []byte("\x00\xffgarbage")}, 0), driver.Internal},
		{done(proxy(502), 0), driver.Unavailable},
		{done(proxy(200), 0), driver.Unavailable},
	}
	for _, row := range table {
		fixture := newFixture(test)
		fixture.cloud.faults["POST /v1/vms"] = row.fault
		said := fixture.fails(row.code, second(fixture.driver.Create(request(1, nil))))
		fixture.check(said.MayHaveHappened && !said.Terminal, said)
		fixture.check(!strings.Contains(said.Message, "<") && len(said.Message) < 300, said)
		fixture.check(len(fixture.cloud.live()) == 1, said)
		clear(fixture.cloud.faults)
		fixture.created(request(1, nil))
		fixture.check(len(fixture.cloud.live()) == 1, said)
	}
}

func TestThrottlingPassesTheCloudsOwnPauseOn(test *testing.T) {
	fixture := newFixture(test)
	fixture.cloud.faults["POST /v1/vms"] = instead(refused(429, "throttled", "Retry-After", "7"))
	said := fixture.fails(driver.Unavailable, second(fixture.driver.Create(request(2, nil))))
	fixture.check(said.RetryAfter == 7*time.Second && !said.MayHaveHappened, said)
}

func TestCredentialsThatAreMissingWrongOrTooWeakAreDistinguished(test *testing.T) {
	fixture := newFixture(test)
	fixture.host.Secrets = map[string]string{"token": "a-wrong-token"}
	fixture.check(fixture.fails(driver.Unauthenticated, second(fixture.driver.Create(request(1, nil)))).Terminal)
	fixture.fails(driver.Unauthenticated, second(fixture.driver.Delete(request(1, nil))))
	fixture.host.Secrets = map[string]string{"token": readToken}
	fixture.fails(driver.PermissionDenied, second(fixture.driver.Create(request(1, nil))))
	fixture.host.Secrets = nil
	said := fixture.fails(driver.Unauthenticated, second(fixture.driver.Create(request(1, nil))))
	fixture.check(strings.Contains(said.Message, "no key token"), said)
	fixture.host.Secrets = map[string]string{"token": token}
	fixture.host.Places = nil
	said = fixture.fails(driver.FailedPrecondition, second(fixture.driver.Create(request(1, nil))))
	fixture.check(strings.Contains(said.Message, "grants"), said)
}

func TestAFullZoneLeadsToTheNextAndFullZonesToExhaustion(test *testing.T) {
	fixture := newFixture(test)
	asked := request(1, nil, "sim-1a", "sim-1b")
	fixture.cloud.fullZones = []string{"sim-1a", "sim-1b"}
	said := fixture.fails(driver.ResourceExhausted, second(fixture.driver.Create(asked)))
	fixture.check(said.CloudCode == "capacity_exhausted" && strings.HasSuffix(said.Message, "asked for in sim-1a, sim-1b"), said)
	fixture.check(len(fixture.requests()) == 2)

	fixture.cloud.fullZones = []string{"sim-1a"}
	vm := fixture.created(asked)
	fixture.check(vm.FailureDomain == "sim-1b", vm)
	// The first zone has room again, but the machine's VM is still the one in the second.
	fixture.cloud.fullZones = nil
	fixture.check(fixture.created(asked).ProviderID == vm.ProviderID && len(fixture.cloud.live()) == 1)
}

func TestAKeyUsedWithAnotherClassMeansTheVMThatItMade(test *testing.T) {
	fixture := newFixture(test)
	vm := fixture.created(request(1, nil))
	fixture.requests()
	fixture.check(fixture.created(request(1, object{"type": "sim.large"})).ProviderID == vm.ProviderID)
	fixture.check(strings.Join(fixture.requests(), ", ") == "POST /v1/vms, GET /v1/vms" && len(fixture.cloud.live()) == 1)
}

func TestAVMThatReadsDoNotShowYetIsWaitedFor(test *testing.T) {
	fixture := newFixture(test)
	vm := fixture.created(request(1, nil))
	fixture.cloud.hideAll()
	changed := request(1, object{"image": "linux-2"})
	said := fixture.fails(driver.Aborted, second(fixture.driver.Create(changed)))
	fixture.check(said.MayHaveHappened && said.RetryAfter == time.Second, said)
	clear(fixture.cloud.hidden)
	fixture.check(fixture.created(changed).ProviderID == vm.ProviderID)
}

func TestALookThatFailsAfterAMismatchDoesNotHideThatThereIsAVM(test *testing.T) {
	fixture := newFixture(test)
	fixture.created(request(1, nil))
	fixture.cloud.faults["GET /v1/vms"] = silent(driver.ConnectionRefused)
	said := fixture.fails(driver.Unavailable, second(fixture.driver.Create(request(1, object{"image": "linux-2"}))))
	fixture.check(said.MayHaveHappened, said)
}

func TestAVMThatReadsDoNotShowYetIsDeletedByItsID(test *testing.T) {
	fixture := newFixture(test)
	vm := fixture.created(request(1, nil))
	fixture.cloud.hideAll()
	fixture.ok(second(fixture.driver.Delete(withID(request(1, nil), vm.ProviderID))))
	fixture.check(len(fixture.cloud.live()) == 0)
}

func TestAKeyWhoseVMIsGoneNeverWorksAgain(test *testing.T) {
	fixture := newFixture(test)
	fixture.created(request(1, nil))
	fixture.cloud.live()[0]["state"] = "terminated"
	said := fixture.fails(driver.FailedPrecondition, second(fixture.driver.Create(request(1, nil))))
	fixture.check(said.Terminal && !said.MayHaveHappened && strings.Contains(said.Message, "delete the Machine"), said)
}

func TestADeletionThatFailsHalfWaySaysSoAndEndsWellWhenRepeated(test *testing.T) {
	fixture := newFixture(test)
	asked := withID(request(1, nil), fixture.created(request(1, nil)).ProviderID)
	fixture.cloud.faults["DELETE /v1/vms/*"] = silent(driver.TimedOut)
	fixture.check(fixture.fails(driver.DeadlineExceeded, second(fixture.driver.Delete(asked))).MayHaveHappened)
	clear(fixture.cloud.faults)
	fixture.cloud.faults["GET /v1/volumes"] = instead(refused(503, "unavailable", "retry-after", "3"))
	said := fixture.fails(driver.Unavailable, second(fixture.driver.Delete(asked)))
	fixture.check(!said.MayHaveHappened && said.RetryAfter == 3*time.Second, said)
	clear(fixture.cloud.faults)
	fixture.ok(second(fixture.driver.Delete(asked)))
	fixture.check(len(fixture.cloud.live()) == 0)
}

func TestAProxysPageOfNothingIsNoProofThatThereIsNoVM(test *testing.T) {
	fixture := newFixture(test)
	asked := withID(request(1, nil), fixture.created(request(1, nil)).ProviderID)
	fixture.cloud.faults["GET /v1/vms/*"] = instead(proxy(404))
	fixture.fails(driver.Unavailable, second(fixture.driver.GetStatus(asked)))
	fixture.cloud.faults["DELETE /v1/vms/*"] = instead(proxy(404))
	fixture.fails(driver.Unavailable, second(fixture.driver.Delete(asked)))
}

func TestARebootWithoutAnAnswerMayHaveHappened(test *testing.T) {
	fixture := newFixture(test)
	fixture.created(request(1, nil))
	fixture.cloud.faults["POST /v1/vms/*/reboot"] = silent(driver.TimedOut)
	fixture.check(fixture.fails(driver.DeadlineExceeded, fixture.driver.Reboot(request(1, nil))).MayHaveHappened)
}

func TestACallWithoutTimeLeftAsksNobody(test *testing.T) {
	fixture := newFixture(test)
	fixture.host.Remaining = 200 * time.Millisecond
	said := fixture.fails(driver.DeadlineExceeded, second(fixture.driver.Create(request(1, nil))))
	fixture.check(!said.MayHaveHappened && len(fixture.requests()) == 0, said)
}

func TestAListingThatTurnsInCirclesEndsWithAnError(test *testing.T) {
	fixture := newLie(test, `{"vms": [], "nextCursor": "again"}`)
	fixture.fails(driver.Internal, second(fixture.driver.GetStatus(request(1, nil))))
	page, err := fixture.driver.List(request(1, nil).Class, "c1", "")
	fixture.ok(err)
	fixture.check(page.Next == "again", page)
	fixture.fails(driver.Internal, second(fixture.driver.List(request(1, nil).Class, "c1", "again")))
}

func TestAnswersThatAreNotTheAPIsAreErrorsAndNeverAnAbsence(test *testing.T) {
	deep := strings.Repeat("[", 100_000)
	half := `{"vms": [{"id": "vm-1", "name": "\ud800", "state": "running", "zone": "z"}]}`
	bodies := []string{"", "{", "null", "{}", "7", `{"vms": 1}`, `{"vms": [{"id": ""}]}`, `{"vms": [{"id": "vm-1"}]}`, deep, half}
	for _, body := range bodies {
		fixture := newLie(test, body)
		errs := []error{
			second(fixture.driver.GetStatus(request(1, nil))),
			second(fixture.driver.Create(request(1, nil))),
			second(fixture.driver.Delete(request(1, nil))),
		}
		for _, err := range errs {
			var said *driver.Error
			if !errors.As(err, &said) || (said.Code != driver.Internal && said.Code != driver.Unavailable) {
				test.Errorf("%.40s: %v", body, err)
			}
		}
	}
}

func TestWhatACloudListsBesideTheQuestionIsNotOurs(test *testing.T) {
	theirs := `{"id": "vm-1", "name": "a", "state": "running", "zone": "z", "tags": {"cluster": "c2"}}`
	fixture := newLie(test, `{"vms": [`+theirs+`], "volumes": []}`)
	fixture.fails(driver.NotFound, second(fixture.driver.GetStatus(request(1, nil))))
	page, err := fixture.driver.List(request(1, nil).Class, "c1", "")
	fixture.ok(err)
	fixture.check(len(page.Machines) == 0, page)
	fixture.ok(second(fixture.driver.Delete(request(1, nil))))
}
