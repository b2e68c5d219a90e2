module github.com/machinist-dev/machinist/plugins/openstack

go 1.25.0

require (
	github.com/gophercloud/gophercloud/v2 v2.15.0
	github.com/machinist-dev/machinist/sdk/go v0.0.0
)

replace github.com/machinist-dev/machinist/sdk/go => ../../sdk/go
