import {verdictOf} from '../../answers/index.js'
import {attend} from '../../attention/index.js'
import {hostData} from '../../attention/internal.js'
import {useBackend} from '../../backends/index.js'
import {normals, randomStream} from '../../random/index.js'
import {weightedLine} from '../../stats/index.js'
import {tf} from '../../tf.js'
import type {Judgement, TestedClaim} from '../claim.js'

const [LENGTH, HEAD_DIM, FEATURES] = [48, 16, 64]
const GATES = [0.8, 0.95, 0.99]
/** Float32 sums of 2 M terms are off by some 1e-4 of a weight at most, and a slope over L lags by 3 / L of that. */
const TOLERANCE = 1e-5
/** Share of parameters that the claim allows. */
const MOST = 0.001

/** Layers of two head dimensions: a weight of the model's width and a bias for every head. */
const LAYERS = [
  {headDim: 128, heads: 8},
  {headDim: 64, heads: 16},
].map(({headDim, heads}) => {
  const width = heads * headDim
  // four projections of the width, and two matrices of four times that
  return {headDim, width, share: (heads * (width + 1)) / (12 * width ** 2)}
})

/** Weights of causal rows, `[L, L]`: outputs for one-hot values. */
function weights(method: 'rfa' | 'rfa-gate', constantGate?: number): Float32Array {
  const {out} = hostData(() => {
    const tokens = (name: string) => {
      const data = normals(randomStream(0, `claims.recency.${name}`), LENGTH * HEAD_DIM)
      return tf.tensor4d(Float32Array.from(data), [1, 1, LENGTH, HEAD_DIM])
    }
    const value = tf.reshape(tf.eye(LENGTH), [1, 1, LENGTH, LENGTH]) as tf.Tensor4D
    const gate = constantGate === undefined ? {} : {constantGate}
    const common = {causal: true, numFeatures: FEATURES, seed: 0}
    return {out: attend(tokens('query'), tokens('key'), value, {method, ...common, ...gate}).out}
  })
  return out as Float32Array
}

/** Slope over the lag of the logarithm of gated weights over those without, in the last row. */
function slopeOf(gate: number, plain: Float32Array): number {
  const gated = weights('rfa-gate', gate)
  const at = (all: Float32Array, lag: number) => all[LENGTH * LENGTH - 1 - lag]!
  const lags = Array.from({length: LENGTH}, (_, lag) => lag)
  const logs = lags.map(lag => Math.log(at(gated, lag) / at(plain, lag)))
  const ones = lags.map(() => 1)
  return weightedLine(lags, logs, ones).slope
}

async function judge(): Promise<Judgement> {
  await useBackend('cpu')
  const plain = weights('rfa')
  const slopes = GATES.map(gate => ({gate, expected: Math.log(gate), slope: slopeOf(gate, plain)}))
  const off = Math.max(...slopes.map(({slope, expected}) => Math.abs(slope - expected)))
  return {
    quantities: [
      ...slopes.map(({gate, slope, expected}) => ({
        name: `slope of the log weight over the lag, g = ${gate}`,
        value: slope,
        expected,
      })),
      ...LAYERS.map(({headDim, share}) => ({
        name: `share of a layer's parameters, %, heads of ${headDim}`,
        value: 100 * share,
        expected: 100 * MOST,
      })),
    ],
    tests: [],
    decide() {
      const shares = LAYERS.map(
        ({headDim, share}) => `${(100 * share).toFixed(3)} % of a layer at D=${headDim}`,
      )
      const small = LAYERS.map(({share}) => (share < MOST ? 'yes' : 'no'))
      return {
        verdict: off < TOLERANCE ? verdictOf(small) : 'refuted',
        statement: `parameters of gates: ${shares.join(', ')}; weights fall with the lag like g^lag, to ${off.toExponential(0)} in the exponent`,
        explanation:
          'A gate per head multiplies the weight of a token by g at every step: recent tokens count for more, whatever queries and keys say. Each head adds a vector of the width and a bias to the 12 width^2 parameters of a layer: a share of 1 / (12 D) for heads of D, below 0.1 % from D = 84 on. Whole models also have embeddings, and encoders without gates, which makes the share smaller.',
      }
    },
  }
}

export default {
  kind: 'tested',
  id: 'H8',
  sentence: 'Gates prefer recent tokens, for less than 0.1 % more parameters',
  source: 'Peng et al. 2021, arXiv:2103.02143, section 3.2',
  paper: 'less than 0.1 % of the parameters of the models there',
  ours: 'the weights of a causal call with constant gates over those of the same call without; gates over the parameters of a layer of 12 width^2, with heads of 128 and 64',
  statistic: 'slope of the logarithm of the ratio of weights over the lag; the share of parameters',
  rule: `refuted if a slope is off log g by more than ${TOLERANCE}, or the share above 0.1 % for both; depends if for one; there is no chance in it`,
  plans: () => ({}),
  judge,
} satisfies TestedClaim
