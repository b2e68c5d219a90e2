import { exportDriver } from 'machinist-sdk/driver-component';

import { SimDriver } from './driver.js';

export const { driver, reboot, nodeId, placement, interruption, capacity } = exportDriver(new SimDriver());
