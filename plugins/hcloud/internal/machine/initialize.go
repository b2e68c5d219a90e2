package machine

import (
	"fmt"
	"strings"

	"github.com/hetznercloud/hcloud-go/v2/hcloud"

	"github.com/machinist-dev/machinist/plugins/hcloud/internal/api"
	"github.com/machinist-dev/machinist/plugins/hcloud/internal/class"
	"github.com/machinist-dev/machinist/sdk/go/driver"
)

// The missing steps of a server, by its class. Hetzner cannot do them in the request that creates the server.
type due struct {
	// True if it is adopted and lacks the marks.
	marks bool
	// True if it lacks its Floating IP.
	floatingIP bool
}

func dueOf(server *hcloud.Server, request driver.Request) due {
	if server.Status == hcloud.ServerStatusDeleting {
		return due{}
	}
	pool, _ := class.FloatingPool(request.Class)
	return due{marks: lacksMarks(server), floatingIP: pool != "" && len(server.PublicNet.FloatingIPs) == 0}
}

func (of due) isAny() bool { return of != due{} }

func (of due) String() string {
	var parts []string
	if of.marks {
		parts = append(parts, "mark it as the Machine's")
	}
	if of.floatingIP {
		parts = append(parts, "give it a Floating IP")
	}
	return strings.Join(parts, ", ")
}

// Does the missing steps. Sends no request if the class asks for none, and this driver has created the server.
func (of machines) initialize(request driver.Request) (driver.VM, error) {
	pool, _ := class.FloatingPool(request.Class)
	if pool == "" && launchedID(request) != 0 {
		return driver.VM{}, driver.Failed(driver.Unimplemented, "nothing to initialize: the MachineClass has no floatingPoolName")
	}
	marks := of.marksOf(request)
	if err := marks.check(); err != nil {
		return driver.VM{}, err
	}
	server, err := of.locate(request, marks)
	if err != nil {
		return driver.VM{}, err
	}
	if server == nil {
		return driver.VM{}, noServer(request)
	}
	due := dueOf(server, request)
	if due.marks {
		if server, err = of.adopt(request, marks, server); err != nil {
			return driver.VM{}, err
		}
	}
	if due.floatingIP {
		if err := of.ensureFloatingIP(request, marks, server); err != nil {
			return driver.VM{}, err
		}
	}
	return vmOf(server, request), nil
}

// Writes the marks onto a server of machine-controller-manager and onto its Floating IP. The address comes first: a
// server with marks is not adopted again.
func (of machines) adopt(request driver.Request, marks marks, server *hcloud.Server) (*hcloud.Server, error) {
	addresses, err := of.adoptedFloatingIPs(request, marks)
	if err != nil {
		return nil, err
	}
	for _, address := range addresses {
		if err := of.cloud.LabelFloatingIP(address.ID, marks.with(address.Labels)); err != nil {
			return nil, err
		}
	}
	of.host.Log().Info("server of machine-controller-manager adopted", "server", fmt.Sprint(server.ID))
	return of.cloud.Label(server.ID, marks.with(server.Labels))
}

// Creates the Floating IP with the server to which it belongs. Its name is unique: an address whose answer was lost is
// found by it, and assigned.
func (of machines) ensureFloatingIP(request driver.Request, marks marks, server *hcloud.Server) error {
	spec, _, err := class.Read(request.Class)
	if err != nil {
		return err
	}
	name := floatingName(spec.FloatingPool, request.Machine.Name)
	err = of.cloud.CreateFloatingIP(name, server.ID, marks.ofFloatingIP(spec))
	if !api.HasCode(err, hcloud.ErrorCodeUniquenessError) {
		return err
	}
	named, err := of.cloud.FloatingIPsNamed(name)
	if err != nil {
		return err
	}
	for _, address := range named {
		switch {
		case address.Name != name:
			continue
		case !marks.areOn(address.Labels) && !marks.adoptsFloatingIP(address):
			return driver.Failed(driver.AlreadyExists, fmt.Sprintf("the Floating IP %d has the name %s and not this Machine's marks, left "+
				"alone: delete or rename it", address.ID, driver.Quoted(name)))
		case address.Server != nil && address.Server.ID == server.ID:
			return nil
		}
		return of.cloud.AssignFloatingIP(address.ID, server.ID)
	}
	return inTime(driver.Aborted, "the Floating IP exists, and Hetzner does not show it yet")
}
