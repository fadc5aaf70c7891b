/** An error sweep as cells and jobs: the grid, without the axes that do not apply to a method. */

import type {ExactTarget} from '../../attention/index.js'
import {meteredBackend} from '../../backends/index.js'
import {expected} from '../../errors.js'
import {type AttentionInput, cutLengths} from '../../inputs/attention-input.js'
import {assertRoom} from '../../inputs/generators/index.js'
import {inputFacts} from '../../inputs/input-facts.js'
import {cutKeyMask} from '../../inputs/key-mask.js'
import {type DrawGrid, drawGrid, type MethodSpec} from '../axes.js'
import {type Cells, cellsFrom, distinct, distinctMethods} from '../cells.js'
import type {PredictedCell} from '../experiment.js'
import {variantLabel} from '../labels.js'
import {type ForwardShape, matchedTarget, type ResolvedMethod, resolveMethod} from '../method.js'
import {timeCost} from '../rates.js'
import {costForOthers, type SharedCost} from '../shared-cost.js'
import {CallCostsByMethod, type LengthFacts, type Machine} from './cost/call-costs.js'
import {contextCost} from './cost/host-cost.js'
import {KeptContexts} from './cost/kept-contexts.js'
import {unscaledInput} from './measure/context.js'
import {coversRows, drawnUpTo, mayHaveCurves} from './measure/curve-plan.js'
import {targetOf} from './measure/truth.js'
import type {ErrorSweepCell, ErrorSweepPlan} from './schema.js'

/** The whole grid, in plan order; reads no input. */
export async function errorSweepCells(plan: ErrorSweepPlan): Promise<Cells<ErrorSweepCell>> {
  const blocks = await blocksOf(plan)
  return cellsFrom(countOf(plan, blocks), function* () {
    for (const block of walk(plan, blocks)) {
      for (let index = 0; index < block.draws.length; index++) yield cellAt(plan, block, index)
    }
  })
}

/** The same with predictions, for which the input's sizes are read. */
export async function errorSweepJobs(
  plan: ErrorSweepPlan,
): Promise<Cells<PredictedCell<ErrorSweepCell>>> {
  const facts = await factsByPart(plan)
  const blocks = await blocksOf(plan)
  const backend = await meteredBackend(plan.backend)
  return cellsFrom(countOf(plan, blocks), () => jobs(plan, blocks, facts, {backend}))
}

/** One of the inputs of a plan: a layer of a file, or a generated one of some head dimension. */
type InputPart = Pick<ErrorSweepCell, 'input' | 'layer'>

/** What is known of each part of the input at each length, in the order in which they run. */
type FactsByPart = ReadonlyMap<InputPart, ReadonlyMap<number | null, LengthFacts>>

async function factsByPart(plan: ErrorSweepPlan): Promise<FactsByPart> {
  const lengths = lengthsOf(plan)
  const logitScale = plan.logit_scale
  const parts = partsOf(plan).map(async part => {
    const {input, layer} = part
    const {sizes, ...facts} = await inputFacts(input, lengths, {layer, logitScale})
    const ofLengths = lengths.map((length, i) => [length, {...facts, shape: sizes[i]!}] as const)
    return [part, new Map(ofLengths)] as const
  })
  return new Map(await Promise.all(parts))
}

/**
 * Reads the file of a plan as its cells will; what they would generate is only held against the memory that is free.
 *
 * @throws what {@link unscaledInput} throws, at any of the lengths
 */
export async function checkErrorSweep(plan: ErrorSweepPlan): Promise<void> {
  const {input, logit_scale, seed} = plan
  if (input.kind === 'file') {
    // the layer that cells begin with is read last: it is kept for them
    for (const part of partsOf(plan).toReversed()) {
      const whole = await unscaledInput({...part, seq_len: null, logit_scale, seed})
      for (const length of lengthsOf(plan)) assertKeysInView(whole, length)
    }
    return
  }
  for (const part of partsOf(plan)) {
    const {sizes} = await inputFacts(part.input, lengthsOf(plan))
    for (const shape of sizes) assertRoom(input.name, shape)
  }
}

