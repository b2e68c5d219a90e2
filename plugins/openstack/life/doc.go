// Package life has the driver's tests against a real OpenStack (tests/clouds/openstack). The variable
// MACHINIST_OPENSTACK has what `openstack run` prints:
//
//	mkfifo /tmp/stop; cargo run -p openstack -- run < /tmp/stop > cloud.json &
//	MACHINIST_OPENSTACK="$(cat cloud.json)" go test ./life
//
// `cargo test -p openstack --test cloud driver` starts the cloud, sets the variable and runs them.
package life
