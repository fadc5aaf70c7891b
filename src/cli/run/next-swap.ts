/** What to do after a model was timed. */
import {BASELINES, PASS_THROUGH} from '../../experiments/bench/fields/baselines.js'
import {type BenchRecord, benchPlan} from '../../experiments/bench/schema.js'
import {distinct} from '../../experiments/cells.js'
import {packagedFile} from '../../inputs/packaged.js'
import {commandText, typeablePath} from '../../report/command-line.js'
import type {ExperimentRun} from '../../runner/folder/finished-run.js'
import {asksEstimators, type MethodFlags} from '../plans/method-specs.js'
import {engineWords, PACKAGED_MODEL} from '../plans/swap-files.js'

/**
 * The command that measures what a timed model loses with the same methods; nothing where no model was timed.
 *
 * @param typed - the flags that made its methods; none of a plan that was read
 */
export function nextSwap(
  {manifest, records}: Pick<ExperimentRun, 'manifest' | 'records'>,
  bin: string,
  typed: MethodFlags,
): string[] {
  const plan = benchPlan.parse(manifest.plan)
  const {model, layers = [], methods, projections, orth_sign, num_features} = plan
  // a form that no flag was typed for would be swapped as the plain one
  const isNamed =
    asksEstimators(typed) ||
    methods.every(({preset, options}) => preset === 'exact' && Object.keys(options).length === 0)
  const named = distinct(methods.map(({method}) => method)).filter(
    method => !BASELINES.includes(method) && method !== PASS_THROUGH,
  )
  const own = records as BenchRecord[]
  const first = own.find(({status}) => status === 'completed')
  if (!model || !isNamed || plan.plugins || named.length === 0 || first?.status !== 'completed') {
    return []
  }
  const isPackaged = model.folder === packagedFile(PACKAGED_MODEL)
  const folder = isPackaged ? [] : ['--model', typeablePath(model.folder)]
  // all of them are what a swap exchanges where nothing is said
  const where = layers.length === first.result.model_layers ? [] : ['--layers', layers.join()]
  const isSized = own.some(({cell}) => cell.num_features !== null)
  const sized = isSized ? ['--num-features', num_features.join()] : []
  const isDrawn = own.some(({cell}) => cell.projection !== null)
  const drawn = [
    ...(isDrawn && projections.join() !== 'orth' ? ['--projections', projections.join()] : []),
    ...(isDrawn && orth_sign !== 'haar' ? ['--orth-sign', orth_sign] : []),
  ]
  const exchanged = ['--methods', named.join(), ...formWords(typed, named), ...drawn, ...sized]
  return [
    `next: ${commandText([bin, 'swap', ...folder, ...engineWords(plan), ...where, ...exchanged])} (what it loses)`,
  ]
}

/** Presets and options of methods, as they were typed. */
function formWords({preset, option = []}: MethodFlags, methods: readonly string[]): string[] {
  const options = option.filter(({method}) => method === null || methods.includes(method))
  return [
    ...(preset ? ['--preset', preset.join()] : []),
    ...options.flatMap(({method, name, value}) => [
      '--option',
      `${method === null ? '' : `${method}.`}${name}=${value}`,
    ]),
  ]
}
