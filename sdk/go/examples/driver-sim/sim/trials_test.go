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
func done(given *driver.HTTPAnswer, trouble driver.Trouble) fault {
	return func(answer func() *driver.HTTPAnswer) (*driver.HTTPAnswer, error) {
		answer()
		if given == nil {
			return nil, drivertest.Silence(trouble)
		}
		return given, nil
	}
}

// The cloud does not get the request.
func instead(given *driver.HTTPAnswer) fault {
	return func(func() *driver.HTTPAnswer) (*driver.HTTPAnswer, error) { return given, nil }
}

func silent(trouble driver.Trouble) fault {
	return func(func() *driver.HTTPAnswer) (*driver.HTTPAnswer, error) { return nil, drivertest.Silence(trouble) }
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
		world := newWorld(test)
		world.cloud.faults["POST /v1/vms"] = row.fault
		said := world.fails(row.code, second(world.driver.Create(request(1, nil))))
		world.check(said.MayHaveHappened && !said.Terminal, said)
		world.check(!strings.Contains(said.Message, "<") && len(said.Message) < 300, said)
		world.check(len(world.cloud.live()) == 1, said)
		clear(world.cloud.faults)
		world.created(request(1, nil))
		world.check(len(world.cloud.live()) == 1, said)
	}
}

func TestThrottlingPassesTheCloudsOwnPauseOn(test *testing.T) {
	world := newWorld(test)
	world.cloud.faults["POST /v1/vms"] = instead(refused(429, "throttled", "Retry-After", "7"))
	said := world.fails(driver.Unavailable, second(world.driver.Create(request(2, nil))))
	world.check(said.RetryAfter == 7*time.Second && !said.MayHaveHappened, said)
}

func TestCredentialsThatAreMissingWrongOrTooWeakAreToldApart(test *testing.T) {
	world := newWorld(test)
	world.host.Secrets = map[string]string{"token": "a-wrong-token"}
	world.check(world.fails(driver.Unauthenticated, second(world.driver.Create(request(1, nil)))).Terminal)
	world.fails(driver.Unauthenticated, second(world.driver.Delete(request(1, nil))))
	world.host.Secrets = map[string]string{"token": readToken}
	world.fails(driver.PermissionDenied, second(world.driver.Create(request(1, nil))))
	world.host.Secrets = nil
	said := world.fails(driver.Unauthenticated, second(world.driver.Create(request(1, nil))))
	world.check(strings.Contains(said.Message, "no key token"), said)
	world.host.Secrets = map[string]string{"token": token}
	world.host.Places = nil
	said = world.fails(driver.FailedPrecondition, second(world.driver.Create(request(1, nil))))
	world.check(strings.Contains(said.Message, "grants"), said)
}

func TestAFullZoneLeadsToTheNextAndFullZonesToExhaustion(test *testing.T) {
	world := newWorld(test)
	asked := request(1, nil, "sim-1a", "sim-1b")
	world.cloud.fullZones = []string{"sim-1a", "sim-1b"}
	said := world.fails(driver.ResourceExhausted, second(world.driver.Create(asked)))
	world.check(said.CloudCode == "capacity_exhausted" && strings.HasSuffix(said.Message, "asked for in sim-1a, sim-1b"), said)
	world.check(len(world.requests()) == 2)

	world.cloud.fullZones = []string{"sim-1a"}
	vm := world.created(asked)
	world.check(vm.FailureDomain == "sim-1b", vm)
	// The first zone has room again, but the machine's VM is still the one in the second.
	world.cloud.fullZones = nil
	world.check(world.created(asked).ProviderID == vm.ProviderID && len(world.cloud.live()) == 1)
}

func TestAKeyUsedWithAnotherClassMeansTheVMThatItMade(test *testing.T) {
	world := newWorld(test)
	vm := world.created(request(1, nil))
	world.requests()
	world.check(world.created(request(1, object{"type": "sim.large"})).ProviderID == vm.ProviderID)
	world.check(strings.Join(world.requests(), ", ") == "POST /v1/vms, GET /v1/vms" && len(world.cloud.live()) == 1)
}

func TestAVMThatReadsDoNotShowYetIsWaitedFor(test *testing.T) {
	world := newWorld(test)
	vm := world.created(request(1, nil))
	world.cloud.hideAll()
	changed := request(1, object{"image": "linux-2"})
	said := world.fails(driver.Aborted, second(world.driver.Create(changed)))
	world.check(said.MayHaveHappened && said.RetryAfter == time.Second, said)
	clear(world.cloud.hidden)
	world.check(world.created(changed).ProviderID == vm.ProviderID)
}

