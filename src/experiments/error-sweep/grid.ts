/** An error sweep as cells and jobs: the grid, without the axes that do not apply to a method. */

import type {ExactTarget} from '../../attention/index.js'
import {countingOn} from '../../attention/internal.js'
import {meteredBackend} from '../../backends/index.js'
import {keysBefore} from '../../causal-view.js'
import {expected} from '../../errors.js'
import {type AttentionInput, cutLengths, sizesOf} from '../../inputs/attention-input.js'
import {assertRoom} from '../../inputs/generators/index.js'
import {inputFacts, requireCorner} from '../../inputs/input-facts.js'
import {cutKeyMask} from '../../inputs/key-mask.js'
import {type DrawGrid, drawGrid, inputParts, type MethodSpec, viewOf} from '../axes.js'
import {distinct, distinctMethods} from '../cells.js'
import type {Grid, PredictedCell} from '../experiment.js'
import {inputLabel, variantLabel} from '../labels.js'
import {
  drawsOf,
  type ForwardShape,
  matchedTarget,
  type ResolvedMethod,
  resolveMethod,
} from '../method.js'
import {assertTuned, type TunedPlace} from '../tuned-methods.js'
import {callCosts, type LengthFacts, type Machine} from './cost/call-costs.js'
import {curvesCost} from './cost/curves-cost.js'
import {contextCost} from './cost/host-cost.js'
import {KeptContexts} from './cost/kept-contexts.js'
import {unscaledInput} from './measure/context.js'
import {mayHaveCurves} from './measure/curve-plan.js'
import {targetOf} from './measure/truth.js'
import type {ErrorSweepCell, ErrorSweepPlan, PrecisionMetric} from './schema.js'

/** All cells of a plan; their predictions read the sizes of its input. */
export async function errorSweepGrid(plan: ErrorSweepPlan): Promise<Grid<ErrorSweepCell>> {
  const blocks = await blocksOf(plan)
  return {
    count: countOf(plan, blocks),
    cells: () => placed(plan, blocks, partsOf(plan)).flatMap(block => cellsOf(plan, block)),
    jobs: async () => {
      const facts = await factsByPart(plan)
      const backend = await meteredBackend(plan.backend)
      return countingOn(backend, () => jobsOf(plan, blocks, facts, {backend}))
    },
  }
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
    for (const shape of sizes) requireCorner(inputLabel(input), shape, viewOf(plan))
    const ofLengths = lengths.map((length, i) => [length, {...facts, shape: sizes[i]!}] as const)
    return [part, new Map(ofLengths)] as const
  })
  return new Map(await Promise.all(parts))
}

/**
 * Reads the file of a plan as its cells will; what they would generate is only held against the memory that is free.
 */
export async function checkErrorSweep(plan: ErrorSweepPlan): Promise<void> {
  const {input, logit_scale, seed} = plan
  await assertTuned(plan.methods, () => tunedPlaces(plan))
  if (input.kind === 'file') {
    // the layer that cells begin with is read last: it is kept for them
    for (const part of partsOf(plan).toReversed()) {
      const whole = await unscaledInput({...part, seq_len: null, logit_scale, seed})
      for (const length of lengthsOf(plan)) {
        assertKeysInView(whole, length)
        assertLastQueries(plan, whole, length)
      }
      assertMeasurable(plan, whole)
    }
    return
  }
  assertMeasurable(plan, {label: input.name})
  for (const part of partsOf(plan)) {
    const {sizes} = await inputFacts(part.input, lengthsOf(plan))
    for (const shape of sizes) assertRoom(input.name, shape)
  }
}

/** What an error takes of its input. */
const TAKES: Partial<
  Record<PrecisionMetric, readonly [what: string, 'outputProjection' | 'residualNorm'][]>
> = {
  projected_rel_l2: [['an output projection (array `o`)', 'outputProjection']],
  residual_error: [
    ['an output projection (array `o`)', 'outputProjection'],
    ['the norm of the residual stream (array `residual_norm`)', 'residualNorm'],
  ],
}

/** @throws {ARRAY_MISSING} where the input lacks what the metric of a wanted precision takes */
function assertMeasurable(
  {until_ci: until}: ErrorSweepPlan,
  input: Pick<AttentionInput, 'label' | 'outputProjection' | 'residualNorm'>,
): void {
  if (!until) return
  for (const [what, name] of TAKES[until.metric] ?? []) {
    if (input[name] !== undefined) continue
    const wanted = `an input with ${what}`
    const advice = 'choose another metric, such as `ciMetric: token_mean_rel_l2`'
    throw expected('ARRAY_MISSING', `\`ciMetric: ${until.metric}\``, wanted, input.label, advice)
  }
}

function tunedPlaces(plan: ErrorSweepPlan): Promise<TunedPlace[]> {
  const [length = null] = lengthsOf(plan)
  const places = partsOf(plan).map(async ({input, layer}) => {
    const {sizes, keyHeads} = await inputFacts(input, [length], {layer})
    const {heads, headDim} = sizes[0]!
    return {layer, heads, keyHeads, headDim}
  })
  return Promise.all(places)
}

