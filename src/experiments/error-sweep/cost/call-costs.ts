/** What the calls of an error sweep take, counted once for all cells that make the same ones. */
import type {CallShape} from '../../../attention/index.js'
import {type MeteredBackend, plainSeconds} from '../../../attention/internal.js'
import type {BackendChoice} from '../../../backends/index.js'
import type {InputFacts} from '../../../inputs/input-facts.js'
import type {DrawGrid} from '../../axes.js'
import {callShape, type ForwardShape, type ResolvedMethod} from '../../method.js'
import {byCount} from '../../process-memory.js'
import {backendCost} from '../../rates.js'
import {mostReplicates} from '../../until-ci.js'
import {replicatesTogether} from '../measure/batched-replicates.js'
import {exactPasses, tileKeys} from '../measure/row-tiles.js'
import type {ErrorSweepPlan} from '../schema.js'
import {curvesCost} from './curves-cost.js'
import {judgingCost, rowMetricsCost} from './host-cost.js'
import {sweepProcessBytes} from './memory.js'

/** What is known of one part at one length. */
export interface LengthFacts extends Omit<InputFacts, 'sizes'> {
  shape: ForwardShape
}

/** What cells run on. */
export interface Machine {
  backend: MeteredBackend
}

/** A method with its draws. */
interface Calling {
  method: ResolvedMethod
  draws: DrawGrid
}

/** What cells take beside their context, by their numbers of features. */
export interface CallCosts {
  flops: number[]
  /** Seconds in plain JavaScript. */
  plain: number[]
  /** Of the error that theory predicts, which cells have in common. */
  curves: number[]
  bytes: number[]
}

/**
 * What cells take depends on sizes, method and number of features: it is counted once for all scales and targets, and
 * for parts of the same sizes that follow each other.
 */
export class CallCostsByMethod {
  private sizes: string | undefined
  private readonly known = new Map<ResolvedMethod, CallCosts>()

  /** @param share - methods at all lengths */
  constructor(
    private readonly plan: ErrorSweepPlan,
    private readonly machine: Machine,
    private readonly share: number,
  ) {}

  /** Of each number of features of a block. */
  of({method, draws}: Calling, facts: LengthFacts): CallCosts {
    const sizes = JSON.stringify(facts)
    if (this.sizes !== sizes) this.known.clear()
    this.sizes = sizes
    const known = this.known.get(method)
    if (known) return known
    const costs = this.count(method, facts, draws.counts)
    this.known.set(method, costs)
    return costs
  }

  private count(
    method: ResolvedMethod,
    {shape, ...loading}: LengthFacts,
    counts: DrawGrid['counts'],
  ): CallCosts {
    const {plan, machine, share} = this
    const call = (num_features: number | null) => callOf(plan, {method, shape, num_features})
    const rates = {...machine, choice: plan.backend}
    return {
      curves: counts.map(count => curvesCost(count ?? 0, shape, rates)),
      flops: counts.map(count => flopsOf(call(count), rates)),
      plain: byCount(counts, share, count => plainOf(call(count), machine)),
      bytes: byCount(counts, share, count => processBytes(call(count), {...machine, ...loading})),
    }
  }
}

/** The calls of a cell. */
interface Call {
  method: ResolvedMethod
  shape: CallShape
  replicates: number
  together: number
  rowMetrics: boolean
}

function callOf(
  {causal, row_metrics, ...plan}: ErrorSweepPlan,
  {
    method,
    shape,
    num_features,
  }: {
    method: ResolvedMethod
    shape: ForwardShape
    num_features: number | null
  },
): Call {
  // with a wanted precision: at most so many
  const replicates = method.random ? mostReplicates(plan) : 1
  const cell = {num_features, causal, row_metrics, replicates}
  return {
    method,
    shape: callShape(shape, cell),
    replicates,
    together: replicatesTogether(cell, method, shape),
    rowMetrics: row_metrics,
  }
}

/** Operations at the rate of a choice that take as long as all replicates of a cell. */
function flopsOf(
  {method, shape, replicates, rowMetrics}: Call,
  {backend, choice}: {backend: MeteredBackend; choice: BackendChoice},
): number {
  const {estimator, options} = method
  const cost = (valueDim: number) => estimator.cost({...shape, valueDim}, options).flops
  const tile = tileKeys(shape)
  const implied = rowMetrics ? Math.ceil(shape.keyLen / tile) * cost(tile) : 0
  const passes = exactPasses(shape, replicates)
  const rows = rowMetrics ? rowMetricsCost(shape, {replicates, passes}, choice) : 0
  // a column of ones among the values measures row sums
  const calls = (cost(shape.valueDim + 1) + implied) * replicates
  const judging = judgingCost(shape, {replicates, backend, choice})
  return backendCost(calls, {backend, choice}) + rows + judging
}

/** Seconds that all calls of a cell spend in plain JavaScript. */
function plainOf(
  {method, shape, replicates, together, rowMetrics}: Call,
  {backend}: Machine,
): number {
  const {estimator, options} = method
  const heads = together * shape.heads
  const seconds = (valueDim: number) =>
    plainSeconds(estimator, options, {...shape, heads, valueDim}, backend)
  const run = Math.ceil(replicates / together) * seconds(shape.valueDim + 1)
  const tile = tileKeys(shape)
  const each = Math.ceil(shape.keyLen / tile)
  return run + (rowMetrics ? replicates * each * seconds(tile) : 0)
}

function processBytes(
  {method, shape, ...calls}: Call,
  {backend, loadingBytes: loading, masked}: Machine & Omit<LengthFacts, 'shape'>,
): number {
  return sweepProcessBytes({backend, method, shape}, {contexts: 0, loading, masked, ...calls})
}
