import {beforeAll, describe, it} from 'vitest'
import {loadEstimators, METHOD_NAMES, type PresetName} from '../../src/attention/index.js'
import {estimatorNamed} from '../../src/attention/resolve.js'
import {useBackend} from '../../src/backends/index.js'
import {type Sizes, SMALL} from '../helpers/arrays.js'
import {casesOn, everyBackend, runnableBackends} from '../helpers/backends.js'
import {
  caseName,
  type EstimatorCase,
  FORMS,
  runCase,
  shapeCases,
  twinOfCase,
  unsupportedReason,
} from '../helpers/estimator-case.js'
import {assertWithin} from '../helpers/rounding.js'

const every = await everyBackend()
const backends = await runnableBackends()
await loadEstimators()

/** One shape as a row: B, H, L, S, D, Dv, M. */
function sizes(...axes: [number, number, number, number, number, number, number]): Sizes {
  const [batch, heads, queryLen, keyLen, headDim, valueDim, numFeatures] = axes
  return {batch, heads, queryLen, keyLen, headDim, valueDim, numFeatures}
}

// lengths around the chunk of 64 and its double, M below D, not a multiple of D, far above D
const SHAPES: readonly Sizes[] = [
  sizes(2, 3, 63, 63, 7, 5, 11),
  sizes(1, 3, 64, 64, 5, 7, 11),
  sizes(3, 1, 65, 65, 11, 5, 7),
  sizes(1, 2, 127, 129, 7, 17, 1),
  sizes(2, 1, 129, 127, 3, 11, 31),
  sizes(1, 3, 5, 131, 17, 1, 13),
  sizes(3, 1, 131, 5, 13, 3, 7),
  sizes(1, 2, 1, 1, 3, 5, 7),
  sizes(1, 1, 67, 67, 3, 5, 293),
]

function check(given: EstimatorCase): void {
  const expected = twinOfCase(given)
  const actual = runCase(given)
  const {value, error} = expected.out
  const {decidable, report} = assertWithin(caseName(given), actual.out, value, error)
  if (2 * decidable < value.length) throw new Error(`float32 decides too little: ${report}`)
  if (actual.denominator && expected.denominator) {
    const sums = expected.denominator
    assertWithin(`${caseName(given)}: denominator`, actual.denominator, sums.value, sums.error)
  }
}

describe.each(every)('every estimator on %s is within rounding of its definition', backend => {
  beforeAll(() => useBackend(backend))

  const shapes = SHAPES.map((shape, index) => ({
    sizes: shape,
    sharedProjection: index % 2 === 1,
    ...(index % 3 === 2 && {scale: 0.23}),
  }))
  for (const given of casesOn(backend, shapeCases(METHOD_NAMES, shapes), 5)) {
    it(caseName(given), context => {
      const reason = unsupportedReason(given)
      if (reason) return context.skip(reason)
      check(given)
    })
  }
})

describe.each(backends)('every preset on %s is within rounding of its definition', backend => {
  beforeAll(() => useBackend(backend))

  const cases = METHOD_NAMES.flatMap(method =>
    Object.keys(estimatorNamed(method).presets).flatMap(preset =>
      FORMS.map(form => ({
        method,
        preset: preset as PresetName,
        sizes: SMALL,
        inputScale: 0.5,
        ...form,
      })),
    ),
  )
  for (const given of casesOn(backend, cases)) {
    it(caseName(given), context => {
      const reason = unsupportedReason(given)
      if (reason) return context.skip(reason)
      check(given)
    })
  }
})
