/** What the calls of an error sweep take, counted once for all cells that make the same ones. */
import type {CallShape} from '../../../attention/index.js'
import {givesRows, type MeteredBackend, plainSeconds} from '../../../attention/internal.js'
import type {BackendChoice} from '../../../backends/index.js'
import type {InputFacts} from '../../../inputs/input-facts.js'
import type {DrawGrid} from '../../axes.js'
import {callShape, drawsOf, type ForwardShape, type ResolvedMethod} from '../../method.js'
import {backendCost, timeCost} from '../../rates.js'
import {mostReplicates} from '../../until-ci.js'
import {replicatesTogether} from '../measure/batched-replicates.js'
import {ROW_DRAWS, sampleShape} from '../measure/row-sample.js'
import {exactPasses, tileKeys} from '../measure/row-tiles.js'
import type {ErrorSweepPlan} from '../schema.js'
import {judgingCost, projectingCost, rowMetricsCost, sampledRowsCost} from './host-cost.js'
import {sweepProcessBytes} from './memory.js'

/** What is known of one part at one length. */
export interface LengthFacts extends Omit<InputFacts, 'sizes'> {
  shape: ForwardShape
}

export interface Machine {
  backend: MeteredBackend
}

/** A method with its draws. */
interface Calling {
  method: ResolvedMethod
  draws: DrawGrid
}

/** What a cell takes in addition to its context. */
interface CallCost {
  /** Operations at the rate of the plan's backend that take as long. */
  cost: number
  /** Peak of its process. */
  bytes: number
}

/**
 * What cells take, for each number of features of their method. It depends on sizes, method and that number: it is counted
 * once for all scales and targets, and for parts of the same sizes that follow each other.
 */
export function callCosts(
  plan: ErrorSweepPlan,
  machine: Machine,
): (calling: Calling, facts: LengthFacts) => readonly CallCost[] {
  const rates = {...machine, choice: plan.backend}
  const known = new Map<ResolvedMethod, readonly CallCost[]>()
  let last: string | undefined
  return ({method, draws}, facts) => {
    const sizes = JSON.stringify(facts)
    if (sizes !== last) known.clear()
    last = sizes
    const {shape, ...loading} = facts
    const counted = (num_features: number | null): CallCost => {
      const {projectedWidth} = facts
      const call = callOf(plan, {method, shape, num_features, projectedWidth})
      const plain = timeCost(plainOf(call, machine), plan.backend)
      return {
        cost: flopsOf(call, rates) + plain,
        bytes: processBytes(call, {...machine, ...loading}),
      }
    }
    const costs = known.get(method) ?? draws.counts.map(counted)
    known.set(method, costs)
    return costs
  }
}

/** The calls of a cell. */
interface Call {
  method: ResolvedMethod
  shape: CallShape
  replicates: number
  together: number
  rowMetrics: boolean
  /** Queries with compared rows; 0: none. */
  sampled: number
  /** 0: there is no output projection. */
  projectedWidth: number
}

function callOf(
  {causal, row_metrics, row_queries = 0, ...plan}: ErrorSweepPlan,
  {
    method,
    shape,
    num_features,
    projectedWidth,
  }: {
    method: ResolvedMethod
    shape: ForwardShape
    num_features: number | null
    projectedWidth: number
  },
): Call {
  // with a wanted precision: at most this number
  const replicates = drawsOf(method, mostReplicates(plan))
  const cell = {num_features, causal, row_metrics, replicates}
  return {
    method,
    shape: callShape(shape, cell),
    replicates,
    together: replicatesTogether(cell, method, shape),
    rowMetrics: row_metrics,
    sampled: !row_metrics && givesRows(method.estimator, method.options) ? row_queries : 0,
    projectedWidth,
  }
}

/** Operations at the rate of a choice that take as long as all replicates of a cell. */
function flopsOf(
  {method, shape, replicates, rowMetrics, sampled, projectedWidth}: Call,
  {backend, choice}: {backend: MeteredBackend; choice: BackendChoice},
): number {
  const {estimator, options} = method
  const cost = (valueDim: number) => estimator.cost({...shape, valueDim}, options).flops
  const tile = tileKeys(shape)
  const implied = rowMetrics ? Math.ceil(shape.keyLen / tile) * cost(tile) : 0
  const passes = exactPasses(shape, replicates)
  const rows = rowMetrics ? rowMetricsCost(shape, {replicates, passes}, choice) : 0
  const drawn = sampled && estimator.cost(sampleShape(shape, sampled), options).flops
  const draws = Math.min(replicates, ROW_DRAWS)
  const sample = sampled ? sampledRowsCost(shape, {replicates: draws, queries: sampled}, choice) : 0
  // a column of ones among the values measures row sums
  const calls = (cost(shape.valueDim + 1) + implied) * replicates + drawn * draws
  const how = {replicates, backend, choice}
  const judging = judgingCost(shape, how) + projectingCost(shape, projectedWidth, how)
  return backendCost(calls, {backend, choice}) + rows + sample + judging
}

/** Seconds that all calls of a cell spend in plain JavaScript. */
function plainOf(
  {method, shape, replicates, together, rowMetrics, sampled}: Call,
  {backend}: Machine,
): number {
  const {estimator, options} = method
  const heads = together * shape.heads
  const seconds = (valueDim: number, of = shape) =>
    plainSeconds(estimator, options, {...of, heads, valueDim}, backend)
  const turned = sampled > 0 ? sampleShape(shape, sampled) : undefined
  const drawn = turned ? seconds(turned.valueDim, turned) : 0
  const draws = Math.min(replicates, ROW_DRAWS)
  const run =
    Math.ceil(replicates / together) * seconds(shape.valueDim + 1) +
    Math.ceil(draws / together) * drawn
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
