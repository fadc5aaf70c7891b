import {expected} from '../../errors.js'
import {type SwapPlan, swapPlan} from '../../experiments/swap/schema.js'
import type {ModelFacts} from '../../model/index.js'
import type {Grid} from '../flags/defaults.js'
import {defaultHelp, gridOf} from '../flags/defaults.js'
import {type FlagValues, oneNumber, oneText} from '../flags/kinds.js'
import {POSITIVE_INTEGER} from '../flags/ranges.js'
import {methodFlags, runFlags} from '../flags/shared.js'
import {type EstimatorFacts, toMethodSpecs} from './method-specs.js'
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
    methods: ['favor-pos', 'rfa', 'elu', 'mean-value', 'softmax-online'],
    projections: ['orth'],
    numFeatures: [64, 256, 1024],
    replicates: 5,
    texts: 200,
    maxTokens: 256,
  },
  quick: {
    methods: ['favor-pos', 'rfa', 'elu', 'mean-value'],
    projections: ['orth'],
    numFeatures: [64, 256],
    replicates: 3,
    texts: 40,
    maxTokens: 256,
  },
}

/** The flags of `rfa swap`. */
export const swapFlags = {
  model: oneText({
    helpGroup: 'MODEL',
    helpValue: 'DIR',
    description:
      'folder of a model as Hugging Face writes it (config.json, model.safetensors, tokenizer.json): BERT, GPT-2 or Llama (default: a character model of the package)',
  }),
  texts: oneText({
    helpGroup: 'MODEL',
    helpValue: 'FILE',
    description: 'texts that the model reads, one a line (default: some of the package)',
  }),
  'max-texts': oneNumber(POSITIVE_INTEGER)({
    helpGroup: 'MODEL',
    description: `first texts of the file to read ${defaultHelp(SWAP, grid => grid.texts)}`,
  }),
  'max-tokens': oneNumber(POSITIVE_INTEGER)({
    helpGroup: 'MODEL',
    description: `tokens at which a text is cut ${defaultHelp(SWAP, grid => grid.maxTokens)}`,
  }),
  layers: oneText({
    helpGroup: 'MODEL',
    helpValue: 'all|each|N,N',
    description:
      'layers in which attention is exchanged: all at once, each by itself, or those of these numbers at once (lists 0,3 and ranges 0..3) (default: all)',
  }),
  ...methodFlags(SWAP),
  replicates: oneNumber(POSITIVE_INTEGER)({
    helpGroup: 'GRID',
    description: `independent draws ${defaultHelp(SWAP, grid => grid.replicates)}`,
  }),
  ...runFlags,
}
export type SwapFlags = FlagValues<typeof swapFlags>

/** What is known of the files of a plan. */
export interface SwapFiles {
  facts: ModelFacts
  model: SwapPlan['model']
  texts: {path: string; digest: string; lines: number}
}

/** The plan of a swap. @throws {USAGE} when the flags make no plan */
export function toSwapPlan(
  flags: SwapFlags,
  {facts, model, texts}: SwapFiles,
  estimators: EstimatorFacts,
): SwapPlan {
  const grid = gridOf(SWAP, flags)
  const {lines, ...file} = texts
  const count = Math.min(flags['max-texts'] ?? grid.texts, lines)
  return checkedPlan(swapPlan, {
    experiment: 'swap',
    methods: toMethodSpecs(flags, grid.methods, estimators),
    ...drawAxesOf(flags, grid),
    layer_sets: layerSets(flags.layers ?? 'all', facts.layers),
    model,
    texts: {...file, count},
    max_tokens: Math.min(flags['max-tokens'] ?? grid.maxTokens, facts.maxTokens),
    causal: facts.causal,
    replicates: flags.replicates ?? grid.replicates,
    seed: flags.seed ?? 0,
    backend: flags.backend ?? 'auto',
  })
}

/** Sets of layers of a value of `--layers`. @throws {USAGE} for a layer that the model does not have */
export function layerSets(text: string, count: number): number[][] {
  const all = Array.from({length: count}, (_, layer) => layer)
  if (text.trim() === 'all') return [all]
  if (text.trim() === 'each') return all.map(layer => [layer])
  const wanted = text.split(',').flatMap(item => {
    const match = /^\s*(\d+)(?:\.\.(\d+))?\s*$/.exec(item)
    const [first, last] = match ? [Number(match[1]), Number(match[2] ?? match[1])] : [1, 0]
    if (!match || last < first || last >= count) {
      throw expected(
        'USAGE',
        '--layers',
        `all, each, or numbers from 0 to ${count - 1} (0,3 or 0..3)`,
        item,
      )
    }
    return all.slice(first, last + 1)
  })
  return [[...new Set(wanted)].sort((a, b) => a - b)]
}
