/** The runs behind an advice: errors on the input as it is and at smaller norms, then times. */

import type {MethodName} from '../attention/names.js'
import type {CausalAlign} from '../causal-view.js'
import {YARDSTICK} from '../experiments/averaging.js'
import {type MethodSpec, plainSpec} from '../experiments/axes.js'
import {BASELINES} from '../experiments/bench/fields/baselines.js'
import {type BenchPlan, benchPlan} from '../experiments/bench/schema.js'
import {
  type CompletedSweep,
  type ErrorSweepPlan,
  errorSweepPlan,
} from '../experiments/error-sweep/schema.js'
import type {InputSpec} from '../inputs/spec.js'
import type {AdviceMetric} from './candidates.js'
import type {Counted, Variant} from './times.js'

export interface AdviceRequest {
  input: InputSpec
  layers?: 'all' | number[] | undefined
  logitScale?: number | undefined
  causal: boolean
  /** Which tokens causal queries are where they are fewer than keys. */
  causalAlign?: CausalAlign | undefined
  metric: AdviceMetric
  tolerance: number
  budgetMs: number | null
  /** L to advise for; `null`: that of the file. */
  seqLen: number | null
  methods: readonly string[]
  /** One of the methods with learned parameters, a candidate of its own. Default: none */
  tuned?: MethodSpec | undefined
  numFeatures: readonly number[]
  effort: 'quick' | 'full'
  seed: number
  threads: number | null
}

/** What runs where flags leave it open. */
interface Effort {
  methods: readonly MethodName[]
  numFeatures: readonly number[]
  timing: BenchPlan['timing']
  /** Operations of one exact call that is timed, at most. */
  mostFlops: number
}

/**
 * The cheapest of each kind, and those that are the most accurate on heads of trained models: positive features in their
 * plain, paired, tuned and data-adapted forms, trigonometric ones (best at small norms), those of normalised tokens, LARA,
 * Nystroemformer and EVA, which know the input, and elu, which costs least and converges to something else. Averaging V is
 * always among them. `NOT_TRIED` has the reasons why others are not.
 */
export const ADVICE: Record<'standard' | 'quick', Effort> = {
  standard: {
    methods: [
      ...(['favor-pos', 'favor-hyp', 'favor-trig', 'oprf', 'saderf', 'sderf'] as const),
      ...(['rfa', 'lara', 'nystrom', 'eva', 'elu'] as const),
    ],
    numFeatures: [64, 256, 1024],
    timing: {processes: 3, warmup_runs: 2, min_runs: 6, max_runs: 50, min_time_ns: 1e8},
    mostFlops: 2e10,
  },
  quick: {
    methods: ['favor-pos', 'favor-hyp', 'favor-trig', 'sderf', 'rfa', 'elu'],
    numFeatures: [64, 256],
    timing: {processes: 2, warmup_runs: 1, min_runs: 6, max_runs: 30, min_time_ns: 5e7},
    mostFlops: 5e9,
  },
}

/** Draws of each error: with fewer, no interval of a paired ratio is narrow. */
const REPLICATES = 10
/** Factors on queries and keys that are tried where nothing qualifies as they are. */
const SMALLER_NORMS = [0.5, 0.25]
/** M of errors at smaller norms, at most, but for the smallest that was asked for. */
const NORMS_FEATURES = 256

/** Most bytes of logits that an exact form may hold at once. */
const MOST_LOGITS = 2 ** 29

function effortOf({effort}: Pick<AdviceRequest, 'effort'>): Effort {
  return effort === 'quick' ? ADVICE.quick : ADVICE.standard
}

/** The same with `--quick`: what was typed stays. */
export function asQuick(request: AdviceRequest): AdviceRequest {
  const {standard, quick} = ADVICE
  const {methods, numFeatures} = request
  return {
    ...request,
    effort: 'quick',
    methods: methods.join() === standard.methods.join() ? quick.methods : methods,
    numFeatures:
      numFeatures.join() === standard.numFeatures.join() ? quick.numFeatures : numFeatures,
  }
}

/** Whether candidates are the default ones. */
export function isDefault(request: Pick<AdviceRequest, 'effort' | 'methods'>): boolean {
  return effortOf(request).methods.join() === request.methods.join()
}

/** Errors of all heads and rows of the file against its exact attention. */
export function sweepPlanOf(request: AdviceRequest): ErrorSweepPlan {
  return errorPlan(request, [1], request.numFeatures)
}

