import type {Estimator} from '../../attention/index.js'
import {loadEstimators, resolveOptions} from '../../attention/names.js'
import type {Judgement, TestedClaim} from '../claim.js'

const FLOAT = 4
const HEAD = {headDim: 64, valueDim: 64}
const TOKENS = 2048
/** Random vectors of the paper's models, and twice as many. */
const FEATURES = [64, 128]

/** Bytes of the state of RFA over those of the keys and values that exact attention keeps, for one head. */
function shareOf(rfa: Estimator, numFeatures: number): number {
  const shape = {...HEAD, numFeatures, length: TOKENS}
  const state = rfa.stateBytes!(shape, resolveOptions(rfa, 'exact', {}))
  return state / (FLOAT * TOKENS * (HEAD.headDim + HEAD.valueDim))
}

async function judge(): Promise<Judgement> {
  const {rfa} = await loadEstimators()
  const shares = FEATURES.map(numFeatures => shareOf(rfa, numFeatures))
  // a state does not grow: any number of tokens holds the same bytes
  const even = FEATURES.map((_, at) => Math.ceil(shares[at]! * TOKENS))
  const seen = FEATURES.map((m, at) => `${(100 * shares[at]!).toFixed(1)} % with ${m} vectors`)
  return {
    quantities: FEATURES.map((m, at) => ({
      name: `state over cache at ${TOKENS} tokens, M = ${m}`,
      value: shares[at]!,
      expected: 0.1,
    })),
    tests: [],
    decide: () => ({
      verdict: shares.every(share => share < 0.1) ? 'holds' : 'refuted',
      statement: `${seen.join(', ')}; exact attention needs less below ${even.join(' and ')} tokens`,
      explanation:
        'The state of RFA is 2M (Dv + 1) numbers for each head, whatever the length; exact attention keeps D + Dv numbers for each token. The share is what these counts say, of the attention alone: weights and activations of a model come on top of both.',
    }),
  }
}

export default {
  kind: 'tested',
  id: 'H3',
  sentence: 'RFA decodes 2048 tokens with less than a tenth of the memory of softmax attention',
  source: 'Peng et al. 2021, arXiv:2103.02143',
  paper: 'under 10 % at 2048 tokens, of the whole model',
  ours: 'bytes of the recurrent state over those of keys and values kept, counted for one head of 64',
  statistic: 'that share at 2048 tokens with 64 and with 128 random vectors',
  rule: 'holds below 10 %, refuted above; there is no chance in it',
  plans: () => ({}),
  judge,
} satisfies TestedClaim
