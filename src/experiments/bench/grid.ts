/** A benchmark as cells and jobs: methods x projections x numbers of features x lengths. */

import {availableParallelism} from 'node:os'
import type {CallShape} from '../../attention/index.js'
import {type MeteredBackend, plainSeconds} from '../../attention/internal.js'
import {type BackendChoice, meteredBackend} from '../../backends/index.js'
import {randomStream} from '../../random/index.js'
import {type DrawGrid, drawGrid, type MethodSpec} from '../axes.js'
import {type Cells, cellsFrom, distinct, distinctMethods} from '../cells.js'
import type {PredictedCell} from '../experiment.js'
import {variantLabel} from '../labels.js'
import {type ResolvedMethod, resolveMethod} from '../method.js'
import {byCount} from '../process-memory.js'
import {backendCost, rateOf, timeCost} from '../rates.js'
import {stateBytes, TOKEN_SECONDS, UNSHARED} from './cost/decode-costs.js'
import {layerBytes} from './cost/layer-costs.js'
import {benchProcessBytes, breakdownBytes, decodeProcessBytes} from './cost/memory.js'
import {benchShape, breakdownFactor, workOf} from './cost/work.js'
import {copiedBytes, keyHeads, kvHeadsOf} from './fields/grouped.js'
import {valuesOf} from './fields/one-or-more.js'
import type {BenchCell, BenchPlan} from './schema.js'

/** The whole grid, in the order in which it runs. */
export async function benchCells(given: BenchPlan): Promise<Cells<BenchCell>> {
  const plan = withModeDefaults(given)
  const {length, at} = await gridOf(plan)
  return cellsFrom(length, function* () {
    for (const place of orderOf(plan, length)) yield at(place).cell()
  })
}

/** What a process of a peer holds before it has inputs, beside that of the cell: Python with PyTorch. */
export const PEER_BYTES = 400 * 2 ** 20

/** The same with predictions. */
export async function benchJobs(given: BenchPlan): Promise<Cells<PredictedCell<BenchCell>>> {
  const plan = withModeDefaults(given)
  const {length, at} = await gridOf(plan)
  const choices = valuesOf(plan.backend)
  const countsOf = new Map<BackendChoice, Metered>()
  for (const choice of choices) {
    const backend = await meteredBackend(choice)
    countsOf.set(choice, {backend, unit: choices[0]!, of: callCounts(plan, backend)})
  }
  const native = await meteredBackend('native')
  const peers: Metered = {backend: native, unit: choices[0]!, of: callCounts(plan, native)}
  const labelOf = labelled(plan)
  return cellsFrom(length, function* () {
    for (const place of orderOf(plan, length)) {
      const point = at(place)
      const metered = point.peer ? peers : countsOf.get(point.backend)!
      yield {...predicted(point, metered), label: labelOf(point)}
    }
  })
}

/** How progress calls a point: by what tells it from the others of its plan. */
function labelled({mode, batch, backend}: BenchPlan): (point: Point) => string {
  const batches = valuesOf(batch).length > 1
  const backends = valuesOf(backend).length > 1
  return point => {
    const variant = variantLabel(point.cell(), mode === undefined ? [] : [mode])
    const where = point.peer ?? (backends ? point.backend : undefined)
    return [
      variant,
      ...(where ? [`on ${where}`] : []),
      ...(batches ? [`B=${point.batch}`] : []),
      `L=${point.seqLen}`,
    ].join(' ')
  }
}

/** A plan with what its mode fixes: a token that is decoded sees the past alone, and projections last for a sequence. */
function withModeDefaults(plan: BenchPlan): BenchPlan {
  return plan.mode === 'decode' ? {...plan, causal: true, redraw: 'fixed'} : plan
}

