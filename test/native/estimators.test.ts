import {it} from 'vitest'
import {loadEstimators, METHOD_NAMES} from '../../src/attention/index.js'
import type {Sizes} from '../helpers/arrays.js'
import {
  caseName,
  runCase,
  shapeCases,
  twinOfCase,
  unsupportedReason,
} from '../helpers/estimator-case.js'
import {assertWithin} from '../helpers/rounding.js'
import {describeNative, describeOnEachIsa} from './addon.js'
import {guarded} from './guards.js'

await loadEstimators()

/** One shape as a row: B, H, L, S, D, Dv, M. */
function sizes(...axes: [number, number, number, number, number, number, number]): Sizes {
  const [batch, heads, queryLen, keyLen, headDim, valueDim, numFeatures] = axes
  return {batch, heads, queryLen, keyLen, headDim, valueDim, numFeatures}
}

// D and Dv at and around the widths of vectors, lengths around tiles and chunks, M from 1 to 1000
const SHAPES: readonly Sizes[] = [
  sizes(1, 1, 1, 1, 1, 1, 1),
  sizes(2, 3, 5, 7, 3, 1, 2),
  sizes(1, 2, 15, 17, 7, 3, 15),
  sizes(1, 1, 31, 33, 16, 17, 16),
  sizes(2, 1, 33, 31, 17, 16, 17),
  sizes(1, 2, 63, 65, 63, 65, 31),
  sizes(1, 1, 64, 64, 64, 64, 64),
  sizes(1, 2, 65, 63, 65, 63, 63),
  sizes(1, 1, 127, 129, 5, 128, 65),
  sizes(1, 1, 129, 127, 128, 5, 127),
  sizes(1, 1, 255, 257, 11, 13, 129),
  sizes(1, 1, 257, 255, 13, 11, 1),
  sizes(1, 1, 37, 41, 7, 5, 1000),
]

describeNative('fused kernels, outputs pre-filled with NaN between guard zones', addon => {
  describeOnEachIsa(addon, () => {
    const shapes = SHAPES.map((shape, index) => ({sizes: shape, sharedProjection: index % 2 === 0}))
    for (const given of shapeCases(METHOD_NAMES, shapes)) {
      it(`${caseName(given)} is within rounding of its definition`, context => {
        const reason = unsupportedReason(given)
        if (reason) return context.skip(reason)
        const {out, denominator} = twinOfCase(given)
        const actual = guarded(() => runCase(given))
        assertWithin(caseName(given), actual.out, out.value, out.error)
        if (actual.denominator && denominator) {
          const name = `${caseName(given)}: denominator`
          assertWithin(name, actual.denominator, denominator.value, denominator.error)
        }
      })
    }
  })
})
