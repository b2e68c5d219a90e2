"""The work of each call in the cloud.

A machine's VM has three tags: the cluster, the Machine's uid and its name. The driver never touches a VM without the
cluster's tag.
"""


from machinist_sdk.driver import Code, Encoding, Failure, Host, Page, Request, Vm, VmState, not_found
from sim_driver import names, spec
from sim_driver.answer import CLUSTER_TAG, NAME_TAG, UID_TAG, SimVm
from sim_driver.cloud import Cloud
from sim_driver.refusal import CAPACITY_EXHAUSTED, IDEMPOTENCY_MISMATCH

# The time until the next search for a VM that exists and that reads do not show yet.
LAG_RETRY_MS = 1_000


class Machines:
    """The machines of one cloud account."""

    def __init__(self, cloud: Cloud, host: Host) -> None:
        self._cloud = cloud
        self._host = host

    def create(self, request: Request) -> Vm:
        """Sends one request in the normal case. The key makes repetitions safe, so no search comes first."""
        wanted = spec.read(request.class_).spec
        user_data = self._user_data()
        machine = request.machine
        own_tags = {CLUSTER_TAG: request.cluster, UID_TAG: machine.uid, NAME_TAG: machine.name}
        full: Failure | None = None
        for zone in wanted.zones:
            body = wanted.body(machine.name, zone, own_tags, user_data)
            try:
                return names.vm(self._cloud.create(body, request.idempotency_key))
            except Failure as refused:
                if refused.cloud_code == IDEMPOTENCY_MISMATCH:
                    return self._adopt(request)
                if refused.cloud_code != CAPACITY_EXHAUSTED:
                    raise
                self._host.log.info("zone has no room", zone=zone)
                full = refused
        if full is None:
            raise Failure(Code.INTERNAL, "failed to create the VM: the class names no zone")
        full.message += f"; asked for in {', '.join(wanted.zones)}"
        raise full

    def _user_data(self) -> str | None:
        """Returns a placeholder for the user data in base64; `None` if there is none."""
        user_data = self._host.secrets.user_data()
        return None if user_data is None else user_data.placeholder(Encoding.BASE64)

    def _adopt(self, request: Request) -> Vm:
        """An earlier create made a VM with this key: it is the machine's.

        That create had another class, other user data or another zone.
        """
        try:
            vm = _only(self._cloud.find(request.cluster, request.machine.uid))
        except Failure as failure:
            # From here on every error must say that there may be a VM.
            failure.may_have_happened = True
            raise
        if vm is None:
            raise Failure(
                Code.ABORTED,
                "failed to create the VM: an earlier create made it with other parameters, and the cloud's reads do not show "
                "it yet",
                cloud_code=IDEMPOTENCY_MISMATCH,
                retry_after_ms=LAG_RETRY_MS,
                may_have_happened=True,
            )
        self._host.log.info("VM of an earlier create adopted", provider_id=names.provider_id(vm))
        return names.vm(vm)

    def initialize(self, request: Request) -> Vm:
        """Sends no request unless the class asks for it."""
        if not spec.asks_for_initialize(request.class_):
            return _not_asked_for(request)
        own = names.parts(request.machine.provider_id)
        if own is not None:
            return self._finish(own[1], request)
        vm = _only(self._cloud.find(request.cluster, request.machine.uid))
        if vm is None:
            raise _no_vm(request)
        return names.vm(vm) if vm.is_initialized else self._finish(vm.id, request)

    def _finish(self, id: str, request: Request) -> Vm:
        vm = self._cloud.initialize(id)
        if vm is None:
            raise _no_vm(request)
        return names.vm(vm)

    def get_status(self, request: Request) -> Vm:
        """Returns the state of the machine's VM. Changes nothing."""
        vm = self._locate(request)
        if vm is None:
            raise _no_vm(request)
        if not vm.is_going and not vm.is_initialized and spec.asks_for_initialize(request.class_):
            raise Failure(
                Code.UNINITIALIZED,
                f"the VM {vm.id} is made and not initialized yet",
                provider_id=names.provider_id(vm),
                node_name=vm.name,
            )
        return names.vm(vm)

    def reboot(self, request: Request) -> None:
        """Restarts the machine's VM. A VM that is being deleted counts as none."""
        vm = self._locate(request)
        if vm is None or vm.is_going or not self._cloud.reboot(vm.id):
            raise _no_vm(request)

    def _locate(self, request: Request) -> SimVm | None:
        """Finds the VM by id, else by uid.

        An id that leads to another Machine's VM leads nowhere; one that leads to another cluster's VM, or to one
        without a mark, is refused.
        """
        own = names.parts(request.machine.provider_id)
        vm = None if own is None else self._cloud.get(own[1])
        if vm is not None and vm.exists:
            if _belongs(vm, request):
                return vm
            self._foreign(vm, request)
        return _only(self._cloud.find(request.cluster, request.machine.uid))

    def delete(self, request: Request) -> None:
        """Deletes every VM with the machine's marks, and volumes that no VM takes along."""
        cluster, uid = request.cluster, request.machine.uid
        found = self._cloud.find(cluster, uid)
        for vm in found:
            if not vm.is_going:
                self._cloud.delete(vm.id)
        own = names.parts(request.machine.provider_id)
        if own is not None and all(vm.id != own[1] for vm in found):
            self._delete_by_id(own[1], request)
        for volume in self._cloud.volumes(cluster, uid):
            # An attached volume is deleted with its VM. If not, it is free when the host calls again after the VM's
            # end.
            if not volume.is_attached:
                self._cloud.delete_volume(volume.id)

    def _delete_by_id(self, id: str, request: Request) -> None:
        """Deletes a VM that the listing does not show.

        Reads are stale, so an unknown VM may exist: the order is not stale, and the id is one that this driver
        returned.
        """
        vm = self._cloud.get(id)
        if vm is not None and (not vm.exists or vm.is_going):
            return
        if vm is not None and not _belongs(vm, request):
            self._foreign(vm, request)
            return
        self._cloud.delete(id)

    def _foreign(self, vm: SimVm, request: Request) -> None:
        """Leaves another machine's VM alone.

        Refuses one with another cluster's mark (a control plane was moved) or without a mark (it may be anybody's):
        both "there is none" and "it is removed" would be wrong.
        """
        self._host.log.info("the provider id leads to another machine's VM, left alone", vm=vm.id)
        cluster = vm.tag(CLUSTER_TAG)
        if cluster is None:
            raise Failure(
                Code.FAILED_PRECONDITION,
                f"the VM {vm.id} carries no cluster's mark, left alone: tag it if it is this Machine's, else correct the Machine",
            )
        if cluster != request.cluster:
            raise Failure(
                Code.FAILED_PRECONDITION,
                f"the VM {vm.id} carries the mark of cluster {cluster}, left alone: start the host with --cluster-id={cluster}",
            )

    def list(self, cluster: str, token: str | None) -> Page:
        """Returns one page of the cluster's VMs."""
        page = self._cloud.page(cluster, token)
        return Page([names.listed(vm) for vm in page.entries if vm.exists and vm.is_of(cluster)], page.next)


