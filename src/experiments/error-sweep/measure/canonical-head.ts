/** Single heads of an input as theory takes them. */
import type {CausalView} from '../../../causal-view.js'
import type {AttentionInput} from '../../../inputs/attention-input.js'
import {halfSquares} from '../../../theory/ratio-error/queries.js'
import type {PositiveHead} from '../../../theory/ratio-error/types.js'

/** One head of one sequence, canonical. @param at - sequence by sequence */
export function headOf(
  {query, key, value}: AttentionInput,
  at: number,
  {logitScale, causal, causalAlign}: {logitScale: number} & CausalView,
): PositiveHead {
  const factor = Math.sqrt(logitScale)
  const part = ({shape, data}: AttentionInput['query']) => {
    const size = shape[2] * shape[3]
    return data.subarray(at * size, (at + 1) * size)
  }
  return {
    query: scaled(part(query), factor),
    key: scaled(part(key), factor),
    value: part(value),
    headDim: query.shape[3],
    valueDim: value.shape[3],
    ...{causal, causalAlign},
  }
}

function scaled(vectors: Float32Array, factor: number): Float64Array {
  const out = new Float64Array(vectors)
  for (let at = 0; at < out.length; at++) out[at]! *= factor
  return out
}

/** Above it float32 has only every other integer. */
const LARGEST = 2 ** 24

/** Whether logits or half squared lengths may be so large that their rounding alone changes weights by factors. */
export function overflows({query, key, headDim}: PositiveHead): boolean {
  const longest = (vectors: Float64Array) =>
    halfSquares(vectors, headDim).reduce((most, half) => Math.max(most, half), 0)
  return !(longest(query) + longest(key) < LARGEST)
}
