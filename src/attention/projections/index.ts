/**
 * Projections: seed to matrix, the only place of the kernel package where randomness enters. Rows
 * are the random vectors of the feature maps, drawn in double precision without any backend.
 */
import {expected, unknownName} from '../../errors.js'
import {randomStream} from '../../random/index.js'
import {iidRows} from './iid.js'
import {orthogonalRows} from './orthogonal.js'

/** Draws one head's matrix: M x D numbers, row-major. */
type Draw = (shape: MatrixShape, stream: StreamOf) => Float64Array

/** Rows and columns of a projection. */
export interface MatrixShape {
  numFeatures: number
  headDim: number
}

/** Opens the random stream of a named part of the draw (directions, lengths) and block. */
export type StreamOf = (part: string, block?: number) => ReturnType<typeof randomStream>

/**
 * The projections by name.
 *
 * - `iid`: rows N(0, I).
 * - `orth`: blocks of D orthogonal rows, directions Haar-distributed (signs fixed), independent
 *   chi_D lengths: each row is N(0, I), rows of a block are orthogonal.
 * - `orth-sqrt-d`: the same with every length sqrt(D): lower variance, biased for the softmax kernel.
 */
const PROJECTIONS = {
  iid: iidRows,
  orth: (shape, stream) => orthogonalRows(shape, stream, 'chi'),
  'orth-sqrt-d': (shape, stream) => orthogonalRows(shape, stream, 'sqrt-d'),
} as const satisfies Record<string, Draw>

/** A projection's name. */
export type ProjectionName = keyof typeof PROJECTIONS
export const PROJECTION_NAMES = Object.keys(PROJECTIONS) as readonly ProjectionName[]

/** Everything a draw depends on: the same request gives the same bytes, anywhere, in any order. */
export interface ProjectionRequest extends MatrixShape {
  name: ProjectionName
  /** One matrix per head, independent of the others. */
  heads: number
  seed: number
  /** Index of the independent repetition. Default 0. */
  replicate?: number
}

/**
 * Draws the projections of all heads.
 *
 * @returns `[H, M, D]`, row-major
 * @throws {UNKNOWN_NAME} for a name that is not in the registry
 * @throws {BAD_OPTION} for sizes below 1, or a seed or replicate that is no whole number of at least 0
 */
export function drawProjection(request: ProjectionRequest): Float64Array {
  const {name, heads, numFeatures, headDim, seed, replicate = 0} = request
  const draw: Draw | undefined = Object.hasOwn(PROJECTIONS, name) ? PROJECTIONS[name] : undefined
  if (!draw) throw unknownName('projection', 'projections', name, PROJECTION_NAMES)
  for (const [what, size] of Object.entries({heads, numFeatures, headDim})) {
    if (!Number.isInteger(size) || size < 1) {
      throw expected('BAD_OPTION', what, 'a whole number of at least 1', String(size))
    }
  }
  for (const [what, index] of Object.entries({seed, replicate})) {
    if (!Number.isSafeInteger(index) || index < 0) {
      throw expected('BAD_OPTION', what, 'a whole number of at least 0', String(index))
    }
  }
  const out = new Float64Array(heads * numFeatures * headDim)
  for (let head = 0; head < heads; head++) {
    const stream: StreamOf = (part, block = 0) =>
      randomStream(seed, `projection.${part}`, replicate, head, block)
    out.set(draw({numFeatures, headDim}, stream), head * numFeatures * headDim)
  }
  return out
}
