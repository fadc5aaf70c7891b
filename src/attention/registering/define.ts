/** Feature maps of authors outside of this package. */
import type {z} from 'zod'
import {describe, expected} from '../../errors.js'
import type {Estimator} from '../forms/estimator.js'
import {
  defineFeatureMap as defineCheckedMap,
  type FeatureMap,
  type MakeInputs,
  type PhiInputs,
} from '../forms/feature-map.js'
import {inPart} from './faults.js'
import {checkedPhi, sightings} from './features.js'

/**
 * An estimator from its feature map: attention `out_i = phi(x_i) S / (phi(x_i).z)` with `S = sum_j phi(y_j) v_j^T` and
 * `z = sum_j phi(y_j)`, its causal and its recurrent form, costs, sizes and kernel estimates all follow from phi.
 *
 * Features are looked at when they come: float32 `[B, H, n, F]`, F as `featureDim` says, and once before each
 * measurement that they are finite.
 *
 * @param map - facts (`name`, `title`, `citation`, `formula`, `advice`, `nonNegative`, `inputs`, `options`), `featureDim`
 *   and `phi`; others have defaults: see {@link FeatureMap}
 * @returns what {@link registerEstimator} takes, and what a plug-in exports
 * @throws {BAD_PLUGIN} where phi or a name is missing
 */
export function defineFeatureMap<Schema extends z.ZodObject, Made = undefined>(
  map: FeatureMap<Schema, Made>,
): Estimator<Schema> {
  checkMap(map)
  const {name, phi, make, featureDim, projection, sizedBy} = map
  const seen = sightings()
  return defineCheckedMap<Schema, Made>({
    ...map,
    ...(make && {
      make: (inputs: MakeInputs<z.output<Schema>>) => inPart(`${name}: make`, () => make(inputs)),
    }),
    phi: (inputs: PhiInputs<z.output<Schema>>, made: Made) => {
      const {headDim, options} = inputs
      const counted = projection !== undefined || sizedBy === undefined
      return checkedPhi(
        inPart(`${name}: phi`, () => phi(inputs, made)),
        {
          name,
          featureDim: counted
            ? featureDim(inputs.projection?.shape.at(-2) ?? 0, headDim, options)
            : undefined,
          seen: seen(),
        },
      )
    },
  })
}

function checkMap(map: unknown): asserts map is {name: string} {
  if (typeof map !== 'object' || map === null) {
    throw expected('BAD_PLUGIN', 'defineFeatureMap', 'an object with name and phi', describe(map))
  }
  const {name, phi, featureDim} = map as Record<string, unknown>
  if (typeof name !== 'string') {
    const remedy = "e.g. name: 'my-map'"
    throw expected('BAD_PLUGIN', 'defineFeatureMap', 'a name', describe(name), remedy)
  }
  if (typeof phi !== 'function') {
    const what = 'a function that gives features of tokens'
    const remedy =
      'write phi: ({inputScale, projection}) => tokens => features, or have it return a recipe'
    throw expected('BAD_PLUGIN', `${name}: phi`, what, describe(phi), remedy)
  }
  if (typeof featureDim === 'function') return
  const what = 'a function that gives F, the length of phi, from M and D'
  const remedy = 'e.g. featureDim: numFeatures => numFeatures'
  throw expected('BAD_PLUGIN', `${name}: featureDim`, what, describe(featureDim), remedy)
}
