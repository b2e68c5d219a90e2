package life

import (
	"errors"
	"fmt"
	"testing"

	"github.com/machinist-dev/machinist/sdk/go/driver"
)

// The class with the most requests: a port and a volume of its own.
func (of *given) richSpec() map[string]any {
	return of.spec(map[string]any{"subnetIDs": []string{of.Facts.NodeSubnet}, "rootDiskSize": 2, "rootDiskType": "fast",
		"imageID": nil, "imageName": "debian-12"})
}

// At each request of a create, and of a deletion, the request is lost, its answer is lost, or the host ends. Then the
// host goes on: there is one server, and after the deletion nothing.
func TestWhateverIsLostThereIsOneServerAndNothingIsLeft(t *testing.T) {
	cloud := cloudOf(t)
	calm := machine(t, cloud.richSpec())
	calm.made()
	// Polls repeat: a loss in one of them is a loss in any.
	most := min(len(calm.requests), 16)
	for at := 1; at <= most; at++ {
		for _, loss := range []loss{lostRequest, lostAnswer, crash} {
			t.Run(fmt.Sprintf("create/%d/%d", at, loss), func(t *testing.T) {
				t.Parallel()
				of := machine(t, cloud.richSpec())
				of.losesAt, of.loss = at, loss
				of.createAgainstLosses()
				servers, ports, volumes := of.left()
				if len(servers) != 1 || len(ports) < 1 || len(volumes) < 1 {
					t.Fatalf("%d servers, %d ports, %d volumes", len(servers), len(ports), len(volumes))
				}
				must(t, of.delete())
				of.mustLeaveNothing()
			})
		}
	}
}

func TestADeletionSurvivesEachLoss(t *testing.T) {
	cloud := cloudOf(t)
	calm := machine(t, cloud.richSpec())
	calm.made()
	before := len(calm.requests)
	must(t, calm.delete())
	most := min(len(calm.requests)-before, 12)
	for at := 1; at <= most; at++ {
		for _, loss := range []loss{lostRequest, lostAnswer, crash} {
			t.Run(fmt.Sprintf("delete/%d/%d", at, loss), func(t *testing.T) {
				t.Parallel()
				of := machine(t, cloud.richSpec())
				of.made()
				of.losesAt, of.loss = len(of.requests)+at, loss
				for range 5 {
					err := of.delete()
					of.crashed = false
					if err == nil {
						break
					}
				}
				of.mustLeaveNothing()
			})
		}
	}
}

// createAgainstLosses goes on after each failure as the host does: it looks first, and creates again if nothing is
// there.
func (of *subject) createAgainstLosses() {
	of.t.Helper()
	for range 5 {
		vm, err := of.create()
		if err == nil {
			of.request.Machine.ProviderID = vm.ProviderID
			return
		}
		of.crashed = false
		var said *driver.Error
		if errors.As(err, &said) && said.Terminal {
			of.t.Fatalf("a loss is terminal: %v", err)
		}
		vm, err = of.calls.GetStatus(of.request)
		if err == nil {
			of.request.Machine.ProviderID = vm.ProviderID
			return
		}
		if code := asError(of.t, err).Code; code != driver.NotFound {
			of.t.Logf("get-status after a loss: %v", err)
		}
	}
	of.t.Fatal("the create does not recover")
}
