package sim

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/machinist-dev/machinist/sdk/go/driver"
	"github.com/machinist-dev/machinist/sdk/go/driver/drivertest"
)

func TestANodeHasTheDriversOwnID(test *testing.T) {
	fixture := newFixture(test)
	vm := fixture.created(request(1, nil))
	fixture.requests()
	id, err := fixture.driver.NodeID(request(1, nil), vm)
	fixture.ok(err)
	fixture.check(id == vm.ProviderID && len(fixture.requests()) == 0, id)
}

func TestAPlacedClassMakesVMsInThatZoneAndNowhereElse(test *testing.T) {
	fixture := newFixture(test)
	several := drivertest.Class("sim", specWith(nil), "sim-1a", "sim-1c")
	text, err := fixture.driver.Place(several, "sim-1b")
	fixture.ok(err)
	var placed object
	fixture.ok(json.Unmarshal([]byte(text), &placed))
	fixture.check(reflect.DeepEqual(placed, specWith(object{"zone": "sim-1b"})), text)
	vm := fixture.created(drivertest.Request(1, drivertest.Class("sim", placed)))
	fixture.check(vm.FailureDomain == "sim-1b", vm)
	fixture.cloud.fullZones = []string{"sim-1b"}
	again := drivertest.Request(2, drivertest.Class("sim", placed))
	fixture.fails(driver.ResourceExhausted, second(fixture.driver.Create(again)))
	invalid := drivertest.Class("sim", object{"type": "sim.small"})
	fixture.fails(driver.InvalidArgument, second(fixture.driver.Place(invalid, "sim-1b")))
}

func TestOfTwoVMsTheOneThatIsNamedIsRemovedAndNoOther(test *testing.T) {
	fixture := newFixture(test)
	kept := withID(request(1, nil), fixture.created(request(1, nil)).ProviderID)
	again, theirs := request(1, nil), request(1, nil)
	again.IdempotencyKey, theirs.IdempotencyKey, theirs.Cluster = "another key", "their key", "c2"
	extra, foreign := fixture.created(again), fixture.created(theirs)
	for id, code := range map[string]driver.Code{
		kept.Machine.ProviderID: driver.FailedPrecondition,
		foreign.ProviderID:      driver.FailedPrecondition,
		"aws:///a/i-1":          driver.InvalidArgument,
	} {
		fixture.fails(code, fixture.driver.DeleteByID(kept, id))
	}
	fixture.check(len(fixture.cloud.live()) == 3)
	for range 2 {
		fixture.ok(fixture.driver.DeleteByID(kept, extra.ProviderID))
		fixture.check(len(fixture.cloud.live()) == 2)
	}
	fixture.cloud.complete()
	fixture.ok(fixture.driver.DeleteByID(kept, extra.ProviderID))
	fixture.ok(second(fixture.driver.GetStatus(kept)))
}

func TestAVMMayBeTakenAwayIfItsClassSaysSo(test *testing.T) {
	fixture := newFixture(test)
	of := func(changes object) (bool, error) {
		return fixture.driver.IsInterruptible(drivertest.Class("sim", specWith(changes)))
	}
	for _, row := range []struct {
		changes  object
		expected bool
	}{{nil, false}, {object{"interruptible": nil}, false}, {object{"interruptible": true}, true}} {
		is, err := of(row.changes)
		fixture.ok(err)
		fixture.check(is == row.expected, row)
	}
	fixture.fails(driver.InvalidArgument, second(of(object{"interruptible": "yes"})))
	fixture.check(len(fixture.requests()) == 0)
}

func TestANodeHasTheResourcesOfItsType(test *testing.T) {
	fixture := newFixture(test)
	of := func(kind string) (driver.NodeResources, error) {
		return fixture.driver.NodeCapacity(drivertest.Class("sim", specWith(object{"type": kind})))
	}
	known, err := of("sim.small")
	fixture.ok(err)
	small := driver.NodeResources{
		Resources: map[string]string{"cpu": "2", "memory": "4Gi"}, Architecture: "amd64", OperatingSystem: "linux",
	}
	fixture.check(reflect.DeepEqual(known, small), known)
	fixture.check(reflect.DeepEqual(fixture.requests(), []string{"GET /v1/regions"}))
	gpu, err := of("sim.gpu")
	fixture.ok(err)
	fixture.check(gpu.Resources["nvidia.com/gpu"] == "1", gpu)
	fixture.fails(driver.NotFound, second(of("sim.none")))
}