func TestALookThatFailsAfterAMismatchDoesNotHideThatThereIsAVM(test *testing.T) {
	world := newWorld(test)
	world.created(request(1, nil))
	world.cloud.faults["GET /v1/vms"] = silent(driver.ConnectionRefused)
	said := world.fails(driver.Unavailable, second(world.driver.Create(request(1, object{"image": "linux-2"}))))
	world.check(said.MayHaveHappened, said)
}

func TestAVMThatReadsDoNotShowYetIsDeletedByItsID(test *testing.T) {
	world := newWorld(test)
	vm := world.created(request(1, nil))
	world.cloud.hideAll()
	world.ok(second(world.driver.Delete(withID(request(1, nil), vm.ProviderID))))
	world.check(len(world.cloud.live()) == 0)
}

func TestAKeyWhoseVMIsGoneNeverWorksAgain(test *testing.T) {
	world := newWorld(test)
	world.created(request(1, nil))
	world.cloud.live()[0]["state"] = "terminated"
	said := world.fails(driver.FailedPrecondition, second(world.driver.Create(request(1, nil))))
	world.check(said.Terminal && !said.MayHaveHappened && strings.Contains(said.Message, "delete the Machine"), said)
}

func TestADeletionThatFailsHalfWaySaysSoAndEndsWellWhenRepeated(test *testing.T) {
	world := newWorld(test)
	asked := withID(request(1, nil), world.created(request(1, nil)).ProviderID)
	world.cloud.faults["DELETE /v1/vms/*"] = silent(driver.TimedOut)
	world.check(world.fails(driver.DeadlineExceeded, second(world.driver.Delete(asked))).MayHaveHappened)
	clear(world.cloud.faults)
	world.cloud.faults["GET /v1/volumes"] = instead(refused(503, "unavailable", "retry-after", "3"))
	said := world.fails(driver.Unavailable, second(world.driver.Delete(asked)))
	world.check(!said.MayHaveHappened && said.RetryAfter == 3*time.Second, said)
	clear(world.cloud.faults)
	world.ok(second(world.driver.Delete(asked)))
	world.check(len(world.cloud.live()) == 0)
}

func TestAProxysPageOfNothingIsNoProofThatThereIsNoVM(test *testing.T) {
	world := newWorld(test)
	asked := withID(request(1, nil), world.created(request(1, nil)).ProviderID)
	world.cloud.faults["GET /v1/vms/*"] = instead(proxy(404))
	world.fails(driver.Unavailable, second(world.driver.GetStatus(asked)))
	world.cloud.faults["DELETE /v1/vms/*"] = instead(proxy(404))
	world.fails(driver.Unavailable, second(world.driver.Delete(asked)))
}

func TestARebootWithoutAnAnswerMayHaveHappened(test *testing.T) {
	world := newWorld(test)
	world.created(request(1, nil))
	world.cloud.faults["POST /v1/vms/*/reboot"] = silent(driver.TimedOut)
	world.check(world.fails(driver.DeadlineExceeded, world.driver.Reboot(request(1, nil))).MayHaveHappened)
}

func TestACallWithoutTimeLeftAsksNobody(test *testing.T) {
	world := newWorld(test)
	world.host.Remaining = 200 * time.Millisecond
	said := world.fails(driver.DeadlineExceeded, second(world.driver.Create(request(1, nil))))
	world.check(!said.MayHaveHappened && len(world.requests()) == 0, said)
}

func TestAListingThatTurnsInCirclesEndsWithAnError(test *testing.T) {
	world := newLie(test, `{"vms": [], "nextCursor": "again"}`)
	world.fails(driver.Internal, second(world.driver.GetStatus(request(1, nil))))
	page, err := world.driver.List(request(1, nil).Class, "c1", "")
	world.ok(err)
	world.check(page.Next == "again", page)
	world.fails(driver.Internal, second(world.driver.List(request(1, nil).Class, "c1", "again")))
}

func TestAnswersThatAreNotTheAPIsAreErrorsAndNeverAnAbsence(test *testing.T) {
	deep := strings.Repeat("[", 100_000)
	half := `{"vms": [{"id": "vm-1", "name": "\ud800", "state": "running", "zone": "z"}]}`
	bodies := []string{"", "{", "null", "{}", "7", `{"vms": 1}`, `{"vms": [{"id": ""}]}`, `{"vms": [{"id": "vm-1"}]}`, deep, half}
	for _, body := range bodies {
		world := newLie(test, body)
		errs := []error{
			second(world.driver.GetStatus(request(1, nil))),
			second(world.driver.Create(request(1, nil))),
			second(world.driver.Delete(request(1, nil))),
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
	world := newLie(test, `{"vms": [`+theirs+`], "volumes": []}`)
	world.fails(driver.NotFound, second(world.driver.GetStatus(request(1, nil))))
	page, err := world.driver.List(request(1, nil).Class, "c1", "")
	world.ok(err)
	world.check(len(page.Machines) == 0, page)
	world.ok(second(world.driver.Delete(request(1, nil))))
}
