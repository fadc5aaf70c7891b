/** The Python of the tests. */
import {spawn} from 'node:child_process'
import {once} from 'node:events'
import {text} from 'node:stream/consumers'

/** Has `python/requirements.txt`; without it the tests that need it are skipped. */
export const PYTHON = process.env.RFA_PYTHON

/**
 * What a script prints.
 *
 * @throws Error with what it complained of
 */
export async function python(argv: readonly string[], cwd = process.cwd()): Promise<string> {
  const offline = {HF_HUB_OFFLINE: '1', WANDB_MODE: 'offline', MLFLOW_DISABLE_TELEMETRY: 'true'}
  const env = {...process.env, TOKENIZERS_PARALLELISM: 'false', ...offline}
  const child = spawn(PYTHON!, argv, {cwd, env, stdio: ['ignore', 'pipe', 'pipe']})
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ])
  if (code !== 0) throw new Error(`${argv.join(' ')}\n${stdout}${stderr}`)
  return stdout
}
