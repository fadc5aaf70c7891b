/** The file of learned parameters of a run, which stands beside its folder. */
import {existsSync} from 'node:fs'
import {tunedFileOf} from '../../experiments/tune/save.js'
import type {CompletedTune} from '../../experiments/tune/schema.js'
import {checkOutput} from '../../inputs/files/output.js'
import {commandText, typeablePath} from '../../report/command-line.js'
import type {ExperimentRun} from '../../runner/folder/finished-run.js'
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

/** Where the learned parameters are, and what to do with them: in the model, if its folder is known, else on their input. */
export function tunedLines({directory, records}: ExperimentRun, bin: string): string[] {
  const [first] = records.filter(({status}) => status === 'completed') as CompletedTune[]
  if (directory === null || !first) return []
  const file = typeablePath(tunedFileOf(directory))
  return [`learned parameters: ${file}`, `next: ${commandText([bin, ...nextWords(first, file)])}`]
}

function nextWords({cell: {input, layer}, result}: CompletedTune, file: string): string[] {
  const folder = result.input_origin?.folder
  const known = layer ?? result.input_origin?.layer ?? undefined
  if (folder && known !== undefined && existsSync(folder)) {
    return ['swap', '--model', typeablePath(folder), '--tuned', file]
  }
  const own = [...(layer === undefined ? [] : ['--layer', String(layer)]), '--parameters', file]
  if (input.kind === 'file') {
    return ['error-sweep', '--input', ...input.paths.map(typeablePath), ...own]
  }
  const sizes = ['--heads', String(input.heads), '--head-dim', String(input.head_dim)]
  return ['error-sweep', '--generator', input.name, ...sizes, '--parameters', file]
}
