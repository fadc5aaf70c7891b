/** Plans of claims: what most of them have in common. */
import type {ProjectionName} from '../attention/names.js'
import {plainSpec} from '../experiments/axes.js'
import {type BenchPlan, benchPlan} from '../experiments/bench/schema.js'
import {type ErrorSweepPlan, errorSweepPlan} from '../experiments/error-sweep/schema.js'
import {modelDigest} from '../experiments/model-digest.js'
import {type SwapPlan, swapPlan} from '../experiments/swap/schema.js'
import {type VariancePlan, variancePlan} from '../experiments/variance/schema.js'
import {packagedFile} from '../inputs/packaged.js'
import {readTexts} from '../inputs/texts.js'
import {openModel} from '../model/index.js'
import type {PlanRequest} from './claim.js'

type VarianceAxes = Omit<VariancePlan, 'experiment' | 'methods' | 'orth_sign' | 'backend'> & {
  methods: readonly string[]
}

export function variancePlanOf({methods, ...axes}: VarianceAxes): VariancePlan {
  return variancePlan.parse({
    experiment: 'variance',
    methods: methods.map(plainSpec),
    ...axes,
    backend: 'auto',
  })
}

interface SweepMethod {
  method: string
  preset?: 'exact' | 'hku'
  options?: Record<string, number>
}

interface SweepAxes {
  generator: 'gaussian' | 'ar1' | 'grid2d'
  heads: number
  headDim: number
  length: number
  /** With the options that are not at their defaults; preset: default `exact`. */
  methods: readonly SweepMethod[]
  projections: ProjectionName[]
  numFeatures: readonly number[]
  scales: readonly number[]
  replicates: number
  seed: number
}

/** An error sweep over one sequence of generated inputs, against exact attention. */
export function sweepPlanOf(axes: SweepAxes): ErrorSweepPlan {
  const {generator: name, heads, headDim, length, methods, numFeatures, scales, ...rest} = axes
  return errorSweepPlan.parse({
    experiment: 'error-sweep',
    input: {
      kind: 'generator',
      name,
      batch: 1,
      heads,
      head_dim: headDim,
      value_dim: headDim,
      key_len: null,
    },
    methods: sweepMethods(methods),
    num_features: [...numFeatures],
    seq_lens: [length],
    scales: [...scales],
    targets: ['raw'],
    causal: false,
    row_metrics: false,
    backend: 'auto',
    ...rest,
  })
}

function sweepMethods(methods: readonly SweepMethod[]) {
  return methods.map(({method, preset = 'exact', options = {}}) => ({method, preset, options}))
}

interface LayerAxes extends Pick<SweepAxes, 'methods' | 'projections' | 'replicates' | 'seed'> {
  numFeatures: readonly number[]
  targets: readonly ('raw' | 'matched')[]
}

/** An error sweep over a packaged layer of a trained character model, seen in both directions. */
export function layerPlanOf(
  layer: 'charlm-layer0' | 'charlm-layer3',
  {methods, numFeatures, ...axes}: LayerAxes,
): ErrorSweepPlan {
  return errorSweepPlan.parse({
    experiment: 'error-sweep',
    input: {
      kind: 'file',
      paths: [packagedFile(`${layer}.safetensors`)],
      names: {query: 'q', key: 'k', value: 'v'},
    },
    methods: sweepMethods(methods),
    num_features: [...numFeatures],
    seq_lens: null,
    scales: [1],
    causal: false,
    row_metrics: false,
    backend: 'auto',
    ...axes,
  })
}

/** Random features, LARA and RA with each of some numbers of samples, on two heads of 64 and an image of 14 x 14 patches. */
export function samplingPlanOf({
  samples,
  ...axes
}: Pick<SweepAxes, 'generator' | 'numFeatures' | 'replicates' | 'seed'> & {
  samples: readonly number[]
}): ErrorSweepPlan {
  const ra = samples.map(count => ({method: 'ra', options: {samples: count}}))
  return sweepPlanOf({
    ...{heads: 2, headDim: 64, length: 196, projections: ['iid'], scales: [1]},
    methods: [{method: 'favor-pos'}, {method: 'lara'}, ...ra],
    ...axes,
  })
}

/** Heads of 64. One thread takes them one by one: fewer heads give more timed runs in the same time. */
const HEADS = {quick: 2, full: 8}

/** Runs of one cell in a benchmark: enough for the interval of a median to rest on ranks, not on the extremes. */
const TIMING = {
  quick: {processes: 3, warmup_runs: 5, min_runs: 16, max_runs: 300, min_time_ns: 0.2e9},
  full: {processes: 5, warmup_runs: 5, min_runs: 25, max_runs: 1000, min_time_ns: 2e9},
}

