/** The Python of the tests. */
import {spawnSync} from 'node:child_process'

/** Has `python/requirements.txt`; without it the tests that need it are skipped. */
export const PYTHON = process.env.RFA_PYTHON

/**
 * What a script prints.
 *
 * @throws Error with what it complained of
 */
export function python(argv: readonly string[], cwd = process.cwd()): string {
  const env = {...process.env, TOKENIZERS_PARALLELISM: 'false', HF_HUB_OFFLINE: '1'}
  const run = spawnSync(PYTHON!, argv, {cwd, encoding: 'utf8', env, maxBuffer: 2 ** 26})
  if (run.status !== 0) throw new Error(`${argv.join(' ')}\n${run.stdout}${run.stderr}`)
  return run.stdout
}
