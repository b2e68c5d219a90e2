"""The methods for Cluster API: ids of Nodes, zones, interruptions, resources."""

import json

from machinist_sdk.driver import Code
from machinist_sdk.testing.driver import a_class
from tests.fixture import WithCloud, request, spec


class Functions(WithCloud):
    def test_a_node_has_the_drivers_own_id(self) -> None:
        vm = self.created(request(1))
        self.requests()
        self.assertEqual(self.driver.node_id(request(1), vm), vm.provider_id)
        self.assertEqual(self.requests(), [])

    def test_a_placed_class_makes_vms_in_that_zone_and_nowhere_else(self) -> None:
        several = a_class(spec(), zones=("sim-1a", "sim-1c"))
        placed = json.loads(self.driver.place(several, "sim-1b"))
        self.assertEqual(placed, spec(zone="sim-1b"))
        self.assertEqual(self.created(request(1, placed)).failure_domain, "sim-1b")
        self.fails(Code.INVALID_ARGUMENT, self.driver.place, a_class({"type": "sim.small"}), "sim-1b")
        self.fails(Code.INVALID_ARGUMENT, self.driver.place, a_class(None), "sim-1b")

    def test_a_vm_may_be_taken_away_if_its_class_says_so(self) -> None:
        for given, expected in ((spec(), False), (spec(interruptible=None), False), (spec(interruptible=True), True)):
            self.assertIs(self.driver.is_interruptible(a_class(given)), expected)
        self.fails(Code.INVALID_ARGUMENT, self.driver.is_interruptible, a_class(spec(interruptible="yes")))
        self.assertEqual(self.requests(), [])

    def test_a_node_has_the_resources_of_its_type(self) -> None:
        known = self.driver.node_capacity(a_class(spec()))
        self.assertEqual(known.resources, [("cpu", "2"), ("memory", "4Gi")])
        self.assertEqual((known.architecture, known.operating_system), ("amd64", "linux"))
        self.assertEqual(self.requests(), ["GET /v1/regions"])
        large = self.driver.node_capacity(a_class(spec(type="sim.gpu")))
        self.assertIn(("nvidia.com/gpu", "1"), large.resources)
        self.fails(Code.NOT_FOUND, self.driver.node_capacity, a_class(spec(type="sim.none")))
