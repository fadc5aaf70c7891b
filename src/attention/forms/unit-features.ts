/** What the forms of random feature attention share: unit vectors, their scale, the learned deviation. */

import {z} from 'zod'
import {tf} from '../../tf.js'
import type {FeatureKind, FeatureRecipe} from '../kernels/index.js'
import type {CallShape, HostParameters, Parameters, Projection} from '../types.js'

/** Options on how vectors become features. */
export const unitOptions = {
  normEpsilon: z
    .number()
    .nonnegative()
    .default(0)
    .describe('added to each norm before dividing by it'),
  featureScale: z
    .number()
    .positive()
    .nullable()
    .default(null)
    .describe('factor on features instead of M^-1/2; matters only with an epsilon or a guard'),
}

/** Divides unit vectors; only for kernels that are not homogeneous. */
export const tauOption = z
  .number()
  .positive()
  .default(1)
  .describe('divides the unit vectors; the softmax temperature it realises is tau^2')

/** `sigma` `[H, D]`, the learned deviation of every dimension: W = sigma o W~, rows of W~ as drawn. */
export function sigmaParameter({heads, headDim}: Pick<CallShape, 'heads' | 'headDim'>) {
  return {sigma: [heads, headDim]}
}

/** The projection in force. @returns sigma o W, `[H, M, D]`, a new tensor; without sigma the projection itself */
export function deviated(projection: Projection, {sigma}: Parameters): Projection {
  if (!sigma) return projection
  return tf.tidy(() => tf.mul(projection, tf.expandDims(sigma, 1)) as tf.Tensor3D)
}

/** The part of an exact target that sigma and an epsilon make: a scale per head and dimension, other lengths. */
export function unitTarget({normEpsilon}: UnitOptions, parameters: HostParameters | undefined) {
  return {
    ...(normEpsilon > 0 && {normEpsilon}),
    ...(parameters?.sigma && {dimensionScale: parameters.sigma}),
  }
}

/** What the kernel of an exact target takes, in its label. */
export function unitVectors(
  {normEpsilon}: Pick<UnitOptions, 'normEpsilon'>,
  parameters: HostParameters | undefined,
): string {
  const vectors = normEpsilon === 0 ? 'unit q, k' : `q, k over their length + ${normEpsilon}`
  return parameters?.sigma ? `${vectors} times sigma` : vectors
}

/** Options that make a recipe. */
export interface UnitOptions {
  tau?: number
  normEpsilon: number
  featureScale: number | null
}

/** Features of raw vectors: normalised, divided by tau, projected, mapped; `M^-1/2` or `featureScale` in front. */
export function unitRecipe(
  kind: Extract<FeatureKind, 'trigonometric' | 'relu'>,
  projection: Projection,
  {tau = 1, normEpsilon, featureScale}: UnitOptions,
): FeatureRecipe {
  const root = projection.shape.at(-2)! ** -0.5
  const wanted = featureScale ?? root
  return {
    kind,
    projection,
    unitNorm: true,
    normEpsilon,
    inputScale: 1 / tau,
    // the trigonometric map itself has the factor M^-1/2
    featureScale: kind !== 'trigonometric' ? wanted : featureScale === null ? 1 : wanted / root,
  }
}

/** The vector that {@link unitRecipe} projects; a zero vector stays zero. */
export function unitVector(x: Float64Array, {tau = 1, normEpsilon}: UnitOptions): Float64Array {
  const length = Math.sqrt(x.reduce((sum, value) => sum + value * value, 0)) + normEpsilon
  return length === 0 ? x : x.map(value => value / length / tau)
}

/** What {@link unitRecipe} makes of the mean over rows: M times the square of the factor on features. */
export function scaleFactor({featureScale}: UnitOptions, numFeatures: number): number {
  return featureScale === null ? 1 : numFeatures * featureScale ** 2
}

/** The parts of a kernel's formula that these options make. */
export function unitFormula({tau = 1, normEpsilon, featureScale}: UnitOptions) {
  const length = normEpsilon > 0 ? `(|q| + ${normEpsilon})` : '|q|'
  return {
    factor: featureScale === null ? '' : `M ${Number((featureScale ** 2).toPrecision(6))} `,
    unit: `x = q / ${tau === 1 ? length : `(${tau} ${length})`}`,
  }
}
