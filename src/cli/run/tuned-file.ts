/** The file of learned parameters of a run, which stands beside its folder. */
import {tunedFileOf} from '../../experiments/tune/save.js'
import {checkOutput} from '../../inputs/files/output.js'
import {commandText, typeablePath} from '../../report/command-line.js'
import type {ExperimentRun} from '../../runner/finished-run.js'
import type {RunOptions} from '../flags/shared.js'

/**
 * The folder that goes with the file of `--output`, which need not say its ending.
 *
 * @throws {WOULD_OVERWRITE} for a file that is there, unless its run is gone on with
 */
export async function runFolder(
  flags: Pick<RunOptions, 'output' | 'resume' | 'force' | 'dry-run'> & {
    input?: readonly string[] | undefined
  },
): Promise<Pick<RunOptions, 'output'>> {
  if (flags.output === undefined) return {}
  const output = flags.output.replace(/\.safetensors$/i, '')
  const force = flags.force || flags.resume || flags['dry-run']
  await checkOutput(tunedFileOf(output), {inputs: flags.input ?? [], force})
  return {output}
}

/** Where the learned parameters are, and what to do with them. */
export function tunedLines({directory, records}: ExperimentRun, bin: string): string[] {
  if (directory === null || !records.some(({status}) => status === 'completed')) return []
  const file = typeablePath(tunedFileOf(directory))
  return [
    `learned parameters: ${file}`,
    `next: ${commandText([bin, 'swap', '--model', 'DIR', '--tuned', file])}`,
  ]
}
