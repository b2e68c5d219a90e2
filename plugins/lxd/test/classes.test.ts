/**
 * Classes: what they accept, refuse and warn of; placement, capacity, volumes, the description of the driver.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { MockDriver } from 'machinist-sdk/mock';

import { cpuCount, memoryBytes } from '../src/capacity.js';
import { LxdDriver } from '../src/driver.js';
import packed from './classes/packed.json';
import plain from './classes/plain.json';
import virtual from './classes/virtual.json';
import { after, created, deleted, failure, fixture, GRANTS, request } from './fixture.js';

function classOf(spec: object | string) {
  return { ...request(1).class, spec: typeof spec === 'string' ? spec : JSON.stringify(spec) };
}

async function problem(spec: object | string) {
  const error = await failure(fixture().driver.validateClass(classOf(spec)));
  assert.deepEqual([error.code, error.isTerminal], ['invalid-argument', true]);
  return error.message as string;
}

test('classes of all kinds are accepted without a warning, and make instances', async () => {
  for (const spec of [plain, packed, virtual]) {
    const { lxd, driver } = fixture();
    assert.deepEqual(await driver.validateClass(classOf(spec)), []);
    await created(driver, { ...request(1), class: classOf(spec) });
    assert.equal(lxd.live.length, 1);
  }
});

test('every field reaches LXD', async () => {
  const { lxd, driver } = fixture();
  await created(driver, { ...request(1), class: classOf(packed) });
  const [{ body, project, location }] = lxd.live as any;
  assert.deepEqual([project, location, body.type, body.profiles], ['nodes', 'lab-2', 'container', ['default', 'nodes']]);
  assert.deepEqual(body.source, {
    type: 'image',
    alias: 'debian/12/cloud',
    server: 'https://images.lxd.canonical.com',
    mode: 'pull',
    protocol: 'simplestreams',
  });
  assert.deepEqual(body.devices.root, { type: 'disk', path: '/', pool: 'fast', size: '20GiB' });
  assert.deepEqual(body.devices.eth0, { type: 'nic', network: 'lxdbr0', 'ipv4.address': '10.0.0.7' });
  assert.deepEqual([body.config['limits.cpu'], body.config['security.nesting']], ['4', 'true']);
  assert.ok(body.config['user.user-data'].startsWith('#cloud-config') && !('cloud-init.user-data' in body.config));
});

test('all problems of a class are reported at once, each with its field', async () => {
  const text = await problem({
    project: 'a b',
    type: 'vm',
    target: '@',
    profiles: 'default',
    rootSize: '20 GiB',
    config: { 'limits.cpu': [1], 'volatile.uuid': 'x', cpu: 2, 'user.machinist-uid': 'x', 'cloud-init.user-data': 'x' },
    devices: { eth0: { network: 'lxdbr0' }, eth1: 7 },
    userDataKey: 'data',
  });
  const fields = [
    'project',
    'type',
    'target',
    'profiles',
    'rootSize',
    'image is required',
    'config["\\"limits.cpu\\""]'.replace(/\\"/g, ''),
    'volatile.uuid',
    'config["cpu"]',
    'user.machinist-uid',
    'cloud-init.user-data',
    'devices.eth0.type',
    'devices.eth1',
    'userDataKey',
  ];
  for (const field of fields) assert.ok(text.includes(field), `${field} in ${text}`);
});

test('an image is an alias or a fingerprint', async () => {
  assert.match(await problem({ image: {} }), /image must have either alias or fingerprint/);
  assert.match(await problem({ image: { alias: 'a', fingerprint: '0123456789ab' } }), /either/);
  assert.match(await problem({ image: { fingerprint: 'xyz' } }), /image\.fingerprint must be/);
  assert.match(await problem({ image: { alias: 'a', server: 'http://images' } }), /image\.server/);
  assert.match(await problem({ image: { alias: 'a', protocol: 'lxd' } }), /protocol and no server/);
  assert.match(await problem({ image: '' }), /image/);
  assert.match(await problem({ image: 'a', pool: 'x', devices: { root: { type: 'disk' } } }), /devices\.root/);
});

test('unknown fields are warned of, null is absent, and what is no object is refused', async () => {
  const { driver } = fixture();
  assert.deepEqual(await driver.validateClass(classOf({ image: { alias: 'a', tag: 1 }, project: null, flavor: 'x' })), [
    'providerSpec.flavor is not a field and is ignored',
    'providerSpec.image.tag is not a field and is ignored',
  ]);
  assert.match(await problem('[]'), /must be an object/);
  assert.match(await problem('{'), /not JSON/);
  assert.match(await problem('null'), /image is required/);
});

test('zones of the annotation are warned of, because LXD chooses the cluster member', async () => {
  const warnings = await fixture().driver.validateClass({ ...classOf(plain), zones: ['lab-2'] });
  assert.equal(warnings.length, 1);
  assert.match(warnings[0]!, /machinist\.dev\/zones are not tried/);
});

test('the server is named by the class, else by the settings, and one of them must', async () => {
  const { driver } = fixture();
  await created(driver, request(1, { endpoint: 'https://lxd.test:8443/' }));
  assert.equal(driver.arrived[0]!.url.host, 'lxd.test:8443');
  assert.match(await problem({ image: 'a', endpoint: 'lxd.test' }), /endpoint must be https/);
  driver.surroundings = { ...driver.surroundings, settings: {} };
  assert.match((await failure(driver.validateClass(classOf({ image: 'a' })))).message, /endpoint is required/);
  const error = await failure(driver.getStatus(request(1)));
  assert.deepEqual([error.code, error.isTerminal], ['failed-precondition', false]);
});

test('the description names the server of the settings, and never fails', async () => {
  const about = async (settings: object | string) => new MockDriver(new LxdDriver(), { settings }).describe();
  const { name, providers, hosts, consistencyWindowMs } = await about({ endpoint: 'https://[::1]:8443' });
  assert.deepEqual([name, providers, hosts, consistencyWindowMs], ['lxd', ['lxd'], ['[::1]'], 5_000n]);
  for (const settings of ['{', '[]', { endpoint: 7 }, { endpoint: 'ftp://a' }]) assert.deepEqual((await about(settings)).hosts, []);
});

test('a class in a failure domain is on that member and nowhere else', async () => {
  const { driver } = fixture();
  const spec = await driver.place(classOf(plain), 'lab-2');
  assert.deepEqual(spec, { ...plain, target: 'lab-2' });
  assert.deepEqual(await driver.place(classOf(spec), 'lab-2'), spec);
  assert.equal((await created(driver, { ...request(1), class: classOf(spec) })).failureDomain, 'lab-2');
  assert.equal((await failure(driver.place(classOf(plain), '@group'))).code, 'invalid-argument');
});

test('a Node has the limits of the class, else of its profiles, else what the server has', async () => {
  const { lxd, driver } = fixture();
  lxd.profiles.small = { config: { 'limits.cpu': '0-1', 'limits.memory': '50%' }, devices: {} };
  lxd.profiles.disk = { config: { 'limits.cpu': '4' }, devices: { root: { type: 'disk', path: '/', pool: 'a', size: '10GB' } } };
  const capacity = async (spec: object) => (await driver.nodeCapacity(classOf({ image: 'a', ...spec }))).resources;
  assert.deepEqual(await capacity({}), { cpu: '8', memory: String(32 * 2 ** 30) });
  assert.deepEqual(await capacity({ profiles: ['disk', 'small'] }), {
    cpu: '2',
    memory: String(16 * 2 ** 30),
    'ephemeral-storage': '10000000000',
  });
  assert.deepEqual(await capacity({ config: { 'limits.cpu': 3, 'limits.memory': '512MiB' }, pool: 'a', rootSize: '1GiB' }), {
    cpu: '3',
    memory: String(2 ** 29),
    'ephemeral-storage': String(2 ** 30),
  });
  assert.deepEqual(await capacity({ type: 'virtual-machine' }), { cpu: '1', memory: String(2 ** 30) });
  const all = await driver.nodeCapacity(classOf(plain));
  assert.deepEqual([all.architecture, all.operatingSystem], ['amd64', 'linux']);
  assert.equal((await failure(driver.nodeCapacity(classOf({ image: 'a', profiles: ['none'] })))).code, 'invalid-argument');
  assert.equal((await failure(driver.nodeCapacity(classOf({ image: 'a', config: { 'limits.memory': 'much' } })))).code, 'invalid-argument');
});

test('limits are read as LXD reads them', () => {
  assert.deepEqual(['1', '16', '0-3', '0,2', '1-2,5', '0-0'].map(cpuCount), [1, 16, 4, 2, 3, 1]);
  for (const limit of ['', '0', '3-1', 'all', '1;2', '-1']) assert.throws(() => cpuCount(limit), /limits\.cpu/);
  assert.deepEqual(
    ['5', '5B', '2kB', '2KiB', '1MB', '1MiB', '1GB', '1GiB', '25%'].map((limit) => memoryBytes(limit, 400)),
    [5, 5, 2_000, 2_048, 1_000_000, 1_048_576, 1_000_000_000, 1_073_741_824, 100],
  );
  for (const limit of ['', 'GiB', '1 GiB', '1.5GiB', '1Gib', '9999999EiB']) assert.throws(() => memoryBytes(limit, 1));
});

test('volumes are those of the CSI driver of LXD', async () => {
  const { driver } = fixture();
  const specs = [
    { csi: { driver: 'lxd.csi.canonical.com', volumeHandle: 'default/a' } },
    { csi: { driver: 'other', volumeHandle: 'b' } },
    { nfs: {} },
    null,
  ];
  assert.deepEqual(await driver.getVolumeIds(specs.map((spec) => JSON.stringify(spec))), ['default/a', undefined, undefined, undefined]);
  assert.equal((await failure(driver.getVolumeIds(['{']))).code, 'invalid-argument');
});

test('the grants have what the calls need, and no more', async () => {
  const { driver } = fixture();
  const asked = request(1);
  const vm = await created(driver, asked);
  await driver.list({ class: asked.class, cluster: 'lab' });
  await driver.nodeCapacity(asked.class);
  await driver.reboot(after(asked, vm));
  await deleted(driver, after(asked, vm));
  const [{ methods = [], paths = [] } = {}] = GRANTS.egress ?? [];
  for (const method of methods)
    assert.ok(
      driver.arrived.some((sent) => sent.method === method),
      method,
    );
  for (const path of paths)
    assert.ok(
      driver.arrived.some(({ url }) => url.pathname.startsWith(path)),
      path,
    );
  // The rule with all methods is for instances alone.
  assert.ok(driver.arrived.every(({ method, url }) => method === 'GET' || url.pathname.startsWith('/1.0/instances')));
});

test('the id of a Node is that of its instance', async () => {
  const { driver } = fixture();
  const vm = await created(driver, request(1));
  assert.equal(await driver.nodeId(request(1), vm), vm.providerId);
});
