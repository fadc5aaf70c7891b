import {expected} from '../../errors.js'
import {YARDSTICK} from '../../experiments/averaging.js'
import {type MethodSpec, plainSpec} from '../../experiments/axes.js'
import {type SwapPlan, swapPlan} from '../../experiments/swap/schema.js'
import {ENGINES} from '../../model/engine-names.js'
import type {ModelFacts} from '../../model/index.js'
import type {TunedFile} from '../../tuned/index.js'
import {assertTunedFits} from '../../tuned/index.js'
import type {Grid} from '../flags/defaults.js'
import {defaultHelp, gridOf} from '../flags/defaults.js'
import {
  eitherWay,
  type FlagValues,
  inGroup,
  oneLoss,
  oneName,
  oneNumber,
  oneText,
} from '../flags/kinds.js'
import {POSITIVE_INTEGER} from '../flags/ranges.js'
import {methodFlags, parametersFlag, runFlags} from '../flags/shared.js'
import {type EstimatorFacts, toMethodSpecs} from './method-specs.js'
import {withTuned, withTunedDraws} from './tuned.js'
import {checkedPlan, drawAxesOf} from './values.js'

/** How often it draws, and how much it reads. */
interface SwapGrid extends Grid {
  replicates: number
  texts: number
  maxTokens: number
}

/** Quick: seconds on the packaged model. */
const SWAP: Record<'standard' | 'quick', SwapGrid> = {
  standard: {
    methods: ['favor-pos', 'rfa', 'elu'],
    projections: ['orth'],
    numFeatures: [64, 256, 1024],
    replicates: 5,
    texts: 200,
    maxTokens: 256,
  },
  quick: {
    methods: ['favor-pos', 'rfa', 'elu'],
    projections: ['orth'],
    numFeatures: [64, 256],
    replicates: 3,
    texts: 40,
    maxTokens: 256,
  },
}

/** What every other method is held against: averaging V, and exact attention with its queries rounded once more. */
const YARDSTICKS = [YARDSTICK, 'softmax']

/** What PyTorch may compute on. */
const DEVICES = ['cpu', 'cuda', 'mps', 'auto'] as const

export const swapFlags = {
  ...inGroup('MODEL', {
    model: oneText(
      'folder of a model as Hugging Face writes it (config.json, model.safetensors, tokenizer.json), or its name on the Hub if the cache has it (default: charlm, a character model of the package)',
      {helpValue: 'DIR'},
    ),
    original: oneText(
      'model that losses are measured against, where --model has changed weights, as rfa.torch.distil writes them (default: --model with its own attention)',
      {helpValue: 'DIR'},
    ),
    engine: oneName({engines: ENGINES})(
      'what runs the model: native (this program: BERT, RoBERTa, DistilBERT, GPT-2, Llama, Mistral and Qwen), transformers (PyTorch and Transformers in Python, that of RFA_PYTHON: every model with their attention interface), or auto (native where it can, default)',
    ),
    device: oneName({devices: DEVICES})(
      'what PyTorch computes on, where Transformers runs the model: cpu, cuda, mps, or auto, a graphics processor where there is one (default: cpu)',
    ),
    texts: oneText(
      'texts that the model reads: a file with a text on each line, or a folder of .txt files with one in each (default: some of the package)',
      {helpValue: 'PATH'},
    ),
    inputs: oneText(
      'arrays that a model of Transformers reads in place of texts, by the names of its arguments, with an item a row: pixel_values of a vision model, input_features or input_values of a speech model, input_ids and attention_mask',
      {helpValue: 'FILE.npz', exclusive: ['texts', 'max-tokens']},
    ),
    'max-texts': oneNumber(POSITIVE_INTEGER)(
      `first texts to read ${defaultHelp(SWAP, grid => grid.texts)}`,
    ),
    'max-tokens': oneNumber(POSITIVE_INTEGER)(
      `tokens at which a text is cut ${defaultHelp(SWAP, grid => grid.maxTokens)}`,
    ),
    layers: oneText(
      'layers in which attention is exchanged: all at once, each by itself, or some at once: lists 0,3, ranges 0..3, first:2, last:2 (default: all)',
      {helpValue: 'all|each|N,N'},
    ),
    budget: oneLoss(
      'for each method, search the largest set of these layers that loses at most this: nats per token of a causal model, 1 - cosine of an encoder (0.05 keeps a cosine of 0.95); the upper end of the 95 % interval decides',
    ),
  }),
  ...methodFlags(SWAP),
  ...inGroup('GRID', {
    parameters: parametersFlag(
      'its method runs with and without them, by default in the layers that the file has',
    ),
    tuned: oneText(
      'the same as --parameters, but by default with the method, projection and M of the file alone: shows what learned parameters repair',
      {helpValue: 'FILE', exclusive: ['parameters']},
    ),
    yardsticks: eitherWay(
      'run averaging V (mean-value) and exact attention with its queries rounded once more (softmax: what float32 rounding alone does), too (default: yes)',
    ),
    replicates: oneNumber(POSITIVE_INTEGER)(
      `independent draws ${defaultHelp(SWAP, grid => grid.replicates)}`,
    ),
  }),
  ...runFlags,
}
export type SwapFlags = FlagValues<typeof swapFlags>