/** @throws {BAD_OPTION} where a cut leaves a sequence no key */
function assertKeysInView(whole: AttentionInput, length: number | null): void {
  const {keyMask, key, label} = whole
  const [, keyLen] = cutLengths(whole, length)
  if (keyMask) cutKeyMask(keyMask, key.shape[2], keyLen, label)
}

/** All draws of a method against one target. */
interface Block {
  spec: MethodSpec
  method: ResolvedMethod
  target: ErrorSweepCell['target']
  /** What it is held against, and the name of that. */
  exact: ExactTarget
  exactName: string
  draws: DrawGrid
}

/** A block of one part of the input at one length and scale. */
type PlacedBlock = Block & {part: InputPart} & Pick<ErrorSweepCell, 'seq_len' | 'scale'>

/** Blocks in the order in which they run at each length and scale. */
async function blocksOf(plan: ErrorSweepPlan): Promise<Block[]> {
  const blocks = distinctMethods(plan.methods).map(async (spec): Promise<Block[]> => {
    const method = await resolveMethod(spec)
    const draws = drawGrid(method, plan)
    return targetsOf(plan, method).map(target => {
      const exact = targetOf({target}, method)
      return {spec, method, target, exact, exactName: JSON.stringify(exact), draws}
    })
  })
  return (await Promise.all(blocks)).flat()
}

/** `matched` only where the method converges to something else than softmax of the given inputs. */
function targetsOf(plan: ErrorSweepPlan, method: ResolvedMethod): ('raw' | 'matched')[] {
  return matchedTarget(method) === undefined ? ['raw'] : distinct(plan.targets)
}

function lengthsOf({seq_lens}: ErrorSweepPlan): (number | null)[] {
  return seq_lens === null ? [null] : distinct(seq_lens)
}

/** The inputs of a plan in turn. @throws {BAD_OPTION} where a plan leaves them open, or asks a file for other sizes */
function partsOf(plan: ErrorSweepPlan): InputPart[] {
  const {input, head_dims} = plan
  if (head_dims === undefined) return layersOf(plan).map(layer => ({input, layer}))
  if (input.kind === 'file') {
    throw expected('BAD_OPTION', '`head_dims` of a plan', 'a generated input', 'a file')
  }
  return distinct(head_dims).map(dim => ({
    input: {...input, head_dim: dim, value_dim: dim},
    layer: undefined,
  }))
}

/** Layers of a file of several; otherwise one that has no number. @throws {BAD_OPTION} where a plan leaves them open */
function layersOf({layers}: ErrorSweepPlan): (number | undefined)[] {
  if (layers === undefined) return [undefined]
  if (layers !== 'all') return distinct(layers)
  throw expected('BAD_OPTION', '`layers` of a plan', 'numbers, once its file is known', layers)
}

function countOf(plan: ErrorSweepPlan, blocks: readonly Block[]): number {
  const each = blocks.reduce((sum, {draws}) => sum + draws.length, 0)
  return lengthsOf(plan).length * partsOf(plan).length * distinct(plan.scales).length * each
}

function* walk(
  plan: ErrorSweepPlan,
  blocks: readonly Block[],
  parts: Iterable<InputPart> = partsOf(plan),
): Generator<PlacedBlock> {
  for (const seq_len of lengthsOf(plan)) {
    for (const part of parts) {
      for (const scale of distinct(plan.scales)) {
        for (const block of blocks) yield {...block, part, seq_len, scale}
      }
    }
  }
}

function cellAt(plan: ErrorSweepPlan, block: PlacedBlock, index: number): ErrorSweepCell {
  const {spec, method, draws, part, seq_len, scale, target} = block
  const {input, layer} = part
  const {logit_scale, causal, row_metrics, seed, backend} = plan
  const replicates = method.random ? plan.replicates : 1
  const axes = {seq_len, scale, target, ...draws.at(index), replicates}
  return {
    ...{...spec, input, ...axes, causal, row_metrics, seed, backend},
    ...(layer !== undefined && {layer}),
    ...(plan.until_ci && method.random && {until_ci: plan.until_ci}),
    ...(logit_scale !== undefined && {logit_scale}),
  }
}

