package cloud

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/pagination"
	"github.com/machinist-dev/machinist/sdk/go/driver"
)

// Flavor is a flavor of Nova.
type Flavor = flavors.Flavor

// FlavorNamed returns the flavor with this name. Nova cannot search by name.
func (of *Cloud) FlavorNamed(name string) (*Flavor, error) {
	to := doing("read the flavors", reads, "flavors")
	marker := ""
	for range searchPages {
		pager := flavors.ListDetail(of.compute(), flavors.ListOpts{Marker: marker, Limit: PageSize})
		page, next, err := onePage(to, pager, marker, flavors.ExtractFlavors, func(one Flavor) string { return one.ID })
		if err != nil {
			return nil, err
		}
		for index := range page {
			if page[index].Name == name {
				return &page[index], nil
			}
		}
		if next == "" {
			// Another pool may have a flavor that exists, as if this one were sold out.
			return nil, driver.Failed(driver.ResourceExhausted, fmt.Sprintf("the region has no flavor %s that the project may use: "+
				"correct flavorName in the MachineClass's providerSpec", driver.Quoted(name)))
		}
		marker = next
	}
	return nil, to.Unexpected("has no end")
}

// Image is what the driver needs of an image.
type Image struct {
	ID           string `json:"id"`
	Name         string `json:"name"`
	Architecture string `json:"architecture"`
}

// ImageNamed returns the only image with this name: from Glance, or from Nova's proxy if the region's catalog has no
// Glance.
func (of *Cloud) ImageNamed(name string) (Image, error) {
	to := doing("search the image", reads, "images")
	var answer struct {
		Images []Image `json:"images"`
	}
	service := of.compute()
	if of.Endpoints.Image != "" {
		service = of.service(of.Endpoints.Image)
	}
	_, err := service.Get(to.context(), service.ServiceURL("images")+"?name="+url.QueryEscape(name), &answer, nil)
	if err = to.failed(err); err != nil {
		return Image{}, err
	}
	var found []Image
	for _, image := range answer.Images {
		if image.Name == name && image.ID != "" {
			found = append(found, image)
		}
	}
	return only(found, "image", name, "imageName or imageID")
}

// Architecture returns the architecture of an image as Kubernetes names it; empty if nothing says it.
func (of *Cloud) Architecture(id string) (string, error) {
	if of.Endpoints.Image == "" {
		return "", nil
	}
	to := doing("read the image", reads, "id")
	service := of.service(of.Endpoints.Image)
	var image Image
	_, err := service.Get(to.context(), service.ServiceURL("images", id), &image, nil)
	if err = to.failed(err); IsMissing(err) {
		return "", driver.Failed(driver.InvalidArgument, fmt.Sprintf("the project sees no image %s: correct imageID in the "+
			"MachineClass's providerSpec", driver.Quoted(id)))
	}
	if err != nil {
		return "", err
	}
	return ArchitectureOf(image.Architecture), nil
}

// ArchitectureOf translates Glance's property.
func ArchitectureOf(property string) string {
	switch property {
	case "x86_64", "amd64":
		return "amd64"
	case "aarch64", "arm64":
		return "arm64"
	case "s390x":
		return "s390x"
	case "ppc64le":
		return "ppc64le"
	}
	return ""
}

// NetworkNamed returns the id of the only network with this name.
func (of *Cloud) NetworkNamed(name string) (string, error) {
	to := doing("search the network", reads, "networks")
	all, err := everyPage(to, func(marker string) pagination.Pager {
		return networks.List(of.network(), networks.ListOpts{Name: name, Marker: marker})
	}, networks.ExtractNetworks, func(one networks.Network) string { return one.ID })
	if err != nil {
		return "", err
	}
	called := thoseCalled(name, all, func(one networks.Network) string { return one.Name })
	found, err := only(called, "network", name, "networks")
	return found.ID, err
}

// SecurityGroups returns the ids of security groups. A port takes ids alone, classes have names.
func (of *Cloud) SecurityGroups(names []string) ([]string, error) {
	var ids []string
	for _, name := range names {
		if isUUID(name) {
			ids = append(ids, name)
			continue
		}
		to := doing("search the security group", reads, "security_groups")
		all, err := everyPage(to, func(marker string) pagination.Pager {
			return groups.List(of.network(), groups.ListOpts{Name: name, Marker: marker})
		}, groups.ExtractGroups, func(one groups.SecGroup) string { return one.ID })
		if err != nil {
			return nil, err
		}
		called := thoseCalled(name, all, func(one groups.SecGroup) string { return one.Name })
		found, err := only(called, "security group", name, "securityGroups")
		if err != nil {
			return nil, err
		}
		ids = append(ids, found.ID)
	}
	return ids, nil
}

// thoseCalled leaves out objects of other names: a service that ignores the filter lists all of them. Databases compare
// names without regard to case, and the host masks each value of the Secret in answers.
func thoseCalled[T any](name string, all []T, nameOf func(T) string) []T {
	var called []T
	for _, one := range all {
		if own := nameOf(one); strings.EqualFold(own, name) || strings.Contains(own, mask) {
			called = append(called, one)
		}
	}
	return called
}

// only returns the only one of a name. Objects get names without a change of the class, so no error is terminal.
func only[T any](found []T, kind, name, field string) (T, error) {
	var none T
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return none, driver.Failed(driver.InvalidArgument, fmt.Sprintf("the project sees no %s %s: correct %s in the "+
			"MachineClass's providerSpec", kind, driver.Quoted(name), field))
	}
	return none, driver.Failed(driver.InvalidArgument, fmt.Sprintf("the project sees %d of the name %s where one %s is wanted: "+
		"rename all but one, or use ids: %s in the MachineClass's providerSpec", len(found), driver.Quoted(name), kind, field))
}
