// Package class reads the providerSpec of MachineClasses.
package class

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/machinist-dev/machinist/sdk/go/driver"
)

// Schema is the JSON Schema of providerSpec.
//
//go:embed class-schema.json
var Schema string

const (
	apiVersion = "openstack.machine.gardener.cloud/v1alpha1"
	kind       = "MachineProviderConfig"
	root       = "providerSpec"
	// Parts of the keys of two required tags.
	clusterPart = "kubernetes.io-cluster-"
	rolePart    = "kubernetes.io-role-"
	// MarkPrefix begins the keys that the driver itself writes.
	MarkPrefix = "machinist.dev-"
)

// Spec describes the servers of a class.
type Spec struct {
	// One of both is set; the id takes precedence.
	ImageID, ImageName string
	Region             string
	AvailabilityZone   string
	FlavorName         string
	KeyName            string
	SecurityGroups     []string
	Tags               map[string]string
	// Either NetworkID or Networks is set.
	NetworkID string
	Networks  []Network
	// SubnetIDs are sorted. With NetworkID they make the driver create a port of its own.
	SubnetIDs []string
	PodCIDRs  []string
	// RootDiskGB is zero for a disk of the flavor.
	RootDiskGB int
	// RootDiskType is the type of a volume that the driver creates before the server.
	RootDiskType   string
	UseConfigDrive *bool
	ServerGroupID  string
}

// Network is one network of a server.
type Network struct {
	// One of both is set.
	ID, Name string
	// IsPodNetwork is true if its port carries the addresses of pods.
	IsPodNetwork bool
}

// OwnsPort is true if the driver creates the port of the server.
func (of Spec) OwnsPort() bool { return of.NetworkID != "" && len(of.SubnetIDs) > 0 }

// OwnsVolume is true if the driver creates the volume of the server.
func (of Spec) OwnsVolume() bool { return of.RootDiskGB > 0 && of.RootDiskType != "" }

// carriesPods is true if a port of the server gets the ranges of PodCIDRs.
func (of Spec) carriesPods() bool {
	isOfPods := func(network Network) bool { return network.IsPodNetwork }
	return of.NetworkID != "" || slices.ContainsFunc(of.Networks, isOfPods)
}

// TagKeys are the keys of the two tags that classes set for machine-controller-manager.
type TagKeys struct{ Cluster, Role string }

// AreOn is true if the metadata has both keys.
func (keys TagKeys) AreOn(metadata map[string]string) bool {
	_, hasCluster := metadata[keys.Cluster]
	_, hasRole := metadata[keys.Role]
	return keys.Cluster != "" && keys.Role != "" && hasCluster && hasRole
}

// KeysOf returns the first key of each kind, in alphabetical order.
func KeysOf(tags map[string]string) TagKeys {
	first := func(part string) string {
		found := ""
		for key := range tags {
			if strings.Contains(key, part) && (found == "" || key < found) {
				found = key
			}
		}
		return found
	}
	return TagKeys{first(clusterPart), first(rolePart)}
}

// Read reads a class and reports all its problems at once.
func Read(class driver.Class) (Spec, []string, error) {
	var all problems
	if class.Provider != "" && !strings.EqualFold(class.Provider, Provider) {
		all.add("provider", "must be %s", Provider)
	}
	var source json.RawMessage
	if err := driver.ReadJSON([]byte(class.Spec), &source); err != nil {
		return Spec{}, nil, driver.Invalid(root + ": is not JSON")
	}
	outer := newObject(root, source, &all)
	if len(all) == 0 {
		if version := outer.text("apiVersion"); version != apiVersion {
			all.add(outer.at("apiVersion"), "must be %s", apiVersion)
		}
		if got := outer.text("kind"); got != kind {
			all.add(outer.at("kind"), "must be %s", kind)
		}
	}
	inner := outer.take("spec")
	outer.end()
	if inner == nil && len(all) == 0 {
		all.add(outer.at("spec"), "is required: region, flavorName, an image, a network and so on")
	}
	spec, warnings := readSpec(newObject(outer.at("spec"), inner, &all))
	if len(all) > 0 {
		return Spec{}, nil, driver.Invalid(strings.Join(limited(all), "; "))
	}
	if len(class.Zones) > 0 {
		warnings = append(warnings, "the zones of the annotation machinist.dev/zones are not tried: each server is created in "+
			"spec.availabilityZone")
	}
	return spec, warnings, nil
}

// Provider is the only provider that the driver serves.
const Provider = "OpenStack"

func readSpec(of object) (Spec, []string) {
	spec := Spec{
		ImageID: of.text("imageID"), ImageName: of.text("imageName"),
		Region: of.text("region"), AvailabilityZone: of.text("availabilityZone"), FlavorName: of.text("flavorName"),
		KeyName: of.text("keyName"), SecurityGroups: of.texts("securityGroups"),
		NetworkID: of.text("networkID"), RootDiskGB: of.number("rootDiskSize"), RootDiskType: of.text("rootDiskType"),
		ServerGroupID: of.text("serverGroupID"),
	}
	decode(of, "tags", "an object with texts", &spec.Tags)
	decode(of, "useConfigDrive", "true or false", &spec.UseConfigDrive)
	spec.Networks = networks(of)
	spec.SubnetIDs = merged([]string{of.text("subnetID")}, of.texts("subnetIDs"))
	spec.PodCIDRs = merged([]string{of.text("podNetworkCidr")}, of.texts("podNetworkCIDRs"))
	of.end()
	return spec, check(of, &spec)
}

