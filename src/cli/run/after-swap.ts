/** What to do after a model was exchanged. */
import {type SwapRecord, swapPlan} from '../../experiments/swap/schema.js'
import {packagedFile} from '../../inputs/packaged.js'
import {commandText, typeablePath} from '../../report/command-line.js'
import type {ExperimentRun} from '../../runner/folder/finished-run.js'
import {engineWords, PACKAGED_MODEL, PACKAGED_TEXTS} from '../plans/swap-files.js'

/**
 * The command that learns the layers of a model of one's own on the same texts; after learning, the one that says what the model gains.
 * Nothing where none of them takes what was exchanged.
 */
export function afterSwap(
  {manifest, records}: Pick<ExperimentRun, 'manifest' | 'records'>,
  bin: string,
): string[] {
  const {model, original, texts, engine, device, methods} = swapPlan.parse(manifest.plan)
  const measured = (records as SwapRecord[]).some(({status}) => status === 'completed')
  const isPackaged = model.folder === packagedFile(PACKAGED_MODEL)
  if (isPackaged || original || texts.format || manifest.shard || !measured) return []
  const named = ['--model', typeablePath(model.folder)]
  const by = engineWords({engine, device})
  if (methods.some(({tuned}) => tuned)) {
    const command = commandText([bin, 'bench', ...named, ...by])
    return [`next: ${command}   what does the model gain?`]
  }
  const isOwn = texts.path !== packagedFile(PACKAGED_TEXTS)
  const read = isOwn ? ['--texts', typeablePath(texts.path)] : []
  const command = commandText([bin, 'tune', ...named, ...read, ...by])
  return [`next: ${command}   how much of the loss does learning repair?`]
}