def _not_asked_for(request: Request) -> Vm:
    """Returns the facts that are known without a request.

    In the same reconcile as the create the id may be unknown. The answer is then that there is no such step, since
    reads may not show the VM yet.
    """
    own = names.parts(request.machine.provider_id)
    if own is None or request.machine.provider_id is None:
        raise Failure(
            Code.UNIMPLEMENTED,
            "nothing to initialize: the MachineClass does not ask for it (initialize in its providerSpec)",
        )
    return Vm(request.machine.provider_id, request.machine.name, VmState.UNKNOWN, failure_domain=own[0])


def _belongs(vm: SimVm, request: Request) -> bool:
    """A Machine that was restored from a backup has another uid and the same name.

    A cloud with VMs of machine-controller-manager needs one more case: a VM without any cluster's mark, with the tags
    that the plugin's settings adopt and the Machine's name. The class's own tags prove nothing: anyone who can write
    classes chooses them.
    """
    machine = request.machine
    return vm.is_of(request.cluster) and (vm.tag(UID_TAG) == machine.uid or vm.tag(NAME_TAG) == machine.name)


def _only(vms: list[SimVm]) -> SimVm | None:
    """Returns the VM that is not being deleted, else one that is."""
    working = [vm for vm in vms if not vm.is_going]
    if len(working) > 1:
        ids = ", ".join(vm.id for vm in working[:5])
        message = f"{len(working)} VMs carry this Machine's uid: {ids}; delete all but one"
        raise Failure(Code.OUT_OF_RANGE, message)
    return next(iter(working or vms), None)


def _no_vm(request: Request) -> Failure:
    machine = request.machine
    return not_found(f"there is no VM of Machine {machine.name} with uid {machine.uid}")
