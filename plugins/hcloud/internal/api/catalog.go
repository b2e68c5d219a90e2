package api

import (
	"github.com/hetznercloud/hcloud-go/v2/hcloud"

	"github.com/machinist-dev/machinist/sdk/go/driver"
)

// Type returns a type of servers. Nil: Hetzner has none of this name.
func (of *Cloud) Type(name string) (*hcloud.ServerType, error) {
	found, _, err := of.client.ServerType.GetByName(wanting(serverTypes), name)
	return found, failed(of.reads("read the server type"), err)
}

// Image returns the image of this name for an architecture, deprecated ones included. Nil: there is none.
func (of *Cloud) Image(name string, architecture hcloud.Architecture) (*hcloud.Image, error) {
	found, _, err := of.client.Image.GetByNameAndArchitecture(wanting(images), name, architecture)
	return found, failed(of.reads("read the image"), err)
}

// Key returns an SSH key. Nil: there is none.
func (of *Cloud) Key(fingerprint string) (*hcloud.SSHKey, error) {
	found, _, err := of.client.SSHKey.GetByFingerprint(wanting(sshKeys), fingerprint)
	return found, failed(of.reads("read the SSH key"), err)
}

// Network returns a private network. Nil: there is none.
func (of *Cloud) Network(name string) (*hcloud.Network, error) {
	found, _, err := of.client.Network.GetByName(wanting(networks), name)
	return found, failed(of.reads("read the network"), err)
}

// Firewall returns a firewall. Nil: there is none.
func (of *Cloud) Firewall(name string) (*hcloud.Firewall, error) {
	found, _, err := of.client.Firewall.GetByName(wanting(firewalls), name)
	return found, failed(of.reads("read the firewall"), err)
}

// Resources converts a server type into the resources of a Node.
func Resources(of *hcloud.ServerType) driver.NodeResources {
	architecture := map[hcloud.Architecture]string{hcloud.ArchitectureX86: "amd64", hcloud.ArchitectureARM: "arm64"}
	return driver.NodeResources{
		Resources: map[string]string{
			"cpu":               quantity(int64(of.Cores), ""),
			"memory":            quantity(int64(of.Memory*1024), "Mi"),
			"ephemeral-storage": quantity(int64(of.Disk), "G"),
		},
		Architecture:    architecture[of.Architecture],
		OperatingSystem: "linux",
	}
}
