/**
 * Projections: seed to matrix, the only place of the kernel package where projections become random.
 * Rows are the random vectors of the feature maps, drawn in double precision without any backend.
 */
import {describe, expected, unknownName} from '../../errors.js'
import {randomStream, streamKey} from '../../random/index.js'
import {checkFeatures, checkNumbers, checkObject} from '../check-tensor.js'
import {antithetic} from './antithetic.js'
import {givens} from './givens.js'
import {sorf, sorfChi} from './hadamard.js'
import {halton} from './halton.js'
import {iid} from './iid.js'
import {moment} from './moment.js'
import {orth, orthSqrtD} from './orthogonal.js'
import {householderProduct, orthColumns, orthCoupled, orthTall} from './released.js'
import {simplex, simplexPlus} from './simplex.js'
import {sobol} from './sobol.js'
import {
  type MatrixShape,
  ORTH_SIGNS,
  type OrthSign,
  type ProjectionDefinition,
  type StreamOf,
} from './types.js'

export {ORTH_SIGNS, type OrthSign, type ProjectionDefinition, type RowLaw} from './types.js'

/** The projections by name, right ones first, then those that released code draws. */
const PROJECTIONS = {
  iid,
  orth,
  'orth-sqrt-d': orthSqrtD,
  givens,
  sorf,
  'sorf-chi': sorfChi,
  simplex,
  'simplex-plus': simplexPlus,
  sobol,
  halton,
  antithetic,
  moment,
  'orth-tall': orthTall,
  'orth-columns': orthColumns,
  'orth-coupled': orthCoupled,
  householder: householderProduct,
} as const satisfies Record<string, ProjectionDefinition>

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
  /** How many repetitions from that one on are drawn. Default 1. */
  replicates?: number
  /** Index of the redraw within a repetition. Default 0. */
  redraw?: number
  /** Signs of orthogonal factors; projections without any ignore it. Default `haar`. */
  orthSign?: OrthSign
}

/** The facts of a projection. @throws {UNKNOWN_NAME} for a name that is not in the registry */
export function projectionNamed(name: string): ProjectionDefinition {
  if (Object.hasOwn(PROJECTIONS, name)) return PROJECTIONS[name as ProjectionName]
  throw unknownName('projection', 'projections', name, PROJECTION_NAMES)
}

/**
 * Draws the projections of all heads.
 *
 * The same matrices on every backend, to the rounding of float32; on one backend the same bits for any number of
 * threads, repetitions and heads drawn together.
 *
 * @returns `[H, M, D]`, row-major; several repetitions one after the other, `[R H, M, D]`
 * @throws {UNKNOWN_NAME} for a name or sign that is not in the registry
 * @throws {BAD_OPTION} for sizes below 1 or that the projection cannot have, or a seed, replicate or redraw that is
 * not a whole number of at least 0
 */
export function drawProjection(request: ProjectionRequest): Float64Array {
  return drawInto(request, Float64Array)
}

/** {@link drawProjection} rounded to float32, without doubles of all matrices in between. */
export function drawProjectionFloats(request: ProjectionRequest): Float32Array {
  return drawInto(request, Float32Array)
}

function drawInto<Reals extends Float32Array | Float64Array>(
  request: ProjectionRequest,
  Reals: new (length: number) => Reals,
): Reals {
  checkObject('projection', request)
  const {name, heads, numFeatures, headDim, seed} = request
  const {replicate = 0, replicates = 1, redraw = 0, orthSign = 'haar'} = request
  const definition = projectionNamed(name)
  if (!ORTH_SIGNS.includes(orthSign)) throw unknownName('orthSign', 'signs', orthSign, ORTH_SIGNS)
  checkWhole({heads, numFeatures, headDim, replicates}, 1)
  checkWhole({seed, replicate, redraw}, 0)
  const shape = {numFeatures, headDim}
  checkFeatures(numFeatures)
  checkShape(definition, shape)
  checkNumbers('projection', {replicates, heads, numFeatures, headDim})
  const size = numFeatures * headDim
  const out = new Reals(replicates * heads * size)
  const again = redraw === 0 ? '' : `.${redraw}`
  const drawName = (part: string) => `projection.${part}${again}`
  const key = (part: string) => streamKey(seed, drawName(part))
  const sizes = {...shape, replicate, replicates, heads}
  if (definition.drawAll?.({...sizes, key, orthSign, out})) return out
  for (let index = 0; index < replicates * heads; index++) {
    const [repetition, head] = [replicate + Math.floor(index / heads), index % heads]
    const stream: StreamOf = (part, block = 0) =>
      randomStream(seed, drawName(part), repetition, head, block)
    out.set(definition.draw(shape, stream, {orthSign}), index * size)
  }
  return out
}

function checkWhole(numbers: Record<string, number>, least: number): void {
  for (const [what, value] of Object.entries(numbers)) {
    if (Number.isSafeInteger(value) && value >= least) continue
    throw expected('BAD_OPTION', what, `a whole number of at least ${least}`, describe(value))
  }
}

function checkShape({refuses}: ProjectionDefinition, shape: MatrixShape): void {
  const refused = refuses?.(shape)
  if (refused) throw expected('BAD_OPTION', refused.what, refused.expected, refused.got)
}
