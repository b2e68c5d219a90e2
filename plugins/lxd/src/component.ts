import { exportDriver } from 'machinist-sdk/driver-component';

import { LxdDriver } from './driver.js';

export const { driver, reboot, deleteById, nodeId, placement, capacity } = exportDriver(new LxdDriver());
