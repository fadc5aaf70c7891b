/** What a training run takes: operations, and the peak of its process. */
import {footprint, type MeteredBackend, plainSeconds} from '../../attention/internal.js'
import {weightShapes} from '../../model/trained/index.js'
import type {Task} from '../../tasks/index.js'
import type {PredictedCell} from '../experiment.js'
import {callShape, type ResolvedMethod} from '../method.js'
import {runtimeBytes, UNCOLLECTED} from '../process-memory.js'
import {backendCost, timeCost} from '../rates.js'
import type {TrainCell} from './schema.js'

/** Forward passes that a step takes as long as: its own and the way back. */
const PASSES = 3
/** The same of the attention, which forms features once more on the way back. */
const ATTENTION_PASSES = 4
/** Seconds of a step for calling operations, for each part of the model, and for each entry of its hidden states. */
const SECONDS = {part: 1.2e-3, entry: 1.2e-8}
/** Widths of a hidden state that a part of the model keeps for the way back, with their gradients. */
const WIDTHS = 14
/** Copies of a weight: value, gradient, both means, and those of the step before. */
const COPIES = 7
/** Times the memory of a forward pass of the attention that is kept. */
const KEPT = 3
/** Bytes of a number. */
const FLOAT = 4

export function predictions(
  cell: TrainCell,
  {vocabulary, length}: Pick<Task, 'vocabulary' | 'length'>,
  {estimator, options}: ResolvedMethod,
  backend: MeteredBackend,
): Pick<PredictedCell, 'predictedCost' | 'predictedBytes'> {
  const {model, batch, steps, held_out, key_dim: headDim} = cell
  const {layers, heads, width, mlp, convolution} = model
  const sizes = {...model, headDim, vocabulary, length, gated: estimator.takesGate ?? false}
  const weights = weightShapes(sizes).reduce(
    (sum, [, shape]) => sum + shape.reduce((a, b) => a * b, 1),
    0,
  )
  const rows = batch * length
  const tokens = {batch, heads, queryLen: length, keyLen: length, headDim, valueDim: width / heads}
  const shape = callShape(tokens, {...cell, causal: true})
  const rates = {backend, choice: cell.backend}
  const attention =
    backendCost(estimator.cost(shape, options).flops, rates) +
    timeCost(plainSeconds(estimator, options, shape, backend), cell.backend)
  const parts = 1 + layers * (mlp > 0 ? 2 : 1) + (convolution > 0 ? 1 : 0)
  const overhead = parts * (SECONDS.part + SECONDS.entry * rows * width)
  const step =
    PASSES * backendCost(2 * rows * weights, rates) +
    ATTENTION_PASSES * layers * attention +
    timeCost(overhead, cell.backend)
  const judged = (2 * held_out) / batch / PASSES
  return {
    predictedCost: (steps + judged) * step,
    predictedBytes:
      runtimeBytes(backend) +
      UNCOLLECTED +
      COPIES * FLOAT * weights +
      FLOAT * rows * (parts * WIDTHS * width + layers * mlp + 2 * vocabulary) +
      KEPT * layers * footprint(estimator, options, shape, backend),
  }
}
