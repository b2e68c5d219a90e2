// Turns Microsoft's published descriptions of Azure's API (MIT) into `models.json`, which the cloud for tests compiles
// in. Run it again after a change of the versions or of the lists below:
//
//   node models/generate.mjs > models/models.json
//
// It downloads the two packages with npm into a temporary folder, checks their digests, and prints the models of the
// operations that the cloud offers: names on the wire, types, read-only and required properties, allowed values.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const PACKAGES = {
  compute: {
    name: "@azure/arm-compute",
    version: "21.6.0",
    sha256: "83b35f3cc09a5d94b462c23ce7abf892752bf3ef68e99a5983c14565ce7e53f7",
    operations: {
      virtualMachines: ["createOrUpdate", "update", "delete", "get", "instanceView", "restart", "list"],
      disks: ["createOrUpdate", "update", "get", "delete", "listByResourceGroup"],
      virtualMachineImages: ["get"],
      virtualMachineSizes: ["list"],
    },
    opaque: [],
  },
  network: {
    name: "@azure/arm-network",
    version: "33.0.0",
    sha256: "8191f549abe63df338615ae75152507ba09160201d804d4dfafd6097938c42d7",
    operations: {
      networkInterfaces: ["createOrUpdate", "updateTags", "get", "delete", "list"],
      subnets: ["get"],
    },
    // Objects that nobody sends whole here: of them only the id counts.
    opaque: [
      "NetworkSecurityGroup", "RouteTable", "PrivateEndpoint", "PrivateLinkService", "PublicIPAddress", "NatGateway",
      "ServiceEndpointPolicy", "VirtualNetworkTap", "BackendAddressPool", "InboundNatRule", "ApplicationSecurityGroup",
      "ApplicationGatewayBackendAddressPool", "IPConfigurationProfile", "IPConfiguration",
      "ApplicationGatewayIPConfiguration", "FlowLog",
    ],
  },
};

// Lists that Microsoft itself calls incomplete: the catalogue of a location decides.
const INCOMPLETE = ["VirtualMachineSizeTypes"];

function scalar(type) {
  if (type.name === "Enum") return { type: "String", values: type.allowedValues };
  return { type: type.name };
}

function shape(type, opaque, wanted) {
  switch (type.name) {
    case "Composite":
      if (opaque.includes(type.className)) return { type: "Reference" };
      wanted.push(type.className);
      return { type: "Model", model: type.className };
    case "Sequence":
      return { type: "Sequence", element: shape(type.element.type, opaque, wanted) };
    case "Dictionary":
      return { type: "Dictionary", element: shape(type.value.type, opaque, wanted) };
    default:
      return scalar(type);
  }
}

// The client hides enumerations that may grow; their values stand in the typings.
function enumerations(folder) {
  const text = readFileSync(join(folder, "dist-esm/src/models/index.js"), "utf8");
  const found = {};
  for (const [, name, body] of text.matchAll(/export var Known(\w+);\s*\(function \(Known\w+\) \{([\s\S]*?)\n\}\)/g)) {
    found[name] = [...body.matchAll(/= "([^"]*)";/g)].map(([, value]) => value);
  }
  return found;
}

// Which property has which enumeration: from the declarations of the interfaces.
function declared(folder) {
  const text = readFileSync(join(folder, "dist-esm/src/models/index.d.ts"), "utf8");
  const found = {};
  for (const [, name, body] of text.matchAll(/export interface (\w+)(?: extends \w+)? \{([\s\S]*?)\n\}/g)) {
    for (const [, property, type] of body.matchAll(/^ {4}(?:readonly )?(\w+)\??: (\w+)(?:\[\])?;/gm)) {
      (found[name] ??= {})[property] = type;
    }
  }
  return found;
}

