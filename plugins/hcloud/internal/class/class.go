// Package class reads the providerSpec of a MachineClass.
//
//	the fields and their meaning        class.go
//	the reading of JSON, and problems   fields.go
//	labels as Hetzner accepts them      labels.go
//	a class in another location         place.go
package class

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/machinist-dev/machinist/sdk/go/driver"
)

// Schema is the JSON Schema of providerSpec.
//
//go:embed class-schema.json
var Schema string

// The field names, as users write them.
const (
	cluster          = "cluster"
	zone             = "zone"
	serverType       = "serverType"
	imageName        = "imageName"
	sshFingerprint   = "sshFingerprint"
	placementGroupID = "placementGroupID"
	floatingPoolName = "floatingPoolName"
	networkName      = "networkName"
	alternativeZones = "alternativeZones"
	firewalls        = "firewalls"
	enableIPv4       = "enableIPv4"
	enableIPv6       = "enableIPv6"
	labels           = "labels"
)

var names = []string{
	cluster, zone, serverType, imageName, sshFingerprint, placementGroupID, floatingPoolName, networkName,
	alternativeZones, firewalls, enableIPv4, enableIPv6, labels,
}

// Prefixes of labels that the driver or another program of the cluster sets.
var reserved = []string{"machinist.dev/", "mcm.gardener.cloud/", "networking.hcloud.mcm.gardener.cloud/", "topology.kubernetes.io/"}

// Spec is a providerSpec.
type Spec struct {
	// Cluster is the class's own name of its cluster. It proves nothing, since the class's author chooses it.
	Cluster string
	// Zones holds the zone and its alternatives, best first, those of the host last.
	Zones          []string
	ServerType     string
	ImageName      string
	SSHFingerprint string
	// PlacementGroup is zero for none.
	PlacementGroup int64
	FloatingPool   string
	Network        string
	Firewalls      []string
	IPv4, IPv6     bool
	Labels         map[string]string
}

// Location returns the location of a zone: zones are historical names of data centers, such as hel1-dc2 in hel1.
func Location(zone string) string {
	location, _, _ := strings.Cut(zone, "-")
	return location
}

// Read reads a class for a create. Unknown fields cause a warning, and null counts as absent.
func Read(class driver.Class) (spec Spec, warnings []string, err error) {
	read, warnings, err := fieldsOf(class.Spec)
	if err != nil {
		return Spec{}, nil, err
	}
	spec = Spec{
		Cluster:        read.label(cluster, read.required(cluster, "shoot--project--name")),
		Zones:          read.zones(class.Zones),
		ServerType:     read.required(serverType, "cx23"),
		ImageName:      read.required(imageName, "ubuntu-24.04"),
		SSHFingerprint: read.required(sshFingerprint, "b0:62:0f:6f:0c:ab:79:0f:b7:5b:00:c0:ad:d6:4c:3d"),
		FloatingPool:   read.label(floatingPoolName, read.text(floatingPoolName)),
		Network:        read.text(networkName),
		Firewalls:      read.texts(firewalls),
		IPv4:           read.flag(enableIPv4, true),
		IPv6:           read.flag(enableIPv6, true),
		Labels:         read.labels(),
	}
	group, ignored := read.placementGroup(spec.FloatingPool)
	spec.PlacementGroup = group
	if !spec.IPv4 && !spec.IPv6 && spec.Network == "" && len(read.problems) == 0 {
		read.problem(networkName, "is required for a server without public addresses (enableIPv4, enableIPv6)")
	}
	if err := read.err(); err != nil {
		return Spec{}, nil, err
	}
	return spec, slices.Concat(warnings, ignored, ignoredZones(class.Zones)), nil
}

// FloatingPool returns the only field that matters for a deletion. False: the class is unreadable.
func FloatingPool(class driver.Class) (pool string, isReadable bool) {
	read, _, err := fieldsOf(class.Spec)
	if err != nil {
		return "", false
	}
	pool = read.label(floatingPoolName, read.text(floatingPoolName))
	return pool, len(read.problems) == 0
}

// Cluster returns the class's own name of its cluster; empty if it is unreadable.
func Cluster(class driver.Class) string {
	read, _, err := fieldsOf(class.Spec)
	if err != nil {
		return ""
	}
	name := read.label(cluster, read.text(cluster))
	if len(read.problems) > 0 {
		return ""
	}
	return name
}

// Returns the zone of the class, its alternatives, and those of the annotation machinist.dev/zones, in this order.
func (of *fields) zones(named []string) []string {
	zones := []string{of.label(zone, of.required(zone, "hel1"))}
	for index, each := range of.texts(alternativeZones) {
		zones = append(zones, of.label(fmt.Sprintf("%s[%d]", alternativeZones, index), each))
	}
	for _, each := range zones {
		if each != "" && Location(each) == "" {
			of.problem(zone, "must begin with a location, such as hel1")
		}
	}
	zones = append(zones, slices.DeleteFunc(slices.Clone(named), isNoZone)...)
	// In one location all zones are one: a second request there would get the same answer.
	var distinct []string
	for _, each := range zones {
		isThere := func(other string) bool { return Location(other) == Location(each) }
		if !slices.ContainsFunc(distinct, isThere) {
			distinct = append(distinct, each)
		}
	}
	return distinct
}

// Reports whether a text cannot be the name of a zone. Which zones Hetzner has, and with which server types, changes.
func isNoZone(text string) bool { return !IsLabelValue(text) || Location(text) == "" }

// Says which zones of the annotation are never tried: it is not a part of the class, which stays valid.
func ignoredZones(named []string) []string {
	var warnings []string
	for _, each := range named {
		if isNoZone(each) {
			warnings = append(warnings, fmt.Sprintf("the annotation machinist.dev/zones names %q, which is no location of Hetzner and "+
				"is ignored", driver.Quoted(each)))
		}
	}
	return warnings
}

// machine-controller-manager reads the group only together with a pool of floating addresses, and ignores it otherwise,
// so that an id which is none is an error only with a pool.
func (of *fields) placementGroup(pool string) (id int64, warnings []string) {
	var text string
	switch value := of.values[placementGroupID].(type) {
	case nil:
		return 0, nil
	case string:
		text = value
	case json.Number:
		text = value.String()
	default:
		of.unfit(placementGroupID, "a decimal id", value)
		return 0, nil
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if text == "" || (err == nil && id > 0) {
		return id, nil
	}
	if pool != "" {
		of.unfit(placementGroupID, "the decimal id of a placement group", text)
		return 0, nil
	}
	return 0, []string{fmt.Sprintf("providerSpec.%s %q is no decimal id and is ignored", placementGroupID, driver.Quoted(text))}
}

func (of *fields) labels() map[string]string {
	value := of.values[labels]
	object, isObject := value.(map[string]any)
	if value != nil && !isObject {
		of.unfit(labels, "an object of texts", value)
	}
	all := make(map[string]string, len(object))
	for key, value := range object {
		at := fmt.Sprintf("%s[%q]", labels, driver.Quoted(key))
		text, isText := value.(string)
		isReserved := func(prefix string) bool { return strings.HasPrefix(key, prefix) }
		switch {
		case slices.ContainsFunc(reserved, isReserved):
			of.problem(at, "is set by the driver: use another key")
		case !isLabelKey(key):
			of.problem(at, "is no key of a label")
		case !isText:
			of.unfit(at, "a text", value)
		default:
			all[key] = of.label(at, text)
		}
	}
	slices.Sort(of.problems)
	return all
}
