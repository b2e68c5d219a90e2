import { exportDriver } from 'machinist-sdk/driver-component';

import { SimDriver } from './driver.js';

export const { driver, reboot, deleteById, nodeId, placement, interruption, capacity } = exportDriver(new SimDriver());