function place(tree, path, leaf) {
  const parts = path.replaceAll("\\\\.", "\u0000").split(".").map((part) => part.replaceAll("\u0000", "."));
  let node = tree;
  for (const part of parts.slice(0, -1)) node = (node[part] ??= { type: "Object", properties: {} }).properties;
  node[parts.at(-1)] = leaf;
}

async function of(family, { name, version, sha256, operations, opaque }, folder) {
  const file = execFileSync("npm", ["pack", "--silent", `${name}@${version}`], { cwd: folder, encoding: "utf8" }).trim();
  const packed = readFileSync(join(folder, file));
  const digest = createHash("sha256").update(packed).digest("hex");
  if (digest !== sha256) throw new Error(`${name}@${version} has the digest ${digest} instead of ${sha256}`);
  execFileSync("tar", ["xzf", file], { cwd: folder });
  execFileSync("mv", ["package", family], { cwd: folder });
  const root = join(folder, family);
  const source = join(root, "dist-esm/src");
  writeFileSync(join(root, "package.json"), JSON.stringify({ type: "module" }));
  const parameters = join(source, "models/parameters.js");
  writeFileSync(parameters, readFileSync(parameters, "utf8").replace('"../models/mappers"', '"./mappers.js"'));
  const Mappers = await import(pathToFileURL(join(source, "models/mappers.js")));
  const Parameters = await import(pathToFileURL(parameters));
  const [known, interfaces] = [enumerations(root), declared(root)];
  const wanted = [];
  const offered = [];
  for (const [group, names] of Object.entries(operations)) {
    const text = readFileSync(join(source, `operations/${group}.js`), "utf8");
    for (const name of names) {
      const found = text.match(new RegExp(`const ${name}OperationSpec = (\\{[\\s\\S]*?\\n\\});`));
      const spec = new Function("Mappers", "Parameters", "serializer", `return ${found[1]}`)(Mappers, Parameters, null);
      const body = spec.requestBody?.mapper?.type?.className ?? null;
      if (body) wanted.push(body);
      const answers = {};
      for (const [status, answer] of Object.entries(spec.responses)) {
        if (status === "default") continue;
        answers[status] = answer.bodyMapper?.type?.className ?? null;
        if (answers[status]) wanted.push(answers[status]);
      }
      const query = {};
      for (const { mapper } of spec.queryParameters ?? []) query[mapper.serializedName] = mapper.defaultValue ?? null;
      const headers = (spec.headerParameters ?? []).map(({ mapper }) => mapper.serializedName);
      offered.push({ name: `${group}.${name}`, method: spec.httpMethod, path: spec.path, query, headers, body, answers });
    }
  }
  const models = {};
  while (wanted.length > 0) {
    const name = wanted.pop();
    if (models[name]) continue;
    const mapper = Object.values(Mappers).find((mapper) => mapper.type.className === name);
    const properties = {};
    for (const [property, described] of Object.entries(mapper.type.modelProperties ?? {})) {
      const leaf = shape(described.type, opaque, described.readOnly ? [] : wanted);
      const values = known[interfaces[name]?.[property]];
      if (leaf.type === "String" && !leaf.values && values) leaf.values = values;
      if (INCOMPLETE.includes(interfaces[name]?.[property])) delete leaf.values;
      if (described.readOnly) leaf.readOnly = true;
      if (described.required) leaf.required = true;
      if (described.constraints) leaf.constraints = described.constraints;
      place(properties, described.serializedName, leaf);
    }
    models[name] = { properties };
  }
  const sorted = Object.fromEntries(Object.entries(models).sort(([a], [b]) => (a < b ? -1 : 1)));
  return { package: name, version, sha256, operations: offered, models: sorted };
}

const folder = mkdtempSync(join(tmpdir(), "azure-models-"));
try {
  const families = {};
  for (const [family, described] of Object.entries(PACKAGES)) families[family] = await of(family, described, folder);
  process.stdout.write(`${JSON.stringify(families, null, 1)}\n`);
} finally {
  rmSync(folder, { recursive: true });
}
