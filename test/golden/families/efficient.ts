import {exponentials} from '../../helpers/twins/efficient.js'
import {type GoldenCase, guardOfNote, numberField, textField} from '../cases.js'
import {checkAttention, checkDecoder, type Request} from '../check.js'
import type {Family} from './family.js'

/** Softmax of queries over channels and of keys over tokens, as two libraries normalise it. */
export const efficient: Family = {
  name: 'efficient attention',
  methods: ['efficient attention', 'efficient attention (softmax q over d, softmax/exp k)'],
  request: requestOf,
  check(golden, arrays) {
    const request = requestOf(golden)
    checkAttention(golden, arrays, request)
    const inBuckets = Number(request.options?.bucket ?? 1) > 1
    if (golden.causal === true && !inBuckets) checkDecoder(golden, arrays, request, exponentials)
  },
}

function requestOf(golden: GoldenCase): Request {
  const {method, causal} = golden
  if (method !== 'efficient attention') {
    const epsilon = numberField(golden, 'denom_eps')
    const options = epsilon === undefined ? {} : {normalizerEpsilon: epsilon}
    return {method: 'efficient', preset: 'performer-pytorch', options}
  }
  const note = textField(golden, 'denom_note')
  return {
    method: 'efficient',
    preset: 'linear-attention-transformer',
    options: {
      ...(causal && {bucket: numberField(golden, 'bucket_size') ?? 1}),
      ...(note !== '' && {causalDenGuard: guardOfNote(note)}),
    },
  }
}
