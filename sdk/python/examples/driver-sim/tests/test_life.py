"""A machine's life without failures, and its number of requests."""

import base64

from machinist_sdk.driver import Code, VmState
from tests.fixture import USER_DATA, WithCloud, request, spec, with_id


class Life(WithCloud):
    def test_an_ordinary_create_takes_one_request_and_its_initialization_none(self) -> None:
        vm = self.created(request(1))
        self.assertEqual(self.requests(), ["POST /v1/vms"])
        made = self.cloud.live()[0]
        self.assertEqual(vm.provider_id, f"sim:///sim-1a/{made['id']}")
        self.assertEqual((vm.node_name, vm.failure_domain), ("machine-1", "sim-1a"))
        self.assertEqual([(address.kind, address.address) for address in vm.addresses], [("InternalIP", "10.0.0.1")])
        tags = {"cluster": "c1", "machine-name": "machine-1", "machine-uid": "uid-1"}
        self.assertEqual(made["tags"], tags)

        self.fails(Code.UNIMPLEMENTED, self.driver.initialize, request(1))
        known = self.driver.initialize(with_id(request(1), vm.provider_id))
        self.assertEqual((known.provider_id, known.node_name), (vm.provider_id, vm.node_name))
        self.assertEqual(self.requests(), [])

    def test_secrets_reach_the_cloud_and_never_the_driver(self) -> None:
        self.created(request(1))
        self.assertEqual(list(self.cloud.user_data.values()), [base64.b64encode(USER_DATA).decode()])
        sent = repr(self.host.sent)
        for secret in ("sim-token", "abcdef.0123456789abcdef", base64.b64encode(USER_DATA).decode()):
            self.assertNotIn(secret, sent)

    def test_a_create_repeated_is_the_same_vm(self) -> None:
        first = self.created(request(1))
        self.cloud.complete()
        second = self.created(request(1))
        self.assertEqual((first.provider_id, VmState.RUNNING), (second.provider_id, second.state))
        self.assertEqual(len(self.cloud.live()), 1)

    def test_a_vm_is_found_by_id_and_without_it_by_uid(self) -> None:
        self.fails(Code.NOT_FOUND, self.driver.get_status, request(1))
        vm = self.created(request(1))
        self.requests()
        for asked in (request(1), with_id(request(1), vm.provider_id)):
            seen = self.driver.get_status(asked)
            self.assertEqual((seen.provider_id, seen.state), (vm.provider_id, VmState.PENDING))
            self.assertEqual(len(self.requests()), 1)

    def test_a_class_that_asks_is_initialized_once(self) -> None:
        asked = request(1, spec(initialize=True))
        vm = self.created(asked)
        self.cloud.complete()
        due = self.fails(Code.UNINITIALIZED, self.driver.get_status, asked)
        self.assertEqual((due.provider_id, due.node_name), (vm.provider_id, "machine-1"))
        self.requests()

        self.driver.initialize(with_id(asked, vm.provider_id))
        self.assertEqual(len(self.requests()), 1)
        self.assertEqual([made["sourceDestCheck"] for made in self.cloud.live()], [False])
        self.assertEqual(self.driver.initialize(with_id(asked, None)).provider_id, vm.provider_id)
        self.assertEqual(self.requests(), ["GET /v1/vms"])
        self.assertEqual(self.driver.get_status(asked).state, VmState.RUNNING)
        self.fails(Code.NOT_FOUND, self.driver.initialize, request(2, spec(initialize=True)))

    def test_a_deletion_takes_the_vm_and_its_volumes_and_may_be_repeated(self) -> None:
        asked = request(1, spec(volumes=[{"sizeGib": 20, "name": "data"}]))
        with_id(asked, self.created(asked).provider_id)
        other = self.created(request(2))
        self.cloud.add_volume("left", {"cluster": "c1", "machine-uid": "uid-1"})
        self.cloud.add_volume("foreign", {"cluster": "c2", "machine-uid": "uid-1"})
        self.cloud.complete()
        self.requests()

        self.driver.delete(asked)
        self.assertEqual(len(self.requests()), 4)
        self.cloud.complete()
        self.assertEqual(list(self.cloud.volumes), ["foreign"])
        self.fails(Code.NOT_FOUND, self.driver.get_status, asked)
        self.requests()
        self.driver.delete(asked)
        self.assertEqual(len(self.requests()), 3)
        # Also if not even a record is left.
        self.cloud.vms = {id: vm for id, vm in self.cloud.vms.items() if vm["state"] != "terminated"}
        self.driver.delete(asked)
        listed = self.driver.list_machines(asked.class_, "c1", None)
        self.assertEqual([machine.provider_id for machine in listed.machines], [other.provider_id])

    def test_a_deletion_works_without_an_id_and_with_any_class(self) -> None:
        self.created(request(1))
        self.driver.delete(request(1, "{ nonsense"))
        self.assertEqual(self.cloud.live(), [])

    def test_all_vms_of_one_uid_are_seen_and_deleted(self) -> None:
        second = request(1)
        second.idempotency_key = "another"
        self.created(request(1))
        self.created(second)
        error = self.fails(Code.OUT_OF_RANGE, self.driver.get_status, request(1))
        self.assertIn("2 VMs", error.message)
        self.driver.delete(request(1))
        self.assertEqual(self.cloud.live(), [])

    def test_what_belongs_to_another_cluster_is_left_alone(self) -> None:
        vm = self.created(request(1, cluster="c2"))
        self.fails(Code.NOT_FOUND, self.driver.get_status, request(1))
        self.driver.delete(request(1))
        # The id leads to it: the control plane was moved, and both "there is none" and "it is removed" would be wrong.
        known = with_id(request(1), vm.provider_id)
        self.fails(Code.FAILED_PRECONDITION, self.driver.get_status, known)
        self.fails(Code.FAILED_PRECONDITION, self.driver.delete, known)
        self.assertEqual(len(self.cloud.live()), 1)
        self.assertTrue(all("left alone" in message for message in self.host.messages()))
        self.assertEqual(self.driver.list_machines(request(1).class_, "c1", None).machines, [])

    def test_a_machine_restored_under_another_uid_keeps_its_vm(self) -> None:
        restored = with_id(request(1), self.created(request(1)).provider_id)
        restored.machine.uid = "uid-of-later"
        self.assertEqual(self.driver.get_status(restored).provider_id, restored.machine.provider_id)
        self.driver.delete(restored)
        self.assertEqual(self.cloud.live(), [])

    def test_a_listing_shows_each_vm_once_over_all_pages(self) -> None:
        for number in range(450):
            self.created(request(number))
        uids: list[tuple[str | None, str]] = []
        token: str | None = None
        while True:
            page = self.driver.list_machines(request(0).class_, "c1", token)
            self.assertTrue(all(machine.created_at_ms == 1_767_323_045_678 for machine in page.machines))
            uids += [(machine.machine_uid, machine.machine_name) for machine in page.machines]
            token = page.next
            if token is None:
                break
        self.assertEqual(uids, [(f"uid-{number}", f"machine-{number}") for number in range(450)])

    def test_a_vm_is_rebooted_and_stays_the_same(self) -> None:
        self.fails(Code.NOT_FOUND, self.driver.reboot, request(1))
        vm = self.created(request(1))
        self.cloud.complete()
        id = self.cloud.live()[0]["id"]
        self.requests()
        self.driver.reboot(with_id(request(1), vm.provider_id))
        self.assertEqual(self.requests(), [f"GET /v1/vms/{id}", f"POST /v1/vms/{id}/reboot"])
        self.assertEqual(self.cloud.live()[0]["bootId"], 2)
        self.driver.delete(request(1))
        self.fails(Code.NOT_FOUND, self.driver.reboot, request(1))
