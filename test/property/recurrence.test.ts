import * as tf from '@tensorflow/tfjs-core'
import {beforeAll, describe, it} from 'vitest'
import {loadEstimators} from '../../src/attention/index.js'
import {type BackendName, useBackend} from '../../src/backends/index.js'
import {compute, type Sizes, SMALL, toTensors} from '../helpers/arrays.js'
import {casesOn, runnableBackends, tokensOn} from '../helpers/backends.js'
import {decodeCase, recurrentOptions} from '../helpers/decode.js'
import {sample} from '../helpers/effort.js'
import {type EstimatorCase, hostCase, outputBound, runCase} from '../helpers/estimator-case.js'
import {addBounds, assertWithin} from '../helpers/rounding.js'
import {caseOf, methodsWhere} from './laws.js'

const backends = await runnableBackends()
await loadEstimators()

/** More than two chunks of the causal forms, more than one in plain JavaScript. */
function sizesOn(backend: BackendName): Sizes {
  const length = tokensOn(backend, 131, 67)
  return {...SMALL, batch: 1, queryLen: length, keyLen: length}
}

describe.each(backends)('the recurrent form on %s', backend => {
  const long = sizesOn(backend)
  beforeAll(() => useBackend(backend))

  const decoding = methodsWhere(({supports}) => supports.decode)
  const methods = casesOn(backend, decoding)

  it.each(methods)('of %s gives what the chunked causal form gives', method => {
    for (const scale of sample([undefined, 0.23], 2, backends.indexOf(backend))) {
      const options = recurrentOptions(method, long.keyLen)
      const given = caseOf(method, long, {
        causal: true,
        options,
        ...(scale !== undefined && {scale}),
      })
      const chunked = runCase(given).out
      const bound = outputBound(given)
      assertWithin(`${method} scale ${scale}`, decodeCase(given), chunked, addBounds(bound, bound))
    }
  })

  it.each(methods)('of %s does not change a token that was already given', method => {
    // norms grow along the sequence: running maxima rise at every step
    const sizes = {...long, queryLen: 31, keyLen: 31}
    const given = caseOf(method, sizes, {causal: true, options: recurrentOptions(method, 31)})
    const {inputs} = hostCase(given)
    const growing = {
      shape: inputs.key.shape,
      data: inputs.key.data.map((x, at) => x * (1 + (Math.floor(at / long.headDim) % 31) / 6)),
    }
    const grown: EstimatorCase = {...given, inputs: {...inputs, key: growing}}
    const chunked = runCase(grown).out
    const bound = outputBound(grown)
    assertWithin(method, decodeCase(grown), chunked, addBounds(bound, bound))
  })

  it('reads a token as attention over the tokens so far', () => {
    const given = caseOf('softmax', {...long, queryLen: 7, keyLen: 7}, {causal: true})
    const {inputs} = hostCase(given)
    const last = compute(() => {
      const [query, key, value] = toTensors(inputs)
      const scores = tf.mul(tf.matMul(query, key, false, true), long.headDim ** -0.5)
      return tf.slice(tf.matMul(tf.softmax(scores), value), [0, 0, 6, 0], [1, -1, 1, -1])
    })
    const {heads, valueDim} = long
    const rows = (values: Float32Array | Float64Array) =>
      values.filter((_, at) => Math.floor(at / valueDim) % 7 === 6)
    const out = rows(decodeCase(given)) as Float32Array
    const bound = rows(outputBound(given))
    assertWithin(`last token of ${heads} heads`, out, last, addBounds(bound, bound))
  })
})
