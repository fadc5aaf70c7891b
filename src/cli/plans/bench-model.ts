/** Whole models that `rfa bench` times. */
import {expected} from '../../errors.js'
import {assertReads, mostTokens} from '../../experiments/bench/fields/model.js'
import type {ModelFacts} from '../../model/index.js'
import {type FlagValues, inGroup, oneText} from '../flags/kinds.js'
import {layerSets, swapFlags} from './swap.js'
import type {PretrainedFacts} from './swap-files.js'

export const benchModelFlags = {
  ...inGroup('GRID', {
    model: oneText(
      'time a whole pretrained model with and without exchanged attention, from its folder (with --mode model and without a folder: charlm, the character model of the package); it says itself what H, Hkv, D are and whether it is causal',
      {helpValue: 'DIR'},
    ),
  }),
  engine: swapFlags.engine,
  device: swapFlags.device,
  ...inGroup('GRID', {
    layers: oneText(
      'layers of --model with exchanged attention: 0,3 or 0..3, first:2, last:2 (default: all)',
      {helpValue: 'all|N,N'},
    ),
  }),
}

/** What a model determines, and the flags that ask for it elsewhere. */
const DETERMINED = ['heads', 'kv-heads', 'head-dim', 'value-dim', 'causal', 'input'] as const
/** What is of a model alone. */
const OF_MODEL = ['layers', 'engine', 'device'] as const
/** What has no effect where Transformers runs the model. */
const OF_PROGRAM = ['backend', 'redraw'] as const
/** What is of attention alone. */
const ELSEWHERE = ['peers', 'breakdown', 'parameters'] as const

type ModelFlags = FlagValues<typeof benchModelFlags> &
  Partial<
    Record<
      (typeof DETERMINED)[number] | (typeof ELSEWHERE)[number] | (typeof OF_PROGRAM)[number],
      unknown
    >
  > & {
    mode?: string | undefined
    quick?: boolean
  }

/**
 * The model that flags name; `undefined` where they name none.
 *
 * @throws {USAGE} for flags that do not go together with a model, and for layers without one
 */
export async function timedModel(flags: ModelFlags): Promise<PretrainedFacts | undefined> {
  const {mode} = flags
  if (flags.model === undefined && mode !== 'model') {
    const alone = OF_MODEL.find(name => flags[name] !== undefined)
    if (alone === undefined) return undefined
    throw expected('USAGE', `--${alone}`, '--model with it', 'none')
  }
  if (mode === 'forward' || mode === 'layer') {
    const remedy = 'leave --mode out'
    throw expected('USAGE', '--mode', 'model or decode with --model', mode, remedy)
  }
  const typed = DETERMINED.find(name => flags[name] !== undefined)
  if (typed) {
    const what = 'nothing where a model is timed, which says so itself'
    throw expected('USAGE', `--${typed}`, what, 'it', `leave --${typed} out`)
  }
  const other = ELSEWHERE.find(name => flags[name])
  if (other) {
    const what = 'nothing where a model is timed: it is of attention alone'
    throw expected('USAGE', `--${other}`, what, 'it', `leave --${other} out`)
  }
  if (mode === 'decode' && flags.engine === 'transformers') {
    throw expected('USAGE', '--engine', '--engine native with --mode decode', flags.engine)
  }
  const {pretrained} = await import('./swap-files.js')
  const model = await pretrained({
    ...flags,
    engine: mode === 'decode' ? 'native' : (flags.engine ?? 'auto'),
  })
  const idle = model.engine && OF_PROGRAM.find(name => flags[name] !== undefined)
  if (idle) {
    const what = 'nothing where Transformers runs the model'
    throw expected('USAGE', `--${idle}`, what, 'it', `leave --${idle} out`)
  }
  if (mode === 'decode' && !model.facts.causal) {
    const what = 'a causal model with --mode decode'
    throw expected('USAGE', '--model', what, 'an encoder', 'leave --mode out')
  }
  return model
}

/** Longest text where no length is typed: longer ones take minutes in models of usual sizes. */
const LONGEST = {standard: 2048, quick: 512}

/** The longest text that is timed where no length is typed. */
export function longestTimed(
  facts: Pick<ModelFacts, 'maxTokens' | 'window'>,
  {quick}: {quick: boolean},
): number {
  return Math.min(mostTokens(facts), quick ? LONGEST.quick : LONGEST.standard)
}

/**
 * Lengths that are timed: those that are typed, or else powers of two up to the longest text of the model.
 *
 * @throws {UNSUPPORTED} for one that the model does not read
 */
export function modelLengths(
  {facts, pinned}: PretrainedFacts,
  typed: readonly number[] | undefined,
  {quick}: {quick: boolean},
): number[] {
  if (typed) {
    assertReads(pinned.folder, facts, typed)
    return [...typed]
  }
  const longest = 2 ** Math.floor(Math.log2(longestTimed(facts, {quick})))
  const lengths = quick ? [longest / 4, longest] : [longest / 4, longest / 2, longest]
  return lengths.filter(length => length >= 1)
}

/** The layers with exchanged attention. @throws {USAGE} for layers that are not there, and for `each` */
export function modelLayers({facts}: PretrainedFacts, text = 'all'): number[] {
  const [first, ...others] = layerSets(text, facts.layers)
  if (others.length === 0) return first!
  throw expected('USAGE', '--layers', 'one set of layers', text, 'rfa swap runs each by itself')
}
