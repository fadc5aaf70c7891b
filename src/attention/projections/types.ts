/** What a projection is: facts, and the draw of one head's matrix. */
import type {RandomStream} from '../../random/index.js'
import type {PresetName} from '../types.js'

export interface MatrixShape {
  /** M */
  numFeatures: number
  /** D */
  headDim: number
}

/** Opens the random stream of a named part of the draw (directions, lengths) and block. */
export type StreamOf = (part: string, block?: number) => RandomStream

/** A row that a matrix is to have. */
export interface GivenRow {
  /** Its index. */
  row: number
  /** `[D]` */
  vector: Float64Array
}

/** All matrices of a request, for the loops of a backend. */
export interface AllMatrices extends MatrixShape, DrawOptions {
  /** The first one; `replicates` of them. */
  replicate: number
  replicates: number
  heads: number
  /** Key of the streams of a named part of the draw. */
  key(part: string): Uint32Array
  /** `[R, H, M, D]` */
  out: Float64Array | Float32Array
}

/**
 * Signs of orthogonal factors: `haar` makes them uniformly distributed; `raw` leaves them as the
 * Householder QR of LAPACK does, as official codes do: positive features are then biased.
 */
export const ORTH_SIGNS = ['haar', 'raw'] as const
export type OrthSign = (typeof ORTH_SIGNS)[number]

/** What a draw depends on in addition to its size and its random numbers. */
interface DrawOptions {
  orthSign: OrthSign
}

/**
 * Distribution of one row by itself, which decides the bias of every kernel estimate:
 *
 * - `normal`: N(0, I); every estimate is unbiased.
 * - `near-normal`: zero mean, identity covariance, not quite normal; a bias, which grows with the norms.
 * - `sphere`: uniform on the sphere of radius sqrt(D); unbiased for SMREG, below the softmax kernel.
 * - `padded-sphere`: D coordinates of a row of length sqrt(P), P the power of two from D up; its direction is not
 * quite uniform. For D = P as `sphere`, but for the directions; else lengths vary. Biased for every kernel.
 * - `other`: something else; biased.
 */
export type RowLaw = 'normal' | 'near-normal' | 'sphere' | 'padded-sphere' | 'other'

/** One projection: facts first, from which help, tables and tests derive. */
export interface ProjectionDefinition {
  /** What its rows are, in one line. */
  title: string
  /** With Haar signs, where those matter. */
  rows: RowLaw
  /**
   * A rotation of all rows together leaves their joint law as it is, with Haar signs where those matter: what holds in one
   * direction holds in all. Else bias and variance of estimates depend on where vectors point.
   */
  rotationInvariant: boolean
  /** Authors, year, arXiv or venue. */
  citation: string
  /** The released code that draws it so; such a projection is here to show its cost. */
  releasedBy?: PresetName
  /** It has orthogonal factors with signs that {@link OrthSign} chooses. */
  takesOrthSign?: boolean
  /** A draw of fewer rows is the beginning of a draw of more. Default true. */
  extends?: boolean
  /** What sizes must be, as `expected ...` says it, for sizes that cannot be drawn. */
  refuses?(shape: MatrixShape): {what: string; expected: string; got: string} | undefined
  /** One head's matrix, `[M, D]`, row-major. */
  draw(shape: MatrixShape, stream: StreamOf, options: DrawOptions): Float64Array
  /**
   * Draws all matrices by a loop of the backend in use; false where there is none. Tests compare it with {@link draw}.
   */
  drawAll?(all: AllMatrices): boolean
}