function* jobs(
  plan: ErrorSweepPlan,
  blocks: readonly Block[],
  facts: FactsByPart,
  machine: Machine,
): Generator<PredictedCell<ErrorSweepCell>> {
  const contexts = new KeptContexts()
  const share = facts.size * lengthsOf(plan).length * plan.methods.length
  const costs = new CallCostsByMethod(plan, machine, share)
  const {causal, backend: choice} = plan
  for (const block of walk(plan, blocks, [...facts.keys()])) {
    const own = facts.get(block.part)!.get(block.seq_len)!
    const {shape} = own
    const {flops, plain, bytes, curves} = costs.of(block, own)
    const context = contexts.visit({...block, layer: block.part.layer}, shape)
    const reference = contextCost({...shape, causal}, block.exact, {...machine, choice})
    const family = {id: context.id, cost: reference}
    const cells: CellsOfBlock = {plan, block, shape}
    const {counts, length} = block.draws
    const curveRanks = ranksWithCurves(block, shape)
    for (let index = 0; index < length; index++) {
      const count = index % counts.length
      const shared: SharedCost[] = [{cost: reference, rank: context.cells + index}]
      const rank = curveRanks(index)
      if (rank !== undefined) shared.push({cost: curves[count]!, rank})
      const serialCost = timeCost(plain[count]!, choice)
      const predictedCost = flops[count]! + serialCost + costForOthers(shared)
      const predictedBytes = bytes[count]! + context.bytes
      yield new SweepJob(cells, index, {predictedCost, serialCost, predictedBytes, shared, family})
    }
  }
}

/** How many cells of a block that have the same curve come before one, where theory has any for that one. */
function ranksWithCurves(
  block: PlacedBlock,
  shape: ForwardShape,
): (index: number) => number | undefined {
  const {projections, counts} = block.draws
  const has = mayHaveCurves(block, block.method)
  const drawn = counts.map(count => drawnUpTo(count ?? 0, shape))
  const ranks = drawn.map((most, at) => drawn.slice(0, at).filter(own => own === most).length)
  return index => {
    const covered = coversRows(projections[Math.floor(index / counts.length)]!)
    return has && covered ? ranks[index % counts.length] : undefined
  }
}

/** Where the cells of a block come from. */
interface CellsOfBlock {
  plan: ErrorSweepPlan
  block: PlacedBlock
  shape: ForwardShape
}

class SweepJob implements PredictedCell<ErrorSweepCell> {
  readonly predictedCost: number
  readonly serialCost: number
  readonly predictedBytes: number
  readonly shared: PredictedCell['shared']
  readonly family: PredictedCell['family']

  constructor(
    private readonly cells: CellsOfBlock,
    private readonly index: number,
    predicted: Pick<PredictedCell, 'predictedCost' | 'predictedBytes' | 'shared' | 'family'> & {
      serialCost: number
    },
  ) {
    this.predictedCost = predicted.predictedCost
    this.serialCost = predicted.serialCost
    this.predictedBytes = predicted.predictedBytes
    this.shared = predicted.shared
    this.family = predicted.family
  }

  get cell(): ErrorSweepCell {
    return cellAt(this.cells.plan, this.cells.block, this.index)
  }

  get label(): string {
    const {plan, shape} = this.cells
    return label(this.cell, shape, plan.head_dims !== undefined)
  }
}

/** @param several - head dimensions of the plan, of which one is named */
function label(cell: ErrorSweepCell, {queryLen, headDim}: ForwardShape, several: boolean): string {
  const layer = cell.layer === undefined ? [] : [`layer ${cell.layer}`]
  const scale = cell.scale === 1 ? [] : [`scale ${cell.scale}`]
  const dim = several ? [`D=${headDim}`] : []
  return [variantLabel(cell), ...layer, ...dim, `L=${queryLen}`, ...scale, cell.target].join(' ')
}
