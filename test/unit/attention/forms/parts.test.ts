import {describe, expect, it} from 'vitest'
import type {Estimator} from '../../../../src/attention/forms/estimator.js'
import {attend, loadEstimators} from '../../../../src/attention/index.js'
import {attendInputs} from '../../../../src/attention/internal.js'
import {useBackend} from '../../../../src/backends/index.js'
import {normals, randomStream} from '../../../../src/random/index.js'
import {tf} from '../../../../src/tf.js'

await useBackend('cpu')
const estimators = (await loadEstimators()) as Record<string, Estimator>
const WITH_PARTS = Object.values(estimators).filter(({parts}) => parts !== undefined)

const tensor = (name: string, dim: number, length = 11) =>
  tf.tensor4d(
    Float32Array.from(normals(randomStream(3, name), 2 * length * dim), x => x / 2),
    [1, 2, length, dim],
  )

const CASES = WITH_PARTS.flatMap(({name, supports, options, presets}) =>
  [false, true]
    .filter(causal => supports[causal ? 'causal' : 'bidirectional'])
    .flatMap(causal => [
      [name, 'exact', causal, {}] as const,
      ...Object.keys(presets).map(preset => [name, preset, causal, {}] as const),
      ...('normalizerEpsilon' in options.shape
        ? [[name, 'exact', causal, {normalizerEpsilon: 0.25}] as const]
        : []),
    ]),
)

describe('the parts of attention with features', () => {
  it('are those of every method that is nothing but its features', () => {
    const names = WITH_PARTS.map(({name}) => name)
    expect(names).toEqual(expect.arrayContaining(['favor-pos', 'favor-trig', 'rfa', 'elu']))
    for (const name of ['softmax', 'nystrom', 'oprf', 'efficient', 'rfa-gate']) {
      expect(names).not.toContain(name)
    }
  })

  it.each(CASES)(
    '%s, %s: give what the whole gives, causal: %s, %j',
    (method, preset, causal, more) => {
      const given = [tensor('query', 7), tensor('key', 7), tensor('value', 5)] as const
      const options = {method, preset, causal, numFeatures: 11, ...more} as never
      const whole = attend(...given, options).out.dataSync()
      const {estimator, inputs} = attendInputs(...given, options)
      const parts = estimator.parts!(inputs)
      expect(parts.map(({name}) => name).join()).toMatch(/^features,contraction(,guard)?$/)
      const out = parts.reduce<readonly tf.Tensor[]>((before, {run}) => run(before), [])
      expect(out).toHaveLength(1)
      // the same operations in the same order: to the bit
      expect(out[0]!.dataSync()).toEqual(whole)
    },
  )
})