/** What is known of the files of a plan. */
export interface SwapFiles {
  facts: Omit<ModelFacts, 'kind' | 'window'>
  model: SwapPlan['model']
  /** What losses are measured against, where it is another one. */
  original?: SwapPlan['model']
  texts: {path: string; digest: string; lines: number; format?: 'npz'}
  /** Of each text; of arrays none. */
  letters: readonly number[]
  /** What runs the model; absent: the program. */
  engine?: SwapPlan['engine']
  /** Absent: the processor. */
  device?: SwapPlan['device']
}

/** How much is read, as flags say it. */
export type TokenFlags = Partial<Pick<SwapFlags, 'max-texts' | 'max-tokens' | 'quick'>>

/** How many texts are read, and where they are cut. @param lines - how many there are */
export function readOf(flags: TokenFlags, lines: number, {maxTokens}: {maxTokens: number}) {
  const grid = SWAP[flags.quick ? 'quick' : 'standard']
  return {
    count: Math.min(flags['max-texts'] ?? grid.texts, lines),
    maxTokens: Math.min(flags['max-tokens'] ?? grid.maxTokens, maxTokens),
  }
}

/**
 * The plan of a swap.
 *
 * @param tuned - learned parameters. Default: none
 * @throws {USAGE} when the flags make no plan
 * @throws {ARRAY_MISSING | SHAPE_MISMATCH} for parameters of another model
 */
export function toSwapPlan(
  flags: SwapFlags,
  {facts, model, original, texts, engine, device}: Omit<SwapFiles, 'letters'>,
  estimators: EstimatorFacts,
  tuned?: TunedFile,
): SwapPlan {
  const isAlone = flags.tuned !== undefined
  const grid = withTunedDraws(gridOf(SWAP, flags), tuned, isAlone)
  const layer_sets = layerSets(candidates(flags) ?? layersOf(tuned), facts.layers)
  for (const layer of tuned ? layer_sets.flat() : []) assertTunedFits(tuned!, layer, facts)
  const {lines, ...file} = texts
  const {count, maxTokens} = readOf(flags, lines, facts)
  const defaults = tuned && isAlone ? [tuned.method] : grid.methods
  const methods = withTuned(toMethodSpecs(flags, defaults, estimators), tuned)
  return checkedPlan(swapPlan, {
    experiment: 'swap',
    methods: (flags.yardsticks ?? true) ? withYardsticks(methods) : methods,
    ...drawAxesOf(flags, grid),
    layer_sets,
    model,
    ...(original && {original}),
    texts: {...file, count},
    max_tokens: maxTokens,
    causal: facts.causal,
    ...(flags.budget !== undefined && {budget: flags.budget}),
    replicates: flags.replicates ?? grid.replicates,
    seed: flags.seed ?? 0,
    backend: flags.backend ?? 'auto',
    ...(engine && {engine}),
    ...(device && {device}),
  })
}

/** Layers where none are named: those with learned parameters. */
function layersOf(tuned: TunedFile | undefined): string {
  const numbers = tuned?.layers.flatMap(({layer}) => layer ?? []) ?? []
  return numbers.length > 0 ? numbers.join() : 'all'
}

/** Methods with those yardsticks that are not among them, in any variant. */
function withYardsticks(methods: readonly MethodSpec[]): MethodSpec[] {
  const others = YARDSTICKS.filter(name => methods.every(({method}) => method !== name))
  return [...methods, ...others.map(plainSpec)]
}

/** The layers that a search chooses from are one set. @throws {USAGE} for several */
function candidates({layers, budget}: SwapFlags): string | undefined {
  if (budget === undefined || layers?.trim() !== 'each') return layers
  const what = 'all, or the layers to choose from, with --budget'
  const remedy = 'leave it out: a search runs layers by themselves where all together lose too much'
  throw expected('USAGE', '--layers', what, layers, remedy)
}

/** Sets of layers of a value of `--layers`. @throws {USAGE} for a layer that the model does not have */
export function layerSets(text: string, count: number): number[][] {
  const all = Array.from({length: count}, (_, layer) => layer)
  if (text.trim() === 'all') return [all]
  if (text.trim() === 'each') return all.map(layer => [layer])
  const wanted = text.split(',').flatMap(item => {
    const found = someLayers(item.trim(), all)
    if (found.length > 0) return found
    const what = `all, each, numbers from 0 to ${count - 1} (0,3 or 0..3), or first:N or last:N with N from 1 to ${count}`
    throw expected('USAGE', '--layers', what, item)
  })
  return [[...new Set(wanted)].sort((a, b) => a - b)]
}

/** Layers of an item: `3`, `0..3`, `first:2` or `last:2`; none for any that is not there. */
function someLayers(item: string, all: readonly number[]): number[] {
  const [, end, many] = /^(first|last):(\d+)$/.exec(item) ?? []
  if (many !== undefined) {
    const wanted = Number(many) <= all.length ? Number(many) : 0
    return end === 'first' ? all.slice(0, wanted) : all.slice(all.length - wanted)
  }
  const [, first, last = first] = /^(\d+)(?:\.\.(\d+))?$/.exec(item) ?? []
  return Number(last) < all.length ? all.slice(Number(first), Number(last) + 1) : []
}
