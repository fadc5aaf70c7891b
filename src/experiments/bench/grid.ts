/** A benchmark as cells and jobs: methods x projections x numbers of features x lengths. */

import {availableParallelism} from 'node:os'
import {type MeteredBackend, plainSeconds} from '../../attention/internal.js'
import {type BackendChoice, meteredBackend} from '../../backends/index.js'
import {expected} from '../../errors.js'
import {fileChanged} from '../../inputs/files/recorded-source.js'
import {randomStream, shuffled} from '../../random/index.js'
import {canonicalJson} from '../../results/keys.js'
import {type DrawGrid, drawGrid, type MethodSpec} from '../axes.js'
import {distinct, distinctMethods} from '../cells.js'
import type {Grid, PredictedCell} from '../experiment.js'
import {variantLabel} from '../labels.js'
import {type ResolvedMethod, resolveMethod} from '../method.js'
import {pythonBytes, statedSizes} from '../pretrained.js'
import {runtimeBytes} from '../process-memory.js'
import {backendCost, rateOf, timeCost} from '../rates.js'
import {stateBytes, TOKEN_SECONDS, UNSHARED} from './cost/decode-costs.js'
import {layerBytes} from './cost/layer-costs.js'
import {benchRunBytes, breakdownBytes, decodeRunBytes} from './cost/memory.js'
import {type ModelSize, modelRunBytes, weightBytes} from './cost/model-costs.js'
import {benchShape, breakdownFactor, workOf} from './cost/work.js'
import {copiedBytes, keyHeads, kvHeadsOf} from './fields/grouped.js'
import {assertReads, benchSizesOf} from './fields/model.js'
import {valuesOf} from './fields/one-or-more.js'
import type {BenchCell, BenchPlan} from './schema.js'

/** All cells of a plan, in the order in which they run. */
export async function benchGrid(given: BenchPlan): Promise<Grid<BenchCell>> {
  // a token that is decoded sees the past alone, and projections last for a sequence
  const plan: BenchPlan =
    given.mode === 'decode' ? {...given, causal: true, redraw: 'fixed'} : given
  const blocks = await blocksOf(plan)
  return {
    count: countOf(plan, blocks),
    cells: () => pointsOf(plan, blocks).map(({cell}) => cell),
    jobs: () => jobsOf(plan, pointsOf(plan, blocks)),
  }
}

async function jobsOf(
  plan: BenchPlan,
  points: readonly Point[],
): Promise<PredictedCell<BenchCell>[]> {
  const choices = valuesOf(plan.backend)
  const unit = choices[0]!
  const backends = new Map<BackendChoice, MeteredBackend>()
  for (const choice of choices) backends.set(choice, await meteredBackend(choice))
  const native = await meteredBackend('native')
  const labelOf = labelled(plan)
  const model = await sizeOfModel(plan)
  return points.map(point => {
    const {peer, backend: choice} = point.cell
    const backend = peer ? native : backends.get(choice)!
    return {...predicted(plan, point, {backend, unit, model}), label: labelOf(point.cell)}
  })
}

/**
 * The model of a plan, if it has one.
 *
 * @throws {FILE_CHANGED} for another one than the plan was made of
 * @throws {SHAPE_MISMATCH} for a plan of other heads
 * @throws {UNSUPPORTED} for lengths that the model does not read
 */
async function sizeOfModel(plan: BenchPlan): Promise<ModelSize | undefined> {
  if (!plan.model) return undefined
  const {folder, digest} = plan.model
  const {openModel} = await import('../../model/index.js')
  const {modelDigest} = await import('../model-digest.js')
  if ((await modelDigest(folder, plan.engine?.name)) !== digest) throw fileChanged(folder)
  if (plan.engine) return statedSizes(plan.engine, plan.causal)
  const model = await openModel(folder)
  await model.close()
  const {facts, sizes} = model
  const own = {...benchSizesOf(facts), causal: facts.causal}
  const {heads, kv_heads, head_dim, value_dim, causal} = plan
  const asked = {heads, ...kvHeadsOf({heads, kv_heads}), head_dim, value_dim, causal}
  if (canonicalJson(asked) !== canonicalJson(own)) {
    throw expected('SHAPE_MISMATCH', folder, JSON.stringify(own), JSON.stringify(asked))
  }
  assertReads(folder, facts, plan.seq_lens)
  return {facts, sizes}
}

