/** A method on the tokens of a layer: its outputs with parameters, and what others make of the same tokens. */
import {attend, type CallOptions, tf} from '../../../attention/index.js'
import {hostData} from '../../../attention/internal.js'
import type {Loss} from '../../../tuned/index.js'
import {attendOptions} from '../../axes.js'
import type {TuneCell} from '../schema.js'
import {applied, type Parameters} from './parameters.js'
import {headErrors, type Problem, textErrors} from './problem.js'
import {crossEntropies, identityValues} from './rows.js'

type Options = {method: string} & CallOptions & Record<string, unknown>

/** Outputs of a method with parameters, `[B, H, L, Dv]`. @param value - Default: those of the problem */
function outputOf(
  problem: Problem,
  options: Options,
  parameters: Parameters,
  value = problem.value,
): tf.Tensor4D {
  const {keyMask, scale} = problem
  const {projection} = parameters
  const query = applied(problem.query, 'query', parameters)
  const key = applied(problem.key, 'key', parameters)
  return attend(query, key, value, {
    ...{...options, scale},
    ...(keyMask && {keyMask}),
    ...(projection && {projection}),
  }).out
}

/** Mean over heads of the squared relative error, or of the cross entropy of rows in nats. */
export function lossOf(
  problem: Problem,
  options: Options,
  parameters: Parameters,
  loss: Loss = 'outputs',
): tf.Scalar {
  if (loss === 'outputs') {
    return tf.mean(headErrors(outputOf(problem, options, parameters), problem))
  }
  const rows = outputOf(problem, options, parameters, identityValues(problem))
  return tf.mean(crossEntropies(rows, problem))
}

/** Cross entropy of rows, mean over the queries of texts in several parts. */
export function rowsLossOf(
  parts: readonly Problem[],
  options: Options,
  parameters: Parameters,
): number {
  let [total, queries] = [0, 0]
  for (const part of parts) {
    const {loss, counts} = hostData(() => ({
      loss: lossOf(part, options, parameters, 'rows'),
      counts: tf.sum(part.counts),
    }))
    total += loss[0]! * counts[0]!
    queries += counts[0]!
  }
  return total / queries
}

/** Squared relative error of each head. */
export function errorsOf(
  problem: Problem,
  options: Options,
  parameters: Parameters = {},
): Float32Array {
  const {errors} = hostData(() => ({
    errors: headErrors(outputOf(problem, options, parameters), problem),
  }))
  return Float32Array.from(errors)
}

/** What each text adds to the squared relative error of each head, `[B, H]`. */
export function textErrorsOf(
  problem: Problem,
  options: Options,
  parameters: Parameters = {},
): Float32Array {
  const {errors} = hostData(() => ({
    errors: textErrors(outputOf(problem, options, parameters), problem),
  }))
  return Float32Array.from(errors)
}

/** Draws of learning, beyond those that are reported. */
const LEARNING_DRAWS = 1_000_000

/** Options of a step: random vectors that are not learned are other ones in every step. */
export function stepOptions(cell: TuneCell, step: number): Options {
  return attendOptions(cell, cell.draw ?? LEARNING_DRAWS + step)
}

/** Draws that held-out errors are taken over. */
export function drawsOf({draw, draws}: Pick<TuneCell, 'draw' | 'draws'>): number[] {
  return draw === null ? Array.from({length: draws}, (_, i) => i) : [draw]
}
