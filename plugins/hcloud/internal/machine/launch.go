package machine

import (
	"errors"
	"fmt"

	"github.com/hetznercloud/hcloud-go/v2/hcloud"

	"github.com/machinist-dev/machinist/plugins/hcloud/internal/class"
	"github.com/machinist-dev/machinist/sdk/go/driver"
)

// The most user data that Hetzner accepts, as it is sent.
const userDataBytes = 32 << 10

// Returns a placeholder for the user data: as it is, since not every program of an image decodes base64; in base64 if
// it is not Unicode, since JSON cannot hold it otherwise.
func userDataOf(host *driver.Host) (string, error) {
	secret, err := host.UserData()
	if err != nil {
		return "", err
	}
	if secret == nil || secret.Len() == 0 {
		return "", driver.Invalid("the MachineClass's Secret has no userData: add the data with which the server boots")
	}
	length := secret.Len()
	placeholder, err := secret.Placeholder(driver.JSONEscape)
	var refused *driver.SecretRefused
	if errors.As(err, &refused) && refused.Refusal == driver.BadEncodings {
		length = (length + 2) / 3 * 4
		placeholder, err = secret.Placeholder(driver.Base64)
	}
	if err == nil && length > userDataBytes {
		return "", driver.Invalid(fmt.Sprintf("the user data has %d bytes, and Hetzner accepts %d: shorten userData in the "+
			"MachineClass's Secret", length, userDataBytes))
	}
	return placeholder, err
}

// Finds the objects that a class names. The image has the architecture of the server type.
func (of machines) optionsOf(spec class.Spec) (hcloud.ServerCreateOpts, error) {
	none := hcloud.ServerCreateOpts{}
	kind, err := of.cloud.Type(spec.ServerType)
	if err != nil {
		return none, err
	}
	if kind == nil {
		return none, noType(spec.ServerType)
	}
	image, err := of.cloud.Image(spec.ImageName, kind.Architecture)
	if err != nil {
		return none, err
	}
	if image == nil {
		return none, driver.Invalid(fmt.Sprintf("the project has no image %q for the architecture %s of the server type %s: correct "+
			"imageName in the MachineClass's providerSpec", driver.Quoted(spec.ImageName), kind.Architecture, driver.Quoted(spec.ServerType)))
	}
	key, err := of.cloud.Key(spec.SSHFingerprint)
	if err != nil {
		return none, err
	}
	if key == nil {
		return none, absent("SSH key with this fingerprint", "sshFingerprint", spec.SSHFingerprint)
	}
	start := true
	options := hcloud.ServerCreateOpts{
		ServerType: &hcloud.ServerType{Name: spec.ServerType}, Image: &hcloud.Image{ID: image.ID}, SSHKeys: []*hcloud.SSHKey{key},
		StartAfterCreate: &start,
		PublicNet:        &hcloud.ServerCreatePublicNet{EnableIPv4: spec.IPv4, EnableIPv6: spec.IPv6},
	}
	if spec.PlacementGroup != 0 {
		options.PlacementGroup = &hcloud.PlacementGroup{ID: spec.PlacementGroup}
	}
	return options, of.attach(spec, &options)
}

// Adds the network and the firewalls.
func (of machines) attach(spec class.Spec, options *hcloud.ServerCreateOpts) error {
	if spec.Network != "" {
		network, err := of.cloud.Network(spec.Network)
		if err != nil {
			return err
		}
		if network == nil {
			return absent("network", "networkName", spec.Network)
		}
		options.Networks = []*hcloud.Network{network}
	}
	for _, name := range spec.Firewalls {
		firewall, err := of.cloud.Firewall(name)
		if err != nil {
			return err
		}
		if firewall == nil {
			return absent("firewall", "firewalls", name)
		}
		options.Firewalls = append(options.Firewalls, &hcloud.ServerCreateFirewall{Firewall: *firewall})
	}
	return nil
}

func absent(what, field, value string) error {
	return driver.Invalid(fmt.Sprintf("the project of the token has no %s %q: correct %s in the MachineClass's providerSpec", what,
		driver.Quoted(value), field))
}

func noType(name string) error {
	return driver.Invalid(fmt.Sprintf("Hetzner has no server type %q: it may have been removed; correct serverType in the "+
		"MachineClass's providerSpec", driver.Quoted(name)))
}