func networks(of object) []Network {
	var sources []json.RawMessage
	decode(of, "networks", "a list of objects", &sources)
	all := make([]Network, 0, len(sources))
	for index, source := range sources {
		one := newObject(fmt.Sprintf("%s[%d]", of.at("networks"), index), source, of.all)
		network := Network{ID: one.text("id"), Name: one.text("name")}
		decode(one, "podNetwork", "true or false", &network.IsPodNetwork)
		one.end()
		if (network.ID == "") == (network.Name == "") {
			of.all.add(one.path, "needs either id or name")
		}
		all = append(all, network)
	}
	return all
}

// check reports fields that are missing or do not fit together, and returns warnings.
func check(of object, spec *Spec) (warnings []string) {
	required := []struct{ name, value, example string }{
		{"region", spec.Region, "RegionOne"}, {"availabilityZone", spec.AvailabilityZone, "nova"},
		{"flavorName", spec.FlavorName, "m1.small"}, {"keyName", spec.KeyName, "nodes"},
	}
	for _, field := range required {
		if strings.TrimSpace(field.value) == "" {
			of.all.add(of.at(field.name), "is required, such as %s", field.example)
		}
	}
	if spec.ImageID == "" && spec.ImageName == "" {
		of.all.add(of.at("imageID"), "is required, or imageName")
	}
	if (spec.NetworkID == "") == (len(spec.Networks) == 0) {
		of.all.add(of.at("networkID"), "is required, or networks, and not both")
	}
	if len(spec.PodCIDRs) == 0 {
		of.all.add(of.at("podNetworkCIDRs"), "needs at least one range of addresses, such as 100.96.0.0/11")
	}
	for _, cidr := range spec.PodCIDRs {
		// Neutron accepts single addresses, too.
		_, isNoPrefix := netip.ParsePrefix(cidr)
		_, isNoAddress := netip.ParseAddr(cidr)
		switch {
		case isNoPrefix == nil || isNoAddress == nil:
		case spec.carriesPods():
			of.all.add(of.at("podNetworkCIDRs"), "has %q, which is no range of addresses", driver.Quoted(cidr))
		default:
			warnings = append(warnings, fmt.Sprintf("%s has %q, which is no range of addresses and has no effect",
				of.at("podNetworkCIDRs"), driver.Quoted(cidr)))
		}
	}
	if keys := KeysOf(spec.Tags); keys.Cluster == "" || keys.Role == "" {
		of.all.add(of.at("tags"), "needs one key with %sNAME and one with %sNAME", clusterPart, rolePart)
	}
	for key := range spec.Tags {
		if strings.HasPrefix(key, MarkPrefix) {
			of.all.add(of.at("tags"), "must not have keys that begin with %s: the driver writes those", MarkPrefix)
			break
		}
	}
	if len(spec.SubnetIDs) > 0 && spec.NetworkID == "" {
		warnings = append(warnings, of.at("subnetIDs")+" has no effect without networkID")
	}
	if spec.RootDiskType != "" && spec.RootDiskGB == 0 {
		warnings = append(warnings, of.at("rootDiskType")+" has no effect without rootDiskSize")
	}
	return warnings
}

// limited shortens a list that nobody would read.
func limited(all problems) []string {
	const most = 20
	if len(all) <= most {
		return all
	}
	return append(all[:most:most], fmt.Sprintf("and %d more", len(all)-most))
}

// Part is as much of a class as a deletion needs: the class may be broken since.
type Part struct {
	Region     string
	Keys       TagKeys
	OwnsPort   bool
	OwnsVolume bool
	// IsWhole is true if the class can be read.
	IsWhole bool
}

// ReadInPart never fails.
func ReadInPart(class driver.Class) Part {
	if spec, _, err := Read(class); err == nil {
		return Part{spec.Region, KeysOf(spec.Tags), spec.OwnsPort(), spec.OwnsVolume(), true}
	}
	var loose struct {
		Spec struct{ Region, Tags json.RawMessage }
	}
	if driver.ReadJSON([]byte(class.Spec), &loose) != nil {
		return Part{}
	}
	var part Part
	var tags map[string]string
	_ = json.Unmarshal(loose.Spec.Region, &part.Region)
	_ = json.Unmarshal(loose.Spec.Tags, &tags)
	part.Keys = KeysOf(tags)
	return part
}

// Place returns the providerSpec for one availability zone, with sorted keys.
func Place(class driver.Class, zone string) (string, error) {
	if _, _, err := Read(class); err != nil {
		return "", err
	}
	if strings.TrimSpace(zone) == "" || len(zone) > 255 {
		return "", driver.Invalid("the failure domain is no availability zone of Nova")
	}
	var whole map[string]any
	if err := driver.ReadJSON([]byte(class.Spec), &whole); err != nil {
		return "", driver.Invalid(root + ": is not JSON")
	}
	spec, _ := whole["spec"].(map[string]any)
	spec["availabilityZone"] = zone
	placed, err := json.Marshal(whole)
	return string(placed), err
}
