/** Resident memory of the process of a sweep's cell, predicted from what it holds: arrays on the host, and tensors. */
import {footprint, type MeteredBackend} from '../../../attention/internal.js'
import type {ForwardShape} from '../../method.js'
import {
  counts,
  type ProcessOfCell,
  runtimeBytes,
  UNCOLLECTED,
  uncollected,
} from '../../process-memory.js'
import {momentBytes} from '../measure/moments.js'
import {projectionBytes} from '../measure/projected.js'
import {sampleBytes, sampledRows, sampleShape} from '../measure/row-sample.js'
import {rowMetricBytes, tileKeys} from '../measure/row-tiles.js'

const FLOAT = 4
const DOUBLE = 8

/** Arrays of one context of a sweep: the input with scaled queries and keys, and the exact output. */
export function contextBytes(shape: ForwardShape, scale: number): {input: number; truth: number} {
  const {queries, keys, values, outputs} = counts(shape)
  const copies = scale === 1 ? 1 : 2
  return {input: FLOAT * (copies * (queries + keys) + values), truth: DOUBLE * outputs}
}

/**
 * What the exact output takes in addition to its context: queries and keys of one head in double precision, and on
 * `native` its keys and values as the loop packs them.
 */
function truthBytes(backend: MeteredBackend, shape: ForwardShape): number {
  const {queries, keys, values} = counts({...shape, batch: 1, heads: 1})
  return DOUBLE * (queries + keys + (backend === 'native' ? keys + values : 0))
}

/** What a cell of a sweep does in addition to its call. */
export interface SweepCalls {
  /** Bytes of the contexts that its process keeps, its own among them. */
  contexts: number
  /** Bytes that loading the input takes at its peak. */
  loading: number
  /** There is a key mask: what it leaves is copied out of the input for the exact output, and out of each output. */
  masked: boolean
  replicates: number
  /** How many of them make one call. */
  together: number
  rowMetrics: boolean
  /** Queries with compared rows; 0: none. */
  sampled: number
  /** Columns of the output projection; 0: there is none. */
  projectedWidth: number
}

export function sweepProcessBytes(
  {backend, method, shape}: ProcessOfCell,
  {
    contexts,
    loading,
    masked,
    replicates,
    together,
    rowMetrics,
    sampled,
    projectedWidth: width,
  }: SweepCalls,
): number {
  const {queries, keys, values, outputs} = counts(shape)
  const heads = together * shape.heads
  const {estimator, options} = method
  const call = (valueDim: number) =>
    footprint(estimator, options, {...shape, heads, valueDim}, backend)
  const perValue = (shape.valueDim + 1) / shape.valueDim
  const widened = together * outputs * perValue
  const run = call(shape.valueDim + 1)
  const tile = rowMetrics ? tileKeys(shape) : 0
  const identity = FLOAT * shape.batch * shape.heads * shape.keyLen * tile
  const rows = rowMetrics ? identity + call(tile) : 0
  const drawn = sampled > 0 ? sampleFootprint({backend, method, shape}, {together, sampled}) : 0
  const estimated = shape.batch * shape.heads * shape.queryLen * tile
  const tokens = shape.batch * shape.queryLen
  const entries = shape.heads * shape.valueDim
  const projecting = width && projectionBytes({tokens, entries, width}, replicates)
  const host =
    momentBytes(outputs, replicates) +
    (rowMetrics ? rowMetricBytes(shape, replicates) : 0) +
    (sampled > 0 ? sampleBytes(shape, sampled) : 0) +
    projecting
  // queries and keys of a single replicate are the context's own where the backend computes on the host
  const copied = together > 1 || backend === 'wasm' ? queries + keys : 0
  const tensors = FLOAT * together * (values * perValue + copied)
  const made = run + rows + drawn + FLOAT * widened
  const read = FLOAT * (backend === 'wasm' ? widened + estimated : 0)
  const calls = Math.ceil(replicates / together)
  const takenOut = masked ? FLOAT * (widened + estimated) : 0
  const judging =
    host +
    tensors +
    Math.max(run + drawn, rows) +
    takenOut +
    uncollected(backend, {made, read}, calls)
  // of what was read, only the input itself stays
  const passing = Math.max(0, loading - FLOAT * (queries + keys + values))
  const inView = masked ? FLOAT * (queries + keys + values) : 0
  const truth = truthBytes(backend, shape) + inView
  const working = Math.max(judging, truth) + Math.min(passing, UNCOLLECTED)
  return runtimeBytes(backend) + contexts + Math.max(working, passing)
}

/** Tensors on the way to the weights of sampled queries: those of the call that takes as much, and the weights with a few copies. */
function sampleFootprint(
  {backend, method, shape}: ProcessOfCell,
  {together, sampled}: {together: number; sampled: number},
): number {
  const {estimator, options} = method
  const heads = together * shape.heads
  const weights = together * sampledRows(shape, sampled) * shape.keyLen
  return (
    footprint(estimator, options, {...sampleShape(shape, sampled), heads}, backend) +
    WEIGHT_ARRAYS * FLOAT * weights
  )
}

/** Arrays of the size of sampled weights that are made on the way to them. */
const WEIGHT_ARRAYS = 6