/** How progress calls a cell: by what distinguishes it from the others of its plan. */
function labelled({mode, batch, backend}: BenchPlan): (cell: BenchCell) => string {
  const batches = valuesOf(batch).length > 1
  const backends = valuesOf(backend).length > 1
  return cell => {
    const where = cell.peer ?? (backends ? cell.backend : undefined)
    return [
      variantLabel(cell, mode === undefined ? [] : [mode]),
      ...(where ? [`on ${where}`] : []),
      ...(batches ? [`B=${cell.batch}`] : []),
      `L=${cell.seq_len}`,
    ].join(' ')
  }
}

/** A cell with the method that it runs. */
interface Point {
  cell: BenchCell
  method: ResolvedMethod
}

/** A method with its draws. */
interface Block {
  spec: MethodSpec
  method: ResolvedMethod
  draws: DrawGrid
}

function blocksOf(plan: BenchPlan): Promise<Block[]> {
  return Promise.all(
    distinctMethods(plan.methods).map(async (spec): Promise<Block> => {
      const method = await resolveMethod(spec)
      return {spec, method, draws: drawGrid(method, plan)}
    }),
  )
}

type Computer = Pick<BenchCell, 'backend' | 'peer'>

/** Who computes: backends, then peers. */
function computersOf({backend, peers = []}: BenchPlan): Computer[] {
  return [
    ...valuesOf(backend).map(choice => ({backend: choice})),
    ...distinct(peers).map(peer => ({backend: 'auto' as const, peer})),
  ]
}

/** Those that a backend or a peer computes: what is written in Python is left to a peer that runs it, if one is timed. */
function blocksFor({peer}: Computer, {peers}: BenchPlan, blocks: readonly Block[]): Block[] {
  const left = peer === undefined && peers?.includes('torch')
  return blocks.filter(({method}) => !(left && method.estimator.python))
}

function countOf(plan: BenchPlan, blocks: readonly Block[]): number {
  const lengths = runLengths(plan).length * valuesOf(plan.batch).length
  const perLength = computersOf(plan)
    .flatMap(computer => blocksFor(computer, plan, blocks))
    .reduce((sum, {draws}) => sum + draws.length, 0)
  return lengths * perLength
}

/** As listed, by computers, then batches, then lengths, then methods, then draws; or shuffled. */
function pointsOf(plan: BenchPlan, blocks: readonly Block[]): Point[] {
  const points = computersOf(plan).flatMap(computer =>
    valuesOf(plan.batch).flatMap(batch =>
      runLengths(plan).flatMap(seq_len =>
        blocksFor(computer, plan, blocks).flatMap(block =>
          pointsAt(plan, block, {batch, seq_len, ...computer}),
        ),
      ),
    ),
  )
  if (plan.order === 'listed') return points
  return shuffled(points, randomStream(plan.seed, 'bench.order'))
}

/** Lengths of runs: a decode to the longest passes all others. */
function runLengths({mode, seq_lens}: BenchPlan): number[] {
  return mode === 'decode' ? [Math.max(...seq_lens)] : distinct(seq_lens)
}

/** The points of a method at one length, one for each draw. */
function pointsAt(
  plan: BenchPlan,
  {spec, method, draws}: Block,
  {batch, seq_len, ...computer}: Pick<BenchCell, 'batch' | 'seq_len'> & Computer,
): Point[] {
  const {heads, head_dim, value_dim, causal, timing, seed, threads} = plan
  const sizes = {batch, heads, ...kvHeadsOf(plan), head_dim, value_dim}
  const shared = {...sizes, causal, timing, seed, ...computer, threads}
  const {model, layers, engine, device} = plan
  const by = engine && {engine: engine.name, ...(device && {device})}
  const whole = model && {model, layers, ...by}
  const broken = plan.breakdown && !computer.peer && {breakdown: plan.breakdown}
  return Array.from({length: draws.length}, (_, index) => {
    const point = draws.at(index)
    const drawn = point.projection !== null && !method.tuned?.draws
    const redraw = drawn ? plan.redraw : 'fixed'
    const cell = {...whole, ...spec, ...point, redraw, seq_len, ...shared, ...broken}
    if (plan.mode === 'decode') return {method, cell: {...cell, ...decodeFields(plan)}}
    return {method, cell: plan.mode === undefined ? cell : {...cell, mode: plan.mode}}
  })
}