interface BenchAxes {
  methods: readonly string[]
  numFeatures: readonly number[]
  lengths: readonly number[]
}

/** A benchmark of forward passes on one thread, cells in random order. */
export function benchPlanOf(
  {methods, numFeatures, lengths}: BenchAxes,
  {effort, seed}: PlanRequest,
): BenchPlan {
  return benchPlan.parse({
    experiment: 'bench',
    methods: methods.map(plainSpec),
    projections: ['orth'],
    num_features: [...numFeatures],
    redraw: 'fixed',
    seq_lens: [...lengths],
    batch: 1,
    heads: HEADS[effort],
    head_dim: 64,
    value_dim: 64,
    causal: false,
    timing: TIMING[effort],
    order: 'random',
    seed,
    backend: 'auto',
    threads: 1,
  })
}

/** Lengths of the claims about growth. */
const LENGTHS = {quick: [512, 1024, 2048], full: [512, 1024, 2048, 4096, 8192]}

/** Time and memory over length: exact forms and linear ones, one run for all claims about growth. */
export function lengthsRun(request: PlanRequest): Record<string, BenchPlan> {
  const methods = ['softmax-online', 'favor-pos', 'rfa', 'elu']
  const axes = {methods, numFeatures: [64], lengths: LENGTHS[request.effort]}
  return {lengths: benchPlanOf(axes, request)}
}

/** Lengths of an image of 28 x 28 patches and of longer ones, where the costs of a call do not count. */
const PATCHES = {quick: [784], full: [784, 1568, 3136]}

/** Methods that sample, with the exact form and the method that they extend, at the same number of samples as features. */
export function samplersRun(request: PlanRequest): Record<string, BenchPlan> {
  const methods = ['softmax-online', 'ra', 'lara', 'favor-pos']
  const lengths = PATCHES[request.effort]
  const plan = benchPlanOf({methods, numFeatures: [49], lengths}, request)
  const timing = {...plan.timing, min_runs: Math.max(24, plan.timing.min_runs)}
  return {samplers: {...plan, timing}}
}

/** The run of all claims about a whole model: its attention exchanged in all layers at once, and in each by itself. */
export const CHARLM_RUN = 'charlm-swap'
/** The same of the sentence encoder, where that is installed. */
export const MINILM_RUN = 'minilm-swap'

/** Methods of the full runs. */
const SWAPPED = ['favor-pos', 'favor-hyp', 'oprf', 'rfa', 'elu', 'cosformer', 'mean-value']

/** What is exchanged, on how much text. */
const SWAPS = {
  quick: {
    methods: ['favor-pos', 'favor-hyp', 'rfa', 'elu', 'cosformer', 'mean-value'],
    numFeatures: [64],
    ...{replicates: 6, texts: 40, maxTokens: 64},
  },
  full: {methods: SWAPPED, numFeatures: [64, 256], ...{replicates: 10, texts: 120, maxTokens: 128}},
}
/** Of the encoder, which is 60 times as large. */
const ENCODER_SWAP = {
  methods: SWAPPED,
  numFeatures: [64, 256],
  ...{replicates: 5, texts: 40, maxTokens: 64},
}

/** A swap of the packaged character model. */
export async function charlmRun({effort, seed}: PlanRequest): Promise<Record<string, SwapPlan>> {
  return {[CHARLM_RUN]: await swapPlanOf(packagedFile('charlm'), SWAPS[effort], seed)}
}

/** The same, and a swap of all-MiniLM-L6-v2 where that is installed and there is time for it. */
export async function modelRuns(request: PlanRequest): Promise<Record<string, SwapPlan>> {
  const {effort, seed, minilm} = request
  const folder = effort === 'full' ? await minilm?.() : null
  return {
    ...(await charlmRun(request)),
    ...(folder && {[MINILM_RUN]: await swapPlanOf(folder, ENCODER_SWAP, seed)}),
  }
}

/** A swap of all layers at once and of each by itself, on the packaged texts. */
async function swapPlanOf(
  folder: string,
  {methods, numFeatures, replicates, texts, maxTokens}: (typeof SWAPS)['full'],
  seed: number,
): Promise<SwapPlan> {
  const path = packagedFile('charlm/texts.txt')
  const {facts} = await openModel(folder)
  const {digest} = await readTexts(path)
  const layers = Array.from({length: facts.layers}, (_, layer) => layer)
  return swapPlan.parse({
    experiment: 'swap',
    methods: methods.map(plainSpec),
    projections: ['orth'],
    num_features: numFeatures,
    layer_sets: [layers, ...layers.map(layer => [layer])],
    model: {folder, digest: await modelDigest(folder)},
    texts: {path, digest, count: texts},
    max_tokens: maxTokens,
    causal: facts.causal,
    ...{replicates, seed},
    backend: 'auto',
  })
}
