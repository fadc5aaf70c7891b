/**
 * What `rfa doctor` finds out in addition to backends: how busy the machine is, and the Python that `--peers` would use.
 */
import {readFile} from 'node:fs/promises'
import {loadavg, platform} from 'node:os'
import type {Diagnosis} from '../../report/doctor.js'

const GOVERNOR = '/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor'

/** Load average over a minute, and the frequency governor; `null` where the system does not say. */
export async function activityFacts(): Promise<Diagnosis['activity']> {
  const governor = await readFile(GOVERNOR, 'utf8').catch(() => null)
  // Windows keeps no average: zeros stand for that
  const load = platform() === 'win32' ? null : loadavg()[0]!
  return {load, governor: governor?.trim() || null}
}