/** Numbers of tokens at which a decode is looked at. */
function decodeFields({seq_lens}: BenchPlan) {
  return {mode: 'decode' as const, lengths: distinct(seq_lens).sort((a, b) => a - b)}
}

interface Metered {
  backend: MeteredBackend
  /** Backend that costs are counted in operations of: the first of the plan. */
  unit: BackendChoice
  model: ModelSize | undefined
}

/** Peak of a point, without what its process has before. */
function runBytes(
  plan: BenchPlan,
  {cell, method}: Point,
  {backend, model}: Pick<Metered, 'backend' | 'model'>,
): number {
  const shape = benchShape(cell)
  if (model) return modelRunBytes({cell, method, shape}, model, backend)
  const runs = plan.timing.warmup_runs + plan.timing.min_runs
  if (cell.mode === 'decode') return decodeRunBytes(backend, stateBytes({method, shape}), runs)
  const sizes = {...plan, batch: cell.batch, seq_len: cell.seq_len}
  const parts = plan.breakdown ? breakdownBytes(method, shape) + copiedBytes(sizes) : 0
  const run = benchRunBytes({backend, method, shape}, runs, keyHeads(plan))
  return run + aroundBytes(sizes) + parts
}

/** Seconds of one run in plain JavaScript. */
function plainOf({cell, method: {estimator, options}}: Point, backend: MeteredBackend): number {
  const shape = benchShape(cell)
  const calls = cell.layers?.length ?? 1
  if (cell.mode === 'decode') return calls * shape.keyLen * TOKEN_SECONDS[backend]
  return calls * plainSeconds(estimator, options, shape, backend)
}

/** What a process holds in addition to its attention: for a layer tokens, weights, and the tensors of two forwards. */
function aroundBytes(sizes: Pick<BenchPlan, 'mode'> & Parameters<typeof layerBytes>[0]): number {
  if (sizes.mode !== 'layer') return 0
  const {inputs, made} = layerBytes(sizes)
  return inputs + 2 * made
}

/** What a process of a peer holds before it has inputs, in addition to the process of the cell: Python with PyTorch. */
export const PEER_BYTES = 400 * 2 ** 20

/** What a process has once for all of its cells: itself, the weights of a model, and Python with its own. */
function commonBytes(
  {engine}: BenchPlan,
  {peer}: BenchCell,
  {backend, model}: Pick<Metered, 'backend' | 'model'>,
): number {
  const weights = model && !engine ? weightBytes(model) : 0
  return runtimeBytes(backend) + weights + (peer ? PEER_BYTES : pythonBytes(engine))
}

function predicted(
  plan: BenchPlan,
  point: Point,
  {backend, unit, model}: Metered,
): Omit<PredictedCell<BenchCell>, 'label'> {
  const {cell, method} = point
  const flops = workOf(cell, method, model) * (cell.mode === 'decode' ? UNSHARED : 1)
  const plain = plainOf(point, backend)
  const factor = cell.breakdown ? breakdownFactor(method) : 1
  const common = commonBytes(plan, cell, {backend, model})
  return {
    cell,
    predictedCost: factor * timedCost({flops, plain}, cell, {backend, unit}),
    processes: cell.timing.processes,
    predictedBytes: common + runBytes(plan, point, {backend, model}),
    commonBytes: common,
  }
}

/** Operations of the unit that take as long as all runs of a cell: the protocol makes fewer runs of longer calls. */
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
