package machine

import (
	"fmt"
	"strings"
	"time"

	"github.com/hetznercloud/hcloud-go/v2/hcloud"

	"github.com/machinist-dev/machinist/plugins/hcloud/internal/api"
	"github.com/machinist-dev/machinist/plugins/hcloud/internal/class"
	"github.com/machinist-dev/machinist/sdk/go/driver"
)

// The time until the next call for a server that reads do not show yet, or that is being deleted.
const lagRetry = 2 * time.Second

// Creates the server, or finds it. The name is the key: names are unique in a project, so that a second request for one
// Machine is refused, whatever became of the first.
func (of machines) create(request driver.Request) (driver.Creation, error) {
	marks := of.marksOf(request)
	if err := marks.check(); err != nil {
		return nil, err
	}
	noted, _ := stateOf(request)
	if noted.Server != 0 {
		created, err := of.resume(request, marks, noted)
		if created != nil || err != nil {
			return created, err
		}
	}
	spec, _, err := class.Read(request.Class)
	if err != nil {
		return nil, err
	}
	return of.launch(request, marks, spec, noted)
}

// Asks for the server in one zone. The next zone comes only after Hetzner has said that this one has no room: a certain
// no. The host stores it before a call asks there, so a lost answer is repeated in its zone. Even otherwise the name
// would allow one server in all zones.
func (of machines) launch(request driver.Request, marks marks, spec class.Spec, noted state) (driver.Creation, error) {
	userData, err := userDataOf(of.host)
	if err != nil {
		return nil, err
	}
	options, err := of.optionsOf(spec)
	if err != nil {
		return nil, err
	}
	zone := noted.zoneOf(spec.Zones)
	noted = state{Zone: zone, Full: noted.fullOf(spec.Zones), Floating: spec.FloatingPool != ""}
	options.Name, options.UserData = request.Machine.Name, userData
	options.Location = &hcloud.Location{Name: class.Location(zone)}
	options.Labels = marks.ofServer(spec, zone)
	server, actions, err := of.cloud.Create(options)
	switch {
	case err == nil:
		noted.Server = server.ID
		return of.judge(request, server, actions, noted)
	case api.HasCode(err, hcloud.ErrorCodeUniquenessError):
		found, refused := of.taken(request, marks, noted)
		return found, noted.after(refused)
	case api.HasCode(err, hcloud.ErrorCodeNotFound):
		return nil, noted.after(driver.Failed(driver.InvalidArgument,
			err.Error()+": an object that the MachineClass's providerSpec names does not exist, correct it"))
	case isFull(err):
		return of.nextZone(spec.Zones, noted, err, 0)
	}
	return nil, noted.after(err)
}

// Notes that the zone has said no for certain. The host stores the next one and calls again after the pause. After the
// last zone this is the answer, and the next round begins with the first.
func (of machines) nextZone(zones []string, noted state, refused error, pause time.Duration) (driver.Creation, error) {
	next := noted.withoutServer(true)
	left := next.left(zones)
	if len(left) == 0 {
		if len(zones) > 1 {
			refused = withText(refused, "; asked for in "+strings.Join(zones, ", "))
		}
		return nil, state{Floating: noted.Floating}.with(refused)
	}
	next.Zone = left[0]
	of.host.Log().Info("the location has no room for the server type, the next zone is tried", "full", noted.Zone, "zone", next.Zone)
	return driver.Progress{
		ResumeToken: next.text(),
		AskAgain:    pause,
		Message:     fmt.Sprintf("%s; zone %s is tried next", refused, next.Zone),
	}, nil
}

func isFull(err error) bool {
	said, is := err.(*driver.Error)
	return is && said.CloudCode == string(hcloud.ErrorCodeResourceUnavailable) && !said.MayHaveHappened
}

// Looks at the server that has the Machine's name already. From here on, an error that leaves its owner open must say
// that there may be a server of this Machine.
func (of machines) taken(request driver.Request, marks marks, noted state) (driver.Creation, error) {
	named, err := of.cloud.ServersNamed(marks.name)
	if err != nil {
		return nil, inDoubt(err)
	}
	var other *hcloud.Server
	for _, server := range named {
		uid, hasUID := server.Labels[uidLabel]
		isOwn := marks.ownerOf(server) == own && (!hasUID || uid == marks.uid)
		switch {
		case server.Name != marks.name:
		case isOwn && server.Status != hcloud.ServerStatusDeleting:
			of.host.Log().Info("server of an earlier create found", "server", fmt.Sprint(server.ID))
			noted.Server, noted.Zone, noted.Found = server.ID, zoneOf(server), true
			return of.judge(request, server, nil, noted)
		default:
			other = server
		}
	}
	if other != nil {
		return nil, nameTaken(other, marks)
	}
	return nil, inDoubt(inTime(driver.Aborted,
		"a server of this Machine's name exists, and Hetzner does not show it yet; if this lasts, look for it in the console"))
}

// Returns the error for a name whose server does not serve this Machine. Nothing of the Machine's was created.
func nameTaken(server *hcloud.Server, marks marks) error {
	owner := marks.ownerOf(server)
	switch {
	case owner == nobody:
		return marks.ofNobody(server)
	case owner == otherCluster && server.Labels[uidLabel] == marks.uid:
		return ofAnotherCluster(server)
	case server.Status == hcloud.ServerStatusDeleting:
		return inTime(driver.Aborted, fmt.Sprintf("the server %d of this name is being deleted", server.ID))
	}
	return &driver.Error{
		Code: driver.AlreadyExists,
		Message: fmt.Sprintf("the server %d of cluster %s has this Machine's name, and names are unique in a project: delete it, or "+
			"use a project for each cluster", server.ID, driver.Quoted(server.Labels[clusterLabel])),
		CloudCode: string(hcloud.ErrorCodeUniquenessError),
	}
}

func inTime(code driver.Code, message string) *driver.Error {
	return &driver.Error{Code: code, Message: message, RetryAfter: lagRetry}
}

func inDoubt(err error) error {
	if failure, is := err.(*driver.Error); is {
		doubted := *failure
		doubted.MayHaveHappened = true
		return &doubted
	}
	return err
}

func withText(err error, text string) error {
	if failure, is := err.(*driver.Error); is {
		longer := *failure
		longer.Message += text
		return &longer
	}
	return err
}
