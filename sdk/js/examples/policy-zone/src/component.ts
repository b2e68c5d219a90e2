import { exportPolicy } from 'machinist-sdk/policy-component';

import { Zone } from './zone.js';

export const policy = exportPolicy(new Zone());
