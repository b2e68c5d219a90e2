package cloud

import (
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/pagination"
)

// Volume is a volume of Cinder.
type Volume = volumes.Volume

// HasVolumes is true if the region has block storage.
func (of *Cloud) HasVolumes() bool { return of.Endpoints.Volume != "" }

// VolumesNamed returns all volumes of the project with this name. As for servers, names in answers may be masked.
func (of *Cloud) VolumesNamed(name string) ([]Volume, error) {
	service, err := of.volumes()
	if err != nil {
		return nil, err
	}
	to := doing("search the volume", reads, "volumes")
	found, err := everyPage(to, func(marker string) pagination.Pager {
		return volumes.List(service, volumes.ListOpts{Name: name, Marker: marker})
	}, volumes.ExtractVolumes, func(one Volume) string { return one.ID })
	if err != nil {
		return nil, err
	}
	for _, volume := range found {
		if volume.Status == "" {
			return nil, to.Unexpected("has a volume without status")
		}
	}
	return found, nil
}

// VolumeOptions are the properties of a server's root volume.
type VolumeOptions struct {
	Name, Type, Zone, ImageID string
	SizeGB                    int
	Metadata                  map[string]string
}

// CreateVolume orders a volume from an image. A volume whose answer is lost is found by its name and its metadata, so
// that no server is in doubt.
func (of *Cloud) CreateVolume(options VolumeOptions) error {
	service, err := of.volumes()
	if err != nil {
		return err
	}
	to := doing("create the volume", reads, "volume")
	_, err = volumes.Create(to.context(), service, volumes.CreateOpts{Name: options.Name, VolumeType: options.Type,
		AvailabilityZone: options.Zone, ImageID: options.ImageID, Size: options.SizeGB, Metadata: options.Metadata}, nil).Extract()
	return to.failed(err)
}

// DeleteVolume orders a deletion. A volume that is gone is success.
func (of *Cloud) DeleteVolume(id string) error {
	service, err := of.volumes()
	if err != nil {
		return err
	}
	to := doing("delete the volume", reads, "")
	err = to.failed(volumes.Delete(to.context(), service, id, volumes.DeleteOpts{}).ExtractErr())
	if IsMissing(err) {
		return nil
	}
	return err
}
