/** What `rfa tune --model` learns on, and what it judges. */
import {expected} from '../../errors.js'
import {inGroup, oneNumber, oneText, toggle} from '../flags/kinds.js'
import {POSITIVE_INTEGER} from '../flags/ranges.js'
import {layerSets, swapFlags} from './swap.js'

/** Texts that are read, a third of them to judge on, and tokens at which they are cut. */
const MODEL_TUNE = {standard: {texts: 90, maxTokens: 128}, quick: {texts: 45, maxTokens: 64}}

/** Texts that are read at least: fewer have no interval of what the model loses, or nothing that decides when to stop. */
const LEAST_TEXTS = 6

/** M of the method untuned over M of what is learned: a row to hold learning against. */
export const MORE_FEATURES = 16

/** Flags of `rfa tune` that a model answers, and what is of a single run. */
const NOT_WITH_MODEL = [
  ...['input', 'layer', 'query-name', 'key-name', 'value-name', 'key-mask-name', 'layout'],
  ...['scale', 'causal', 'causal-align', 'shard', 'dry-run', 'plugin', 'format', 'profile'],
] as const

const {standard, quick} = MODEL_TUNE

export const modelTuneFlags = inGroup('MODEL', {
  model: oneText(
    'folder of a model as Hugging Face writes it: learns every layer, then runs the model on other texts with what was learned and without',
    {helpValue: 'DIR'},
  ),
  engine: swapFlags.engine,
  device: swapFlags.device,
  texts: swapFlags.texts,
  'max-texts': oneNumber(POSITIVE_INTEGER)(
    `first texts to read, a third of them to judge on (default: ${standard.texts}; quick: ${quick.texts})`,
  ),
  'max-tokens': oneNumber(POSITIVE_INTEGER)(
    `tokens at which a text is cut (default: ${standard.maxTokens}; quick: ${quick.maxTokens})`,
  ),
  layers: oneText('layers that learn: lists 0,3, ranges 0..3, first:2, last:2 (default: all)', {
    helpValue: 'all|N,N',
  }),
  sequential: toggle(
    'each layer learns with the layers before it exchanged by what they learned, from exact attention of the model as it is (default: each layer by itself)',
  ),
  budget: swapFlags.budget,
})

/** Flags of `--model` that say nothing without it. */
const OF_MODEL = [
  ...['engine', 'device', 'texts', 'max-texts', 'max-tokens', 'layers', 'sequential', 'budget'],
] as const

/** @throws {USAGE} for a flag of a model where there is none */
export function refuseModelFlags(flags: Partial<Record<(typeof OF_MODEL)[number], unknown>>): void {
  const given = OF_MODEL.find(name => flags[name] !== undefined && flags[name] !== false)
  if (given === undefined) return
  throw expected('USAGE', `--${given}`, '--model with it', 'none', 'name a folder: --model DIR')
}

/** Layers that learn. @throws {USAGE} for several sets, or a layer that the model does not have */
export function learnedLayers(
  {layers = 'all'}: {layers?: string | undefined},
  count: number,
): number[] {
  const [own, another] = layerSets(layers, count)
  if (another === undefined) return own!
  throw expected('USAGE', '--layers', 'all or some layers', layers, 'all learns each by itself')
}

/** Flags that say how much is read, and those that say nothing next to a model. */
interface SizeFlags extends Partial<Record<(typeof NOT_WITH_MODEL)[number], unknown>> {
  quick: boolean
  'max-texts'?: number | undefined
  'max-tokens'?: number | undefined
}

/** How many texts are read, and where they are cut. @throws {USAGE} for a flag that does not go with `--model` */
export function textSizes(flags: SizeFlags): {texts: number; maxTokens: number} {
  const isTyped = (name: (typeof NOT_WITH_MODEL)[number]) =>
    flags[name] !== undefined && (name === 'causal' || flags[name] !== false)
  const given = NOT_WITH_MODEL.find(isTyped)
  if (given !== undefined) {
    throw expected('USAGE', `--${given}`, 'none with --model', 'both', 'leave one of them out')
  }
  const {texts, maxTokens} = flags.quick ? quick : standard
  return {texts: flags['max-texts'] ?? texts, maxTokens: flags['max-tokens'] ?? maxTokens}
}

/** A text with its tokens, as the model reads them. */
export interface CutText {
  text: string
  ids: readonly number[]
}

/**
 * Different texts in two parts: a third, evenly spread, judges what was learned on the others. Texts that are cut to the same tokens
 * are one.
 *
 * @param path - where they come from
 * @throws {BAD_FILE} for fewer than six
 */
export function splitTexts(
  texts: readonly CutText[],
  path: string,
): {learned: string[]; judged: string[]} {
  const different = new Map<string, string>()
  for (const {text, ids} of texts) {
    const key = ids.join()
    if (!different.has(key)) different.set(key, text)
  }
  const own = [...different.values()]
  if (own.length < LEAST_TEXTS) {
    const what = `${LEAST_TEXTS} different texts or more, to learn on, to stop on and to judge on`
    const remedies = ['add texts, or raise --max-texts', 'or --max-tokens, where texts begin alike']
    throw expected('BAD_FILE', path, what, String(own.length), ...remedies)
  }
  return {learned: own.filter((_, at) => at % 3 !== 2), judged: own.filter((_, at) => at % 3 === 2)}
}
