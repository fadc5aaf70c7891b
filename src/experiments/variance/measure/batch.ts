/** The calls in which draws of a variance cell are made: what they compute and what their plan predicts. */
import type {CallShape, Estimator, OrthSign} from '../../../attention/index.js'
import {drawnInPlane, drawnTurned, noiseSpecs, turnedAxes} from '../../../attention/internal.js'
import type {ProjectionName} from '../../../attention/names.js'
import type {VarianceCell} from '../schema.js'

/** Draws that share a stream of random numbers: what a draw is does not depend on how many are estimated together. */
export const GROUP = 64

/** Stands for the projection of methods with random features that use none. */
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
  /** How rows are tilted, where they are. */
  tilted?: {plane: 2 | 3 | undefined; whole: boolean} | undefined
}

/** How draws are made and estimated. */
export interface Batch {
  /** Rows are drawn by coordinates in the plane of the pair, where that is all that features take from them. */
  plane: 2 | 3 | undefined
  /** Each draw has another direction: rows depend on directions. */
  turned: boolean
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

export function batchOf(drawing: Drawing): Batch {
  const {estimator, options, projection} = drawing
  const {num_features: numFeatures, head_dim: headDim} = drawing.cell
  const {tilted} = drawing
  const turned = tilted?.whole || isTurned(projection, drawing.cell.orth_sign)
  const plane = tilted ? tilted.plane : planeOf(drawing, turned)
  const columns = plane ?? headDim
  const specs = Object.values(noiseSpecs(estimator, batchShape(numFeatures, columns, 1), options))
  const noise = specs.reduce((sum, spec) => sum + spec.rows * spec.columns, 0)
  const matrix = projection === NO_PROJECTION ? 0 : numFeatures * columns
  const whole = turned ? numFeatures * headDim : matrix
  const axes = turned ? turnedAxes(columns, headDim) : 0
  // both directions of whole blocks, and three numbers for each length; or the matrix, and how it is turned
  const directions = 2 * Math.ceil(numFeatures / headDim) * headDim
  const drawn = plane && !turned ? directions + 3 * numFeatures : whole + axes * headDim
  const features = 2 * estimator.featureDim(numFeatures, headDim, options)
  const bridges = estimator.calibrates ? 2 * BRIDGE_ARRAYS * matrix : 0
  const drawnBytes = FLOAT * (matrix + noise + (turned ? whole : 0)) + DOUBLE * drawn
  const madeBytes = FLOAT * (matrix + FEATURE_ARRAYS * features + bridges)
  // Gram-Schmidt over the rows of a block; of directions, and the products of rows with them
  const orthogonal = plane && !turned ? 0 : 2 * Math.min(numFeatures, headDim) * whole
  const turning = 2 * axes * (axes + numFeatures) * headDim
  const operations =
    NORMAL * (drawn + noise) + orthogonal + turning + ENTRY * (FEATURE_ARRAYS * features + bridges)
  // matrices are kept for other methods and noise is drawn by group: those go one group at a time
  const alone = plane === undefined || turned || specs.length > 0
  const groups = alone ? 1 : Math.floor(PLANE_BYTES / GROUP / (drawnBytes + madeBytes))
  const draws = GROUP * Math.max(1, groups)
  return {plane, turned, columns, draws, drawnBytes, madeBytes, operations}
}

/** Whether bias and variance of a projection are averages over directions. */
export function isTurned(projection: string, orthSign: OrthSign): boolean {
  return projection !== NO_PROJECTION && drawnTurned(projection as ProjectionName, orthSign)
}

function planeOf({estimator, projection, cell}: Drawing, turned: boolean): Batch['plane'] {
  const by = estimator.kernel?.rowsBy
  if (by === undefined) return undefined
  const columns = by === 'products' ? 2 : 3
  const {orth_sign: orthSign, head_dim: headDim} = cell
  const coordinates = turned
    ? headDim > columns
    : drawnInPlane(projection, {orthSign, headDim, columns})
  return coordinates ? columns : undefined
}

/** One token on each side, one head per draw. */
export function batchShape(numFeatures: number, headDim: number, heads: number): CallShape {
  return {
    ...{batch: 1, heads, queryLen: 1, keyLen: 1, headDim, valueDim: 1},
    numFeatures,
    causal: false,
  }
}