/** A cell of the grid with the method that it runs. */
interface Point {
  cell(): BenchCell
  seqLen: number
  batch: number
  backend: BackendChoice
  /** Who is timed in place of the method, if anybody is. */
  peer: string | undefined
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

/** The points as listed, by their places: backends and peers, then batches, then lengths, then methods, then draws. */
async function gridOf(plan: BenchPlan): Promise<{length: number; at(place: number): Point}> {
  const blocks = await Promise.all(
    distinctMethods(plan.methods).map(async (spec): Promise<Block> => {
      const method = await resolveMethod(spec)
      return {spec, method, draws: drawGrid(method, plan)}
    }),
  )
  const lengths = runLengths(plan)
  const batches = valuesOf(plan.batch)
  const computers = [
    ...valuesOf(plan.backend).map(backend => ({backend, peer: undefined})),
    ...distinct(plan.peers ?? []).map(peer => ({backend: 'auto' as const, peer})),
  ]
  const perLength = blocks.reduce((sum, {draws}) => sum + draws.length, 0)
  return {
    length: computers.length * batches.length * lengths.length * perLength,
    at(place) {
      const slice = Math.floor(place / perLength)
      const sheet = Math.floor(slice / lengths.length)
      const {backend, peer} = computers[Math.floor(sheet / batches.length)]!
      const batch = batches[sheet % batches.length]!
      const seqLen = lengths[slice % lengths.length]!
      const {block, index} = blockAt(blocks, place % perLength)
      const count = index % block.draws.counts.length
      const axes = {batch, seq_len: seqLen, backend, ...(peer && {peer})}
      return {
        seqLen,
        batch,
        backend,
        peer,
        block,
        count,
        cell: () => cellAt(plan, block, index, axes),
      }
    },
  }
}

/** Lengths of runs: a decode to the longest passes all others. */
function runLengths({mode, seq_lens}: BenchPlan): number[] {
  return mode === 'decode' ? [Math.max(...seq_lens)] : distinct(seq_lens)
}

function blockAt(blocks: readonly Block[], place: number): {block: Block; index: number} {
  let index = place
  for (const block of blocks) {
    if (index < block.draws.length) return {block, index}
    index -= block.draws.length
  }
  throw new RangeError(`a grid without the place ${place}`)
}

function cellAt(
  plan: BenchPlan,
  {spec, draws}: Block,
  index: number,
  {batch, seq_len, ...computer}: Pick<BenchCell, 'batch' | 'seq_len' | 'backend' | 'peer'>,
): BenchCell {
  const {heads, head_dim, value_dim, causal, timing, seed, threads} = plan
  const sizes = {batch, heads, ...kvHeadsOf(plan), head_dim, value_dim}
  const shared = {...sizes, causal, timing, seed, ...computer, threads}
  const point = draws.at(index)
  const redraw = point.projection === null ? 'fixed' : plan.redraw
  const broken = plan.breakdown && !computer.peer && {breakdown: plan.breakdown}
  const cell = {...spec, ...point, redraw, seq_len, ...shared, ...broken}
  if (plan.mode === 'decode') return {...cell, ...decodeFields(plan)}
  return plan.mode === undefined ? cell : {...cell, mode: plan.mode}
}

/** Numbers of tokens at which a decode is looked at. */
function decodeFields({seq_lens}: BenchPlan) {
  return {mode: 'decode' as const, lengths: distinct(seq_lens).sort((a, b) => a - b)}
}

/** What meters the points of a backend. */
interface Metered {
  backend: MeteredBackend
  /** Backend in whose operations costs are told: the first of the plan. */
  unit: BackendChoice
  of(point: Point): CallCounts
}

/** What is counted of the calls of a point. */
interface CallCounts {
  /** Peak of its process. */
  bytes: number
  /** Seconds of one run in plain JavaScript. */
  plain: number
}

/** Counts of points, made once for all projections. */
function callCounts(plan: BenchPlan, backend: MeteredBackend): (point: Point) => CallCounts {
  const known = new Map<Block, Map<string, {bytes: number[]; plain: number[]}>>()
  const runs = runsOf(plan)
  return ({block, seqLen, batch, count}) => {
    const shapes = known.get(block) ?? new Map<string, {bytes: number[]; plain: number[]}>()
    known.set(block, shapes)
    const sizes = {...plan, batch, seq_len: seqLen}
    let counts = shapes.get(`${batch} ${seqLen}`)
    if (!counts) {
      const {method, draws} = block
      const {estimator, options} = method
      const share = plan.methods.length * plan.seq_lens.length * [plan.batch].flat().length
      const shapeOf = (num_features: number | null) => benchShape({...sizes, num_features})
      const of = (countOf: (shape: CallShape) => number) =>
        byCount(draws.counts, share, features => countOf(shapeOf(features)))
      const decodes = plan.mode === 'decode'
      counts = {
        bytes: of(shape =>
          decodes
            ? decodeProcessBytes(backend, stateBytes({method, shape}), runs)
            : benchProcessBytes({backend, method, shape}, runs, keyHeads(plan)) +
              aroundBytes(sizes) +
              (plan.breakdown ? breakdownBytes(method, shape) + copiedBytes(sizes) : 0),
        ),
        plain: of(shape =>
          decodes
            ? shape.keyLen * TOKEN_SECONDS[backend]
            : plainSeconds(estimator, options, shape, backend),
        ),
      }
      shapes.set(`${batch} ${seqLen}`, counts)
    }
    return {bytes: counts.bytes[count]!, plain: counts.plain[count]!}
  }
}

/** What a process holds beside its attention: of a layer tokens, weights, and the tensors of two forwards. */
function aroundBytes(sizes: Pick<BenchPlan, 'mode'> & Parameters<typeof layerBytes>[0]): number {
  if (sizes.mode !== 'layer') return 0
  const {inputs, made} = layerBytes(sizes)
  return inputs + 2 * made
}

/** Runs that a cell makes at least. */
function runsOf({timing}: Pick<BenchPlan, 'timing'>): number {
  return timing.warmup_runs + timing.min_runs
}

function predicted(
  point: Point,
  {backend, unit, of}: Metered,
): Omit<PredictedCell<BenchCell>, 'label'> {
  const {block} = point
  const cell = point.cell()
  const {bytes, plain} = of(point)
  const decodes = cell.mode === 'decode'
  const flops = workOf(cell, block.method) * (decodes ? UNSHARED : 1)
  const factor = cell.breakdown ? breakdownFactor(block.method) : 1
  return {
    cell,
    predictedCost: factor * timedCost({flops, plain}, cell, {backend, unit}),
    processes: cell.timing.processes,
    predictedBytes: bytes + (point.peer ? PEER_BYTES : 0),
  }
}

/** Operations of the unit that take as long as all runs of a cell: as many runs as its protocol makes of calls so long. */
function timedCost(
  {flops, plain}: {flops: number; plain: number},
  cell: BenchCell,
  {backend, unit}: Pick<Metered, 'backend' | 'unit'>,
): number {
  const {processes = 1, warmup_runs, min_runs, max_runs, min_time_ns} = cell.timing
  const threads = backend === 'native' ? (cell.threads ?? availableParallelism()) : 1
  const call = backendCost(flops, {backend, choice: unit}) / threads + timeCost(plain, unit)
  const enough = Math.ceil(((min_time_ns / 1e9) * rateOf(unit)) / call)
  return call * (processes * warmup_runs + Math.min(max_runs, Math.max(min_runs, enough)))
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
