import {beforeAll, describe, expect, it} from 'vitest'
import {attention} from '../../../../../src/attention/index.js'
import {useBackend} from '../../../../../src/backends/index.js'
import {
  type Learner,
  scoreOf,
  someExamples,
} from '../../../../../src/experiments/train/measure/score.js'
import {optimiserOf, type SmallModel, startWeights} from '../../../../../src/model/trained/index.js'
import {NO_LABEL} from '../../../../../src/tasks/index.js'
import {mqar} from '../../../../../src/tasks/mqar.js'

const MODEL: SmallModel = {
  ...{vocabulary: 24, length: 16, width: 8, layers: 1, heads: 1, headDim: 8, mlp: 0},
  ...{convolution: 0, positions: false, gated: false},
}
const task = mqar({vocabulary: 24, length: 16, pairs: 2, power: 1, filled: true}, 0)
const examples = task.examples({part: 'test', count: 7, run: 0})

beforeAll(async () => {
  await useBackend('auto', {threads: 1})
})

/** A model that predicts the same of every token: its head has a bias alone. */
function constantLearner(logits: readonly number[]): Learner & {dispose(): void} {
  const weights = startWeights(MODEL, 0, 0).map(({name, shape, values}) => {
    if (name === 'head.bias') return {name, shape, values: Float32Array.from(logits)}
    return name === 'head.weight' ? {name, shape, values: values.fill(0)} : {name, shape, values}
  })
  const {weight, dispose} = optimiserOf(weights)
  const attend: Learner['attend'] = ({query, key, value}) =>
    attention(query, key, value, {method: 'elu', causal: true})
  return {model: MODEL, weight, attend, dispose}
}

describe('scores', () => {
  const labels = [...examples.labels].filter(label => label !== NO_LABEL)

  it('are of the labels alone, by any size of batch', () => {
    const logits = Array.from({length: 24}, (_, token) => (token === labels[0] ? 3 : 0))
    const learner = constantLearner(logits)
    const right = labels.filter(label => label === labels[0]).length
    const total = Math.log2(23 + Math.exp(3))
    const bits = total - (right / labels.length) * 3 * Math.LOG2E
    for (const batch of [3, 7, 100]) {
      const score = scoreOf(learner, examples, batch)
      expect(score.accuracy).toBe(right / labels.length)
      expect(score.bits).toMatchReference(bits, 5)
    }
    learner.dispose()
  })

  it('are missing where a loss is not finite', () => {
    const learner = constantLearner(Array<number>(24).fill(Number.NaN))
    expect(scoreOf(learner, examples, 7)).toEqual({accuracy: null, bits: null})
    learner.dispose()
  })

  it('cut sequences as they stand', () => {
    const part = someExamples(examples, 5, 10)
    expect(part.count).toBe(2)
    expect([...part.tokens]).toEqual([...examples.tokens.slice(5 * 16)])
  })
})