/** The same with queries and keys of smaller norms, at one M; what is learned is learned for the norms as they are. */
export function normsPlanOf(request: AdviceRequest): ErrorSweepPlan {
  const {numFeatures} = request
  const small = numFeatures.filter(count => count <= NORMS_FEATURES)
  const one = small.length > 0 ? Math.max(...small) : Math.min(...numFeatures)
  return errorPlan({...request, tuned: undefined}, SMALLER_NORMS, [one])
}

function errorPlan(
  request: AdviceRequest,
  scales: number[],
  numFeatures: readonly number[],
): ErrorSweepPlan {
  const {input, layers, logitScale, causal, causalAlign, methods, tuned, seed} = request
  return errorSweepPlan.parse({
    experiment: 'error-sweep',
    input,
    ...(layers && {layers}),
    methods: [...new Set([...methods, YARDSTICK])].map(plainSpec).concat(tuned ?? []),
    projections: ['orth'],
    num_features: [...numFeatures],
    seq_lens: null,
    scales,
    ...(logitScale !== undefined && {logit_scale: logitScale}),
    targets: ['raw'],
    replicates: REPLICATES,
    causal,
    ...(causalAlign && {causal_align: causalAlign}),
    row_metrics: false,
    predictions: true,
    seed,
    backend: 'auto',
  })
}

/** Sizes of a layer, and whether its errors were measured causally. */
export type LayerShape = Pick<
  CompletedSweep['result'],
  'batch' | 'heads' | 'head_dim' | 'value_dim' | 'query_len' | 'key_len'
> &
  Pick<CompletedSweep['cell'], 'causal'>

/** Lengths to time: the file's and the one asked for, as far as they are affordable, and another one where that is one. */
export function timedLengths(
  {query_len, ...shape}: Omit<LayerShape, 'causal' | 'key_len'>,
  request: Pick<AdviceRequest, 'effort' | 'seqLen'>,
): number[] {
  const most = longestTimed(shape, request)
  const wanted = [query_len, request.seqLen ?? query_len].map(length => Math.min(length, most))
  const lengths = [...new Set(wanted)].sort((a, b) => a - b)
  const [only] = lengths
  if (lengths.length > 1 || only === undefined) return lengths
  return 4 * only <= most ? [only, 4 * only] : [Math.max(1, Math.floor(only / 4)), only]
}

function longestTimed(
  {batch, heads, head_dim, value_dim}: Omit<LayerShape, 'query_len' | 'key_len' | 'causal'>,
  request: Pick<AdviceRequest, 'effort'>,
): number {
  const {mostFlops} = effortOf(request)
  const perPair = 2 * batch * heads * (head_dim + value_dim)
  const byTime = Math.sqrt(mostFlops / perPair)
  const byMemory = Math.sqrt(MOST_LOGITS / (4 * batch * heads))
  return Math.max(1, 2 ** Math.floor(Math.log2(Math.min(byTime, byMemory))))
}

/**
 * Times of both exact forms and of the candidates. M with which every method does more operations than exact attention at the
 * longest length are not timed, but for the smallest: times of those are predicted.
 */
export function benchPlanFor(
  request: Pick<AdviceRequest, 'effort' | 'seqLen' | 'seed' | 'threads'>,
  shape: LayerShape,
  variants: readonly Variant[],
  counted: Counted,
): BenchPlan {
  const lengths = timedLengths(shape, request)
  const longest = lengths.at(-1)!
  const exact: Variant = {...variants[0]!, method: BASELINES[0]!, options: {}, num_features: null}
  const most = counted.flops(exact, longest)
  const sized = variants.filter(({num_features}) => num_features !== null)
  const counts = [...new Set(sized.map(({num_features}) => num_features!))].sort((a, b) => a - b)
  const kept = counts.filter(count =>
    sized.some(one => one.num_features === count && counted.flops(one, longest) <= most),
  )
  const methods = [...new Set(variants.map(({method}) => method))]
  const {batch, heads, head_dim, value_dim, causal} = shape
  const {seed, threads} = request
  return benchPlan.parse({
    experiment: 'bench',
    methods: [...new Set([...BASELINES, ...methods])].map(plainSpec),
    projections: ['orth'],
    num_features: kept.length > 0 ? kept : [counts[0] ?? 64],
    redraw: 'fixed',
    seq_lens: lengths,
    ...{batch, heads, head_dim, value_dim, causal, seed, threads},
    timing: effortOf(request).timing,
    order: 'random',
    backend: 'auto',
  })
}
