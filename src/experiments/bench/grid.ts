/** A benchmark as cells and jobs: methods x projections x numbers of features x lengths. */

import {availableParallelism} from 'node:os'
import type {CallShape} from '../../attention/index.js'
import type {MeteredBackend} from '../../attention/internal.js'
import {meteredBackend} from '../../backends/index.js'
import {randomStream} from '../../random/index.js'
import {type DrawGrid, drawGrid, type MethodSpec} from '../axes.js'
import {type Cells, cellsFrom, distinct, distinctMethods} from '../cells.js'
import type {PredictedCell} from '../experiment.js'
import {variantLabel} from '../labels.js'
import {callShape, type ResolvedMethod, resolveMethod} from '../method.js'
import {benchProcessBytes, bytesByCount} from '../process-memory.js'
import {backendCost, rateOf} from '../rates.js'
import type {BenchCell, BenchPlan} from './schema.js'

/** The whole grid, in the order in which it runs. */
export async function benchCells(plan: BenchPlan): Promise<Cells<BenchCell>> {
  const {length, at} = await gridOf(plan)
  return cellsFrom(length, function* () {
    for (const place of orderOf(plan, length)) yield at(place).cell()
  })
}

/** The same with predictions. */
export async function benchJobs(plan: BenchPlan): Promise<Cells<PredictedCell<BenchCell>>> {
  const backend = await meteredBackend(plan.backend)
  const {length, at} = await gridOf(plan)
  const bytesOf = byteCounts(plan, backend)
  return cellsFrom(length, function* () {
    for (const place of orderOf(plan, length)) {
      const point = at(place)
      yield predicted(point, backend, bytesOf(point))
    }
  })
}

/** A cell of the grid with the method that it runs. */
interface Point {
  cell(): BenchCell
  seqLen: number
  block: Block
  /** Which of the block's numbers of features. */
  count: number
}

/** A method with its draws. */
interface Block {
  spec: MethodSpec
  method: ResolvedMethod
  draws: DrawGrid
}

/** The points as listed, by their places: lengths, then methods, then draws. */
async function gridOf(plan: BenchPlan): Promise<{length: number; at(place: number): Point}> {
  const blocks = await Promise.all(
    distinctMethods(plan.methods).map(async (spec): Promise<Block> => {
      const method = await resolveMethod(spec)
      return {spec, method, draws: drawGrid(method, plan)}
    }),
  )
  const lengths = distinct(plan.seq_lens)
  const perLength = blocks.reduce((sum, {draws}) => sum + draws.length, 0)
  return {
    length: lengths.length * perLength,
    at(place) {
      const seqLen = lengths[Math.floor(place / perLength)]!
      const {block, index} = blockAt(blocks, place % perLength)
      const count = index % block.draws.counts.length
      return {seqLen, block, count, cell: () => cellAt(plan, block, index, seqLen)}
    },
  }
}

function blockAt(blocks: readonly Block[], place: number): {block: Block; index: number} {
  let index = place
  for (const block of blocks) {
    if (index < block.draws.length) return {block, index}
    index -= block.draws.length
  }
  throw new RangeError(`a grid without the place ${place}`)
}

function cellAt(plan: BenchPlan, {spec, draws}: Block, index: number, seq_len: number): BenchCell {
  const {batch, heads, head_dim, value_dim, causal, timing, seed, backend, threads} = plan
  const shared = {batch, heads, head_dim, value_dim, causal, timing, seed, backend, threads}
  const point = draws.at(index)
  const redraw = point.projection === null ? 'fixed' : plan.redraw
  return {...spec, ...point, redraw, seq_len, ...shared}
}

/** Memory of the processes of points, counted once for all projections. */
function byteCounts(plan: BenchPlan, backend: MeteredBackend): (point: Point) => number {
  const known = new Map<Block, Map<number, number[]>>()
  const runs = runsOf(plan)
  return ({block, seqLen, count}) => {
    const lengths = known.get(block) ?? new Map<number, number[]>()
    known.set(block, lengths)
    let bytes = lengths.get(seqLen)
    if (!bytes) {
      const {method, draws} = block
      const share = plan.methods.length * plan.seq_lens.length
      bytes = bytesByCount(draws.counts, share, num_features => {
        const shape = benchShape({...plan, seq_len: seqLen, num_features})
        return benchProcessBytes({backend, method, shape}, runs)
      })
      lengths.set(seqLen, bytes)
    }
    return bytes[count]!
  }
}

/** Forwards that a cell makes at least. */
function runsOf({timing}: Pick<BenchPlan, 'timing'>): number {
  return timing.warmup_runs + timing.min_runs
}

/** The call that a cell times. */
export function benchShape(
  cell: Pick<
    BenchCell,
    'batch' | 'heads' | 'seq_len' | 'head_dim' | 'value_dim' | 'num_features' | 'causal'
  >,
): CallShape {
  const {batch, heads, seq_len, head_dim, value_dim} = cell
  const sizes = {batch, heads, queryLen: seq_len, keyLen: seq_len}
  return callShape({...sizes, headDim: head_dim, valueDim: value_dim}, cell)
}

function predicted(
  {cell: make, block}: Point,
  backend: MeteredBackend,
  predictedBytes: number,
): PredictedCell<BenchCell> {
  const {estimator, options} = block.method
  const cell = make()
  return {
    cell,
    label: `${variantLabel(cell)} L=${cell.seq_len}`,
    predictedCost: timedCost(estimator.cost(benchShape(cell), options).flops, cell, backend),
    predictedBytes,
  }
}

/** Operations that take as long as all runs of a cell: as many runs as its protocol makes of calls so long. */
function timedCost(flops: number, cell: BenchCell, backend: MeteredBackend): number {
  const {warmup_runs, min_runs, max_runs, min_time_ns} = cell.timing
  const threads = backend === 'native' ? (cell.threads ?? availableParallelism()) : 1
  const call = backendCost(flops, {backend, choice: cell.backend}) / threads
  const enough = Math.ceil(((min_time_ns / 1e9) * rateOf(cell.backend)) / call)
  return call * (warmup_runs + Math.min(max_runs, Math.max(min_runs, enough)))
}

/** Places in the order in which they run: as listed, or Fisher-Yates by the plan's seed, so that slow drift of the machine hits all methods alike. */
function orderOf({order, seed}: BenchPlan, length: number): Uint32Array {
  const places = Uint32Array.from({length}, (_, place) => place)
  if (order === 'listed') return places
  const stream = randomStream(seed, 'bench.order')
  for (let i = length - 1; i > 0; i--) {
    const j = stream.integer(i + 1)
    ;[places[i], places[j]] = [places[j]!, places[i]!]
  }
  return places
}