/** @throws {BAD_OPTION} where a cut leaves a sequence no key */
function assertKeysInView(whole: AttentionInput, length: number | null): void {
  const {keyMask, key, label} = whole
  const [, keyLen] = cutLengths(whole, length)
  if (keyMask) cutKeyMask(keyMask, key.shape[2], keyLen, label)
}

/** @throws {BAD_OPTION} where queries are the last tokens and a cut leaves the first of them */
function assertLastQueries(plan: ErrorSweepPlan, whole: AttentionInput, length: number | null) {
  const {queryLen, keyLen} = sizesOf(whole)
  const [left] = cutLengths(whole, length)
  if (left === queryLen || keysBefore(viewOf(plan), {queryLen, keyLen}) === 0) return
  const got = `seqLen ${left} of ${queryLen}`
  const what = 'all queries with `causalAlign: end`'
  throw expected('BAD_OPTION', whole.label, what, got, 'leave out `seqLen`')
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
  if (head_dims === undefined) return inputParts(plan)
  if (input.kind === 'file') {
    throw expected('BAD_OPTION', '`head_dims` of a plan', 'a generated input', 'a file')
  }
  return distinct(head_dims).map(dim => ({
    input: {...input, head_dim: dim, value_dim: dim},
    layer: undefined,
  }))
}

function countOf(plan: ErrorSweepPlan, blocks: readonly Block[]): number {
  const each = blocks.reduce((sum, {draws}) => sum + draws.length, 0)
  return lengthsOf(plan).length * partsOf(plan).length * distinct(plan.scales).length * each
}

/** All blocks in the order in which they run. */
function placed(
  plan: ErrorSweepPlan,
  blocks: readonly Block[],
  parts: readonly InputPart[],
): PlacedBlock[] {
  const scales = distinct(plan.scales)
  return lengthsOf(plan).flatMap(seq_len =>
    parts.flatMap(part =>
      scales.flatMap(scale => blocks.map(block => ({...block, part, seq_len, scale}))),
    ),
  )
}

/** The cells of a block, one for each draw. */
function cellsOf(plan: ErrorSweepPlan, block: PlacedBlock): ErrorSweepCell[] {
  const {spec, method, draws, part, seq_len, scale, target} = block
  const {input, layer} = part
  const {logit_scale, causal, causal_align, row_metrics, row_queries, seed, backend} = plan
  const predictions = plan.predictions && mayHaveCurves(block, method)
  const replicates = drawsOf(method, plan.replicates)
  const until = plan.until_ci && method.random && untilOf(method, plan.until_ci)
  return Array.from({length: draws.length}, (_, index) => {
    const axes = {seq_len, scale, target, ...draws.at(index), replicates}
    return {
      ...{...spec, input, ...axes, causal, row_metrics, seed, backend},
      ...(layer !== undefined && {layer}),
      ...(causal_align && {causal_align}),
      ...(until && {until_ci: until}),
      ...(logit_scale !== undefined && {logit_scale}),
      ...(row_queries !== undefined && !row_metrics && {row_queries}),
      ...(predictions && {predictions}),
    }
  })
}

/** Until when replicates are added: at most to as many as there are draws. */
function untilOf(method: ResolvedMethod, until: NonNullable<ErrorSweepPlan['until_ci']>) {
  return {...until, max_replicates: drawsOf(method, until.max_replicates)}
}

function jobsOf(
  plan: ErrorSweepPlan,
  blocks: readonly Block[],
  facts: FactsByPart,
  machine: Machine,
): PredictedCell<ErrorSweepCell>[] {
  const contexts = new KeptContexts()
  const costsOf = callCosts(plan, machine)
  const {causal, backend: choice, head_dims} = plan
  return placed(plan, blocks, [...facts.keys()]).flatMap((block, place) => {
    const own = facts.get(block.part)!.get(block.seq_len)!
    const {shape} = own
    const {id, input, bytes} = contexts.visit({...block, layer: block.part.layer}, shape)
    const rates = {...machine, choice}
    const context = {id, cost: contextCost({...shape, causal}, block.exact, rates)}
    const costs = costsOf(block, own)
    return cellsOf(plan, block).map((cell, index) => {
      const call = costs[index % costs.length]!
      const curves = curvesCost(cell, block.method, shape, rates)
      return {
        cell,
        label: label(cell, shape, head_dims !== undefined),
        predictedCost: call.cost,
        predictedBytes: call.bytes + bytes,
        group: input,
        shared: [context, ...(curves ? [{...curves, id: `${curves.id} of ${place}`}] : [])],
      }
    })
  })
}

/** @param several - whether the plan has several head dimensions, so that labels name one */
function label(cell: ErrorSweepCell, {queryLen, headDim}: ForwardShape, several: boolean): string {
  const layer = cell.layer === undefined ? [] : [`layer ${cell.layer}`]
  const scale = cell.scale === 1 ? [] : [`scale ${cell.scale}`]
  const dim = several ? [`D=${headDim}`] : []
  return [variantLabel(cell), ...layer, ...dim, `L=${queryLen}`, ...scale, cell.target].join(' ')
}
