/**
 * The volumes of PersistentVolumes.
 */

import { DriverError } from 'machinist-sdk';

/** The CSI driver of LXD's custom volumes. */
const CSI_DRIVER = 'lxd.csi.canonical.com';

/** Returns the volume handle of a PersistentVolume's spec; undefined if it is of another kind. */
export function volumeId(spec: string, index: number): string | undefined {
  let csi: { driver?: unknown; volumeHandle?: unknown };
  try {
    csi = JSON.parse(spec)?.csi ?? {};
  } catch {
    throw new DriverError('invalid-argument', `failed to read volume spec ${index}: it is not JSON`);
  }
  const { driver, volumeHandle } = csi;
  return driver === CSI_DRIVER && typeof volumeHandle === 'string' && volumeHandle !== '' ? volumeHandle : undefined;
}
