package api

// The part of an answer that the driver needs.
type content uint8

const (
	// Nothing is the default, so that a request without a wanted content fails no check.
	nothing content = iota
	oneServer
	servers
	createdServer
	oneAction
	actions
	serverTypes
	images
	sshKeys
	networks
	firewalls
	oneFloatingIP
	floatingIPs
)

// The fields that every answer of its kind has.
type shape struct {
	Server      *serverShape       `json:"server"`
	Servers     *[]serverShape     `json:"servers"`
	Action      *actionShape       `json:"action"`
	Actions     *[]actionShape     `json:"actions"`
	ServerTypes *[]namedShape      `json:"server_types"`
	Images      *[]idShape         `json:"images"`
	SSHKeys     *[]idShape         `json:"ssh_keys"`
	Networks    *[]namedShape      `json:"networks"`
	Firewalls   *[]namedShape      `json:"firewalls"`
	FloatingIP  *floatingIPShape   `json:"floating_ip"`
	FloatingIPs *[]floatingIPShape `json:"floating_ips"`
	Meta        *struct {
		Pagination *struct {
			Page int64 `json:"page"`
			Next int64 `json:"next_page"`
		} `json:"pagination"`
	} `json:"meta"`
}

type idShape struct {
	ID int64 `json:"id"`
}

type namedShape struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

type serverShape struct {
	namedShape
	Status   string      `json:"status"`
	Location *namedShape `json:"location"`
	// A server without labels has an empty object. If it were absent, the server would look as if nobody owned it.
	Labels *map[string]string `json:"labels"`
}

type actionShape struct {
	ID     int64  `json:"id"`
	Status string `json:"status"`
}

type floatingIPShape struct {
	namedShape
	Labels *map[string]string `json:"labels"`
}

func (of idShape) isWhole() bool    { return of.ID > 0 }
func (of namedShape) isWhole() bool { return of.ID > 0 && of.Name != "" }
func (of serverShape) isWhole() bool {
	return of.namedShape.isWhole() && of.Status != "" && of.Location != nil && of.Location.Name != "" && of.Labels != nil
}
func (of actionShape) isWhole() bool     { return of.ID > 0 && of.Status != "" }
func (of floatingIPShape) isWhole() bool { return of.namedShape.isWhole() && of.Labels != nil }

func (of shape) has(wanted content) bool {
	switch wanted {
	case oneServer:
		return one(of.Server)
	case servers:
		return of.isList() && all(of.Servers)
	case createdServer:
		return one(of.Server) && one(of.Action)
	case oneAction:
		return one(of.Action)
	case actions:
		return all(of.Actions)
	case serverTypes:
		return of.isList() && all(of.ServerTypes)
	case images:
		return of.isList() && all(of.Images)
	case sshKeys:
		return of.isList() && all(of.SSHKeys)
	case networks:
		return of.isList() && all(of.Networks)
	case firewalls:
		return of.isList() && all(of.Firewalls)
	case oneFloatingIP:
		return one(of.FloatingIP)
	case floatingIPs:
		return of.isList() && all(of.FloatingIPs)
	}
	return true
}

// Every list has page numbers: without them the library would take each page for the last one.
func (of shape) isList() bool {
	return of.Meta != nil && of.Meta.Pagination != nil && of.Meta.Pagination.Page > 0
}

func one[Entry interface{ isWhole() bool }](entry *Entry) bool {
	return entry != nil && (*entry).isWhole()
}

// One invalid entry makes the list invalid: an incomplete list is worse than an error.
func all[Entry interface{ isWhole() bool }](entries *[]Entry) bool {
	if entries == nil {
		return false
	}
	for _, entry := range *entries {
		if !entry.isWhole() {
			return false
		}
	}
	return true
}
