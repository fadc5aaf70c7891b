import type {HostArrays} from '../../helpers/arrays.js'
import {type CaseArrays, type GoldenCase, numberField} from '../cases.js'
import {checkAttention, type Request} from '../check.js'
import type {Family} from './family.js'

/** Windows and control variates, bidirectional (a number of chunks) and causal (a chunk size). */
export const eva: Family = {
  name: 'EVA',
  methods: ['EVA'],
  request: requestOf,
  check(golden, arrays) {
    checkAttention(golden, arrays, requestOf(golden, arrays))
  },
}

/** Names of the peer's learned arrays and this library's. */
const PARTS = {lin_w: 'Weight', lin_b: 'Bias', ln_w: 'NormWeight', ln_b: 'NormBias'} as const

function requestOf(golden: GoldenCase, arrays: CaseArrays): Request {
  const numFeatures = numberField(golden, 'num_landmarks')
  const chunkSize = numberField(golden, 'chunk_size')
  return {
    method: 'eva',
    preset: 'hku',
    ...(numFeatures && {numFeatures}),
    options: {
      window: numberField(golden, 'window'),
      overlap: golden.overlap === true,
      sampling: golden.training === true ? 'sampled' : 'mean',
      ...(chunkSize && {chunkSize}),
      ...(golden.adaptive_proj === 'none' && {proposal: 'zero', causalProposal: 'zero'}),
    },
    noise: arrays.has('noise') ? {proposal: arrays.array('noise')} : {},
    parameters: learned(arrays),
  }
}

function learned(arrays: CaseArrays): HostArrays {
  const named = (['query', 'key'] as const).flatMap(side =>
    Object.entries(PARTS).map(([peer, own]) => [`mu${side[0]}_${peer}`, `${side}${own}`] as const),
  )
  return Object.fromEntries(
    named.filter(([peer]) => arrays.has(peer)).map(([peer, own]) => [own, arrays.array(peer)]),
  )
}
