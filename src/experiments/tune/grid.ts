/** What is learned as cells and jobs: layers, and draws of learned random vectors. */
import {footprint, type MeteredBackend, plainSeconds} from '../../attention/internal.js'
import {meteredBackend} from '../../backends/index.js'
import {expected} from '../../errors.js'
import {inputFacts} from '../../inputs/input-facts.js'
import {hasLearnedRows} from '../../tuned/index.js'
import {drawGrid, inputParts} from '../axes.js'
import type {Grid, PredictedCell} from '../experiment.js'
import {variantLabel} from '../labels.js'
import {callShape, type ForwardShape, type ResolvedMethod, resolveMethod} from '../method.js'
import {runtimeBytes, UNCOLLECTED} from '../process-memory.js'
import {backendCost, timeCost} from '../rates.js'
import type {TuneCell, TunePlan} from './schema.js'
import {stepTexts} from './step-texts.js'

/** Forward passes that a step takes as long as: its own, and the way back of about twice that, without fused kernels. */
const PASSES = 6
/** Times the memory of a forward pass: the way back keeps what comes in between. */
const KEPT = 4
/** Matrices of all weights of a step that are there at once. */
const ROW_MATRICES = 8
/** Bytes of a number. */
const FLOAT = 4

/** All cells of a plan. @throws {UNSUPPORTED} for a method that cannot learn what is asked for */
export async function tuneGrid(plan: TunePlan): Promise<Grid<TuneCell>> {
  const [spec] = plan.methods
  const method = await resolveMethod(spec!)
  assertLearns(plan, method)
  const cells = cellsOf(plan, method)
  return {
    count: cells.length,
    cells: () => cells,
    jobs: () => Promise.all(cells.map(cell => predicted(cell, method))),
  }
}

function cellsOf(plan: TunePlan, method: ResolvedMethod): TuneCell[] {
  const [spec] = plan.methods
  const {original, learn, loss, steps, learning_rate, held_out, causal, causal_align} = plan
  const {logit_scale, seed, backend} = plan
  const point = drawGrid(method, plan).at(0)
  const draws = method.random ? plan.draws : 1
  const each = hasLearnedRows({learned: learn})
    ? Array.from({length: draws}, (_, draw) => draw)
    : [null]
  return inputParts(plan).flatMap(({input, layer}) =>
    each.map(draw => ({
      ...{...spec!, ...point, draw, input, learn, steps, learning_rate, held_out, draws},
      ...(original && {original}),
      ...(loss !== undefined && {loss}),
      ...(layer !== undefined && {layer}),
      ...(logit_scale !== undefined && {logit_scale}),
      ...{causal, seed, backend},
      ...(causal_align && {causal_align}),
    })),
  )
}

/** @throws {UNSUPPORTED} for an exact method, one without a gradient, or random vectors where there are none */
function assertLearns({learn, loss}: TunePlan, {estimator, projected}: ResolvedMethod): void {
  const {name, stepwise, ignores = {}, unbiasedFor, nonNegative, rowsSumToOne} = estimator
  const refuse = (what: string, got: string, ...remedies: string[]) =>
    expected('UNSUPPORTED', `tune, ${name}`, what, got, ...remedies)
  if (unbiasedFor === 'exact') {
    throw refuse('a method with an error to lower', 'exact attention', 'take favor-pos')
  }
  if (stepwise !== undefined) throw refuse('a method with a gradient', stepwise)
  if (ignores.query !== undefined && ignores.key !== undefined) {
    throw refuse('a method with a gradient by queries or keys', ignores.query)
  }
  if (loss === 'rows' && !(nonNegative && rowsSumToOne)) {
    const what = 'a method with rows of weights that are shares of one, for the loss `rows`'
    const remedies = ['take favor-pos or hedgehog', 'or learn for `loss: outputs`']
    throw refuse(what, 'one with weights of either sign, or other sums', ...remedies)
  }
  if (!hasLearnedRows({learned: learn}) || projected) return
  throw refuse('a method with random vectors to learn rows', 'one without', 'learn maps')
}

async function predicted(
  cell: TuneCell,
  {estimator, options}: ResolvedMethod,
): Promise<PredictedCell<TuneCell>> {
  const {input, layer, backend: choice, steps, draw} = cell
  const {sizes, loadingBytes} = await inputFacts(input, [null], {layer})
  const backend = await meteredBackend(choice)
  const {loss, original, draws} = cell
  const {batch, ...size} = sizes[0]!
  const shape = callShape({...size, batch: original && draw !== null ? batch / draws : batch}, cell)
  // rows of weights are outputs for values as wide as there are keys
  const passed = loss === 'rows' ? {...shape, valueDim: shape.keyLen} : shape
  const {flops} = estimator.cost(passed, options)
  const plain = plainSeconds(estimator, options, passed, backend)
  const pass = backendCost(flops, {backend, choice}) + timeCost(plain, choice)
  const where = layer === undefined ? [] : [`layer ${layer}`]
  const drawn = draw === null ? [] : [`draw ${draw}`]
  return {
    cell,
    label: variantLabel(cell, [...where, ...drawn]),
    predictedCost: steps * PASSES * pass,
    predictedBytes:
      memoryOf(shape, backend) +
      loadingBytes +
      (loss === 'rows' ? rowsBytes(shape) : 0) +
      KEPT * footprint(estimator, options, loss === 'rows' ? ofStep(passed) : shape, backend),
  }
}

/** The texts of a step: of others no rows are in memory. */
function ofStep<Shape extends ForwardShape>(shape: Shape): Shape {
  return {...shape, batch: Math.min(shape.batch, stepTexts(shape, 'rows'))}
}

/** Identity, exact rows, rows, and what their loss and its gradient are made of. */
function rowsBytes(shape: ForwardShape): number {
  const {batch, heads, queryLen, keyLen} = ofStep(shape)
  return ROW_MATRICES * FLOAT * batch * heads * queryLen * keyLen
}

/** The process, and the tokens as they are read and as tensors. */
function memoryOf(
  {batch, heads, queryLen, keyLen, ...dims}: ForwardShape,
  backend: MeteredBackend,
) {
  const {headDim, valueDim} = dims
  const tokens = batch * heads * FLOAT * (queryLen + keyLen) * (headDim + valueDim)
  return runtimeBytes(backend) + UNCOLLECTED + 3 * tokens
}
