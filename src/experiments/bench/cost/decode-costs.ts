/** Time and memory of decoding, predicted. */
import type {CallShape} from '../../../attention/index.js'
import type {MeteredBackend} from '../../../attention/internal.js'
import type {ResolvedMethod} from '../../method.js'

const FLOAT = 4

/** `batch` sequences at once, `keyLen` tokens each. */
export interface Decode {
  method: Pick<ResolvedMethod, 'estimator' | 'options'>
  shape: CallShape
}

/** Bytes of the state after `length` tokens. */
export function stateBytes({method, shape}: Decode, length = shape.keyLen): number {
  const {estimator, options} = method
  const {batch, heads, headDim, valueDim, numFeatures} = shape
  const sums = estimator.featureDim(numFeatures, headDim, options) * (valueDim + 1) * FLOAT
  const perHead = estimator.stateBytes?.({headDim, valueDim, numFeatures, length}, options) ?? sums
  return batch * heads * perHead
}

/**
 * Floating-point operations of a decode. Each token reads the whole of a state that grows, which is attention to
 * half of the keys on average. Otherwise a decode counts like a causal forward.
 */
export function decodeFlops(decode: Decode): number {
  const {method, shape} = decode
  const {keyLen} = shape
  const cached = keyLen > 1 && stateBytes(decode) === keyLen * stateBytes(decode, 1)
  const cost = (sizes: CallShape) => method.estimator.cost(sizes, method.options).flops
  if (!cached) return cost(shape)
  return keyLen * cost({...shape, queryLen: 1, keyLen: (keyLen + 1) / 2, causal: false})
}

/**
 * Seconds that a token takes in addition to its operations: calls, checks and temporary tensors. Orders of
 * magnitude, of a step that is one kernel on `native`, and about a dozen elsewhere.
 */
export const TOKEN_SECONDS: Record<MeteredBackend, number> = {
  native: 4e-6,
  tensorflow: 3e-4,
  wasm: 2e-4,
  cpu: 1e-4,
}

/** How many times longer operations take than in a forward: every token reads the whole state for one query. */
export const UNSHARED = 4
