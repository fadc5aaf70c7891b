/** The calls in which draws of a variance cell are made: what they compute and what their plan predicts. */
import type {CallShape, Estimator} from '../../attention/index.js'
import {drawnInPlane, noiseSpecs} from '../../attention/internal.js'
import type {VarianceCell} from './schema.js'

/** Draws that share a stream of random numbers: what a draw is does not depend on how many are estimated together. */
export const GROUP = 64

/** Stands for the projection of methods whose random features use none. */
export const NO_PROJECTION = 'none'

/** What draws in a plane that are estimated together may hold, in whole groups. */
const PLANE_BYTES = 2 ** 23

const FLOAT = 4
const DOUBLE = 8

/** Arrays as long as the features of a side that are made on the way to products: logarithms, exponentials, factors. */
const FEATURE_ARRAYS = 5
/** Arrays of the size of all rows that features set by calibration make of them, on each side. */
const BRIDGE_ARRAYS = 8

/** Operations of a normal number and of an entry of an array that is made. */
const NORMAL = 50
const ENTRY = 8

/** A cell's estimates with the rows of one projection. */
interface Drawing {
  cell: Pick<VarianceCell, 'num_features' | 'head_dim' | 'orth_sign'>
  estimator: Estimator
  options: Record<string, unknown>
  projection: string
}

/** How draws are made and estimated. */
export interface Batch {
  /** Rows are drawn by coordinates in the plane of the pair, where that is all that features take from them. */
  plane: 2 | 3 | undefined
  /** Entries of a row and of the vectors: coordinates, or D. */
  columns: number
  /** Draws estimated together, as heads of one tensor. */
  draws: number
  /** What a draw holds: random arrays on the host, which become tensors. */
  drawnBytes: number
  /** What is made of them. */
  madeBytes: number
  /** What a draw takes to make and to estimate. */
  operations: number
}

/** The batches of a projection's draws. */
export function batchOf(drawing: Drawing): Batch {
  const {estimator, options, projection} = drawing
  const {num_features: numFeatures, head_dim: headDim} = drawing.cell
  const plane = planeOf(drawing)
  const columns = plane ?? headDim
  const specs = Object.values(noiseSpecs(estimator, batchShape(numFeatures, columns, 1), options))
  const noise = specs.reduce((sum, spec) => sum + spec.rows * spec.columns, 0)
  const matrix = projection === NO_PROJECTION ? 0 : numFeatures * columns
  // both directions of whole blocks, and three numbers for each length; or the matrix
  const directions = 2 * Math.ceil(numFeatures / headDim) * headDim
  const drawn = plane ? directions + 3 * numFeatures : matrix
  const features = 2 * estimator.featureDim(numFeatures, headDim, options)
  const bridges = estimator.calibrates ? 2 * BRIDGE_ARRAYS * matrix : 0
  const drawnBytes = FLOAT * (matrix + noise) + DOUBLE * drawn
  const madeBytes = FLOAT * (matrix + FEATURE_ARRAYS * features + bridges)
  // Gram-Schmidt over the rows of a block
  const orthogonal = plane ? 0 : 2 * Math.min(numFeatures, headDim) * matrix
  const operations =
    NORMAL * (drawn + noise) + orthogonal + ENTRY * (FEATURE_ARRAYS * features + bridges)
  // matrices are kept for other methods and noise is drawn by group: those go one group at a time
  const alone = plane === undefined || specs.length > 0
  const groups = alone ? 1 : Math.floor(PLANE_BYTES / GROUP / (drawnBytes + madeBytes))
  return {plane, columns, draws: GROUP * Math.max(1, groups), drawnBytes, madeBytes, operations}
}

function planeOf({estimator, projection, cell}: Drawing): Batch['plane'] {
  const by = estimator.kernel?.rowsBy
  if (by === undefined) return undefined
  const columns = by === 'products' ? 2 : 3
  const {orth_sign: orthSign, head_dim: headDim} = cell
  return drawnInPlane(projection, {orthSign, headDim, columns}) ? columns : undefined
}

/** One token on each side, one head per draw. */
export function batchShape(numFeatures: number, headDim: number, heads: number): CallShape {
  return {
    ...{batch: 1, heads, queryLen: 1, keyLen: 1, headDim, valueDim: 1},
    numFeatures,
    causal: false,
  }
}
