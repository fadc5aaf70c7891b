/** Pairs of `rfa variance` that an input has. */
import {expected} from '../../errors.js'
import {causalLabel, cornerText} from '../../experiments/labels.js'
import type {VariancePlan} from '../../experiments/variance/schema.js'
import {sizesOf} from '../../inputs/attention-input.js'
import type {InputPart} from '../../inputs/input-parts.js'
import type {LayerChoice} from '../../inputs/layers.js'
import type {InputSpec} from '../../inputs/spec.js'
import {type FlagValues, fileList, inGroup, oneNumber} from '../flags/kinds.js'
import {POSITIVE_INTEGER} from '../flags/ranges.js'
import {causalFlags} from '../flags/shared.js'
import {inputFlags, toInputSpec, toLayers, withCausal} from './input-spec.js'

export const pairFlags = {
  ...inputFlags,
  ...inGroup('INPUT', {
    input: fileList({
      char: 'i',
      description:
        'file that --pairs are drawn from, as in error-sweep (default with --pairs: a layer of the package)',
    }),
    ...causalFlags,
    pairs: oneNumber(POSITIVE_INTEGER)(
      'pairs of a query and a key, drawn from the input, alike from each head, in place of norms and angles (default with --input: one of each head); what counts of them are norms and angle',
    ),
  }),
}

type PairFlags = Partial<FlagValues<typeof pairFlags> & {seed: number}>

/** Pairs of an input, and D of their vectors. */
export type SampledInput = NonNullable<VariancePlan['sampled']> & {headDim: number}

/** Flags that say which pairs there are, where no input does. */
const OTHER_PAIRS = [
  'norms',
  'key-norms',
  'angles',
  'sum-norms',
  'difference-norms',
  'head-dim',
] as const

/** Who is told what of an input. */
export interface InputListeners {
  /** Its name, and whether keys after their query are in view. */
  note(text: string): void
  /** What to be wary of in it. */
  warn(text: string): void
}

const PAIR_NAMES = [...Object.keys(inputFlags), 'causal', 'causal-align'] as (
  | keyof typeof inputFlags
  | 'causal'
  | 'causal-align'
)[]

/**
 * Reads the input that pairs are asked of and draws them; `undefined` where norms and angles make them.
 *
 * @throws {USAGE} for flags of both, and for several layers
 */
export async function sampledInput(
  flags: PairFlags & Partial<Record<(typeof OTHER_PAIRS)[number], unknown>>,
  {note, warn}: InputListeners,
): Promise<SampledInput | undefined> {
  const asked = flags.pairs !== undefined || PAIR_NAMES.some(name => flags[name] !== undefined)
  if (!asked) return undefined
  const other = OTHER_PAIRS.find(name => flags[name] !== undefined)
  if (other) {
    const named = ['pairs', ...PAIR_NAMES].find(name => Reflect.get(flags, name) !== undefined)
    const remedy = 'leave one of them out'
    throw expected('USAGE', `--${other}`, 'no pairs of an input beside it', `--${named}`, remedy)
  }
  requireOneLayer(flags)
  const own = await withCausal(fileOf(flags))
  const view = {causal: own.causal, causalAlign: own['causal-align']}
  const {input: spec, layer} = await onlyPart(toInputSpec(own), toLayers(own))
  const {inputWarnings} = await import('../../inputs/input-facts.js')
  const {arrayNotes} = await import('../../inputs/other-arrays.js')
  for (const text of await arrayNotes(spec)) note(text)
  for (const text of await inputWarnings(spec, {layer, ...view})) warn(text)
  const {loadInput} = await import('../../inputs/load.js')
  const {samplePairs} = await import('../../experiments/variance/sampled-pairs.js')
  const seed = flags.seed ?? 0
  const input = await loadInput(spec, {seqLen: null, seed, extras: false, layer})
  const seen = `${causalLabel(view.causal, input.ranCausal ?? null)}${cornerText(sizesOf(input), view)}`
  note(`pairs of ${input.label}, ${seen}`)
  const [, heads, , headDim] = input.query.shape
  const sampling = {count: flags.pairs ?? heads, seed, ...view}
  return {input: input.label, pairs: samplePairs(input, sampling), headDim}
}

/** @throws {USAGE} for more than one */
function requireOneLayer(flags: PairFlags): void {
  const layers = toLayers(flags)
  if (layers === undefined || (layers !== 'all' && layers.length === 1)) return
  throw expected('USAGE', '--layer', 'one layer', layers === 'all' ? layers : layers.join(', '))
}

/** @throws {USAGE} where files or their arrays are of several layers and none is named */
async function onlyPart(spec: InputSpec, asked: LayerChoice | undefined): Promise<InputPart> {
  const {partsOf} = await import('../../inputs/input-parts.js')
  const parts = await partsOf(spec, asked)
  if (parts.length === 1) return parts[0]!
  const layers = parts.map(({layer}) => layer).join(', ')
  throw expected('USAGE', '--input', 'one layer', `layers ${layers}`, 'say which with --layer')
}

/** The flags of the file alone: `--head-dim` is one of the pairs here, elsewhere one of generated inputs. */
function fileOf(flags: PairFlags): PairFlags {
  return Object.fromEntries(PAIR_NAMES.map(name => [name, flags[name]]))
}
