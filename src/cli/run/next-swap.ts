/** What to do after a model was timed. */
import {BASELINES, PASS_THROUGH} from '../../experiments/bench/fields/baselines.js'
import {type BenchRecord, benchPlan} from '../../experiments/bench/schema.js'
import {distinct} from '../../experiments/cells.js'
import {packagedFile} from '../../inputs/packaged.js'
import {commandText, typeablePath} from '../../report/command-line.js'
import type {ExperimentRun} from '../../runner/folder/finished-run.js'
import {PACKAGED_MODEL} from '../plans/swap-files.js'

/** The command that measures what a timed model loses with the same methods; nothing where no model was timed. */
export function nextSwap({manifest, records}: ExperimentRun, bin: string): string[] {
  const plan = benchPlan.parse(manifest.plan)
  const {model, layers = [], methods, num_features} = plan
  // a method in another form than its plain one would be swapped as another method
  const isPlain = methods.every(
    ({preset, options}) => preset === 'exact' && Object.keys(options).length === 0,
  )
  const named = distinct(methods.map(({method}) => method)).filter(
    method => !BASELINES.includes(method) && method !== PASS_THROUGH,
  )
  const own = records as BenchRecord[]
  const first = own.find(({status}) => status === 'completed')
  if (!model || !isPlain || plan.plugins || named.length === 0 || first?.status !== 'completed') {
    return []
  }
  const isPackaged = model.folder === packagedFile(PACKAGED_MODEL)
  const folder = isPackaged ? [] : ['--model', typeablePath(model.folder)]
  // all of them are what a swap exchanges where nothing is said
  const where = layers.length === first.result.model_layers ? [] : ['--layers', layers.join()]
  const isSized = own.some(({cell}) => cell.num_features !== null)
  const sized = isSized ? ['--num-features', num_features.join()] : []
  const exchanged = ['--methods', named.join(), ...sized]
  return [`next: ${commandText([bin, 'swap', ...folder, ...where, ...exchanged])} (what it loses)`]
}
