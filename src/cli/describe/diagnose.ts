/**
 * What `rfa doctor` finds out in addition to backends: how busy the machine is, and the Python that `--peers` would use.
 */
import {execFile} from 'node:child_process'
import {readFile} from 'node:fs/promises'
import {loadavg, platform} from 'node:os'
import {promisify} from 'node:util'
import {pythonPath} from '../../experiments/bench/measure/peers/peer-process.js'
import type {Diagnosis} from '../../report/doctor.js'

/** A Python that does not answer is not waited for, in ms. */
const PYTHON_PATIENCE_MS = 10_000
/** Prints the version of Python and, on a second line, that of PyTorch, which is not imported: that takes seconds. */
const VERSIONS = `import platform
from importlib import metadata
print(platform.python_version())
try: print(metadata.version("torch"))
except metadata.PackageNotFoundError: pass`

const GOVERNOR = '/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor'

/** Python with PyTorch, as far as they are there; `null` without Python. @param command - Default: RFA_PYTHON or python3 */
export async function pythonFacts(command = pythonPath()): Promise<Diagnosis['python']> {
  try {
    const options = {timeout: PYTHON_PATIENCE_MS}
    const {stdout} = await promisify(execFile)(command, ['-c', VERSIONS], options)
    const [version = '', torch = ''] = stdout.trim().split(/\s+/)
    return {command, version, torch: torch || null}
  } catch {
    return null
  }
}

/** Load average over a minute, and the frequency governor; `null` where the system does not say. */
export async function activityFacts(): Promise<Diagnosis['activity']> {
  const governor = await readFile(GOVERNOR, 'utf8').catch(() => null)
  // Windows keeps no average: zeros stand for that
  const load = platform() === 'win32' ? null : loadavg()[0]!
  return {load, governor: governor?.trim() || null}
}
