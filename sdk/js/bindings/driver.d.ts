// Code generated from wit/ by `npm run generate`. DO NOT EDIT.
/// <reference path="./interfaces/machinist-capacity-capacity.d.ts" />
/// <reference path="./interfaces/machinist-delete-by-id-delete-by-id.d.ts" />
/// <reference path="./interfaces/machinist-host-deadline.d.ts" />
/// <reference path="./interfaces/machinist-host-log.d.ts" />
/// <reference path="./interfaces/machinist-host-secrets.d.ts" />
/// <reference path="./interfaces/machinist-host-settings.d.ts" />
/// <reference path="./interfaces/machinist-interruption-interruption.d.ts" />
/// <reference path="./interfaces/machinist-node-id-node-id.d.ts" />
/// <reference path="./interfaces/machinist-placement-placement.d.ts" />
/// <reference path="./interfaces/machinist-provider-driver.d.ts" />
/// <reference path="./interfaces/machinist-provider-reboot.d.ts" />
/// <reference path="./interfaces/machinist-provider-types.d.ts" />
/// <reference path="./interfaces/wasi-clocks-monotonic-clock.d.ts" />
/// <reference path="./interfaces/wasi-clocks-wall-clock.d.ts" />
/// <reference path="./interfaces/wasi-http-outgoing-handler.d.ts" />
/// <reference path="./interfaces/wasi-http-types.d.ts" />
/// <reference path="./interfaces/wasi-io-error.d.ts" />
/// <reference path="./interfaces/wasi-io-poll.d.ts" />
/// <reference path="./interfaces/wasi-io-streams.d.ts" />
/// <reference path="./interfaces/wasi-random-random.d.ts" />
declare module 'machinist:author/driver@0.1.0' {
  export type * as MachinistHostDeadline010 from 'machinist:host/deadline@0.1.0'; // import machinist:host/deadline@0.1.0
  export type * as MachinistHostLog010 from 'machinist:host/log@0.1.0'; // import machinist:host/log@0.1.0
  export type * as MachinistHostSecrets010 from 'machinist:host/secrets@0.1.0'; // import machinist:host/secrets@0.1.0
  export type * as MachinistHostSettings010 from 'machinist:host/settings@0.1.0'; // import machinist:host/settings@0.1.0
  export type * as MachinistProviderTypes010 from 'machinist:provider/types@0.1.0'; // import machinist:provider/types@0.1.0
  export type * as WasiClocksMonotonicClock0212 from 'wasi:clocks/monotonic-clock@0.2.12'; // import wasi:clocks/monotonic-clock@0.2.12
  export type * as WasiClocksWallClock0212 from 'wasi:clocks/wall-clock@0.2.12'; // import wasi:clocks/wall-clock@0.2.12
  export type * as WasiHttpOutgoingHandler0212 from 'wasi:http/outgoing-handler@0.2.12'; // import wasi:http/outgoing-handler@0.2.12
  export type * as WasiHttpTypes0212 from 'wasi:http/types@0.2.12'; // import wasi:http/types@0.2.12
  export type * as WasiIoError0212 from 'wasi:io/error@0.2.12'; // import wasi:io/error@0.2.12
  export type * as WasiIoPoll0212 from 'wasi:io/poll@0.2.12'; // import wasi:io/poll@0.2.12
  export type * as WasiIoStreams0212 from 'wasi:io/streams@0.2.12'; // import wasi:io/streams@0.2.12
  export type * as WasiRandomRandom0212 from 'wasi:random/random@0.2.12'; // import wasi:random/random@0.2.12
  export * as reboot from 'machinist:provider/reboot@0.1.0'; // export machinist:provider/reboot@0.1.0
  export * as deleteById from 'machinist:delete-by-id/delete-by-id@0.1.0'; // export machinist:delete-by-id/delete-by-id@0.1.0
  export * as nodeId from 'machinist:node-id/node-id@0.1.0'; // export machinist:node-id/node-id@0.1.0
  export * as placement from 'machinist:placement/placement@0.1.0'; // export machinist:placement/placement@0.1.0
  export * as interruption from 'machinist:interruption/interruption@0.1.0'; // export machinist:interruption/interruption@0.1.0
  export * as capacity from 'machinist:capacity/capacity@0.1.0'; // export machinist:capacity/capacity@0.1.0
  export * as driver from 'machinist:provider/driver@0.1.0'; // export machinist:provider/driver@0.1.0
}
